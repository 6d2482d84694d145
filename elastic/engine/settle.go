package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/track"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// lookForMissing settles what became of the live jobs that the bulk answer lacks. Only
// Slurm's explicit word ends a job, for acting on half a view could stop the wrong one:
// each job is asked about, or of more than maxLookups all are at once. What was found
// out before an error is kept.
func (e *Engine) lookForMissing(ctx context.Context, now time.Time) error {
	missing := e.Missing()
	if len(missing) == 0 {
		return nil
	}
	settle := e.settleFew
	if len(missing) > track.MaxLookups {
		settle = e.settleMany
	}
	gone, err := settle(ctx, missing, now)
	e.departed(ctx, gone, now)
	if err != nil && !errors.Is(err, observe.ErrSuspicious) {
		err = errors.Join(err, e.hands.Save(ctx))
	}
	return err
}

// settleFew asks about each job, and returns those that Slurm no longer knows.
func (e *Engine) settleFew(ctx context.Context, missing []*track.Job, now time.Time) (gone []*track.Job, err error) {
	for _, js := range missing {
		detail, err := e.eyes.Slurm.Job(ctx, slurm.JobID(js.Rec.ID))
		switch {
		case errors.Is(err, slurm.ErrNotFound):
		case err != nil:
			return gone, err
		case track.Another(js, detail.Job):
			if err := e.hands.Renumbered(ctx, js, now); err != nil {
				return gone, err
			}
		default:
			e.ShownLate(js, detail.Job, now)
			continue
		}
		gone = append(gone, js)
	}
	return gone, nil
}

// settleMany asks for all jobs a second time, and for maxLookups of the missing ones by
// number. Where all three answers agree, the jobs are gone. A job that only one of them
// has contradicts the others, and then nothing is believed. So the cost is bounded
// whatever the number of jobs, as after an outage longer than Slurm's MinJobAge.
func (e *Engine) settleMany(ctx context.Context, missing []*track.Job, now time.Time) (gone []*track.Job, err error) {
	again, err := e.eyes.Slurm.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	shown := make(map[slurm.JobID]slurm.Job, len(again))
	for _, sj := range again {
		shown[sj.ID] = sj
	}
	for _, js := range missing {
		if sj, there := shown[slurm.JobID(js.Rec.ID)]; there && !track.Another(js, sj) {
			return nil, fmt.Errorf("%w: job %d is missing from one answer and in the next", observe.ErrSuspicious, js.Rec.ID)
		}
	}
	for _, js := range e.Open.Spread(missing) {
		detail, err := e.eyes.Slurm.Job(ctx, slurm.JobID(js.Rec.ID))
		if err != nil && !errors.Is(err, slurm.ErrNotFound) {
			return nil, err
		}
		if err == nil && !track.Another(js, detail.Job) {
			return nil, fmt.Errorf("%w: job %d is there and missing from two answers", observe.ErrSuspicious, js.Rec.ID)
		}
	}
	for _, js := range missing {
		if _, there := shown[slurm.JobID(js.Rec.ID)]; there {
			if err := e.hands.Renumbered(ctx, js, now); err != nil {
				return gone, err
			}
		}
		gone = append(gone, js)
	}
	return gone, nil
}

// departed ends jobs that slurmctld no longer knows.
func (e *Engine) departed(ctx context.Context, gone []*track.Job, now time.Time) {
	if len(gone) == 0 {
		return
	}
	asked := track.Askable(gone)
	runs, late := e.pastRuns(ctx, asked, now)
	e.endedAs(runs, asked, now)
	left := slices.DeleteFunc(slices.Clone(gone), func(js *track.Job) bool { return !js.Rec.Ended.IsZero() })
	for i, w := range e.eyes.WordsNow(track.BoxesOf(left)) {
		left[i].Shown.Slurm = slurm.Job{ID: slurm.JobID(left[i].Rec.ID), UID: left[i].Rec.UID, State: slurm.Unknown}
		e.Ended(left[i], track.ForgottenState, w, now)
	}
	e.AskedAbout(gone, asked, len(runs), late, now)
}

// lookUpForgotten asks about the jobs on record as forgotten, when it is time.
func (e *Engine) lookUpForgotten(ctx context.Context, now time.Time) {
	left, asked := e.ForgottenDue(now)
	if len(left) == 0 || e.eyes.Accountant == nil {
		return
	}
	runs, late := e.pastRuns(ctx, asked, now)
	if late {
		e.AskAgain(now)
		return
	}
	track.TakeBack(runs)
	e.endedAs(runs, asked, now)
	e.LookedUp(left, asked, len(runs), now)
}

// pastRuns asks accounting for the runs that the jobs ended with; those it does not have are
// missing. late: it has not answered.
func (e *Engine) pastRuns(ctx context.Context, jobs []*track.Job, now time.Time) (runs map[*track.Job]slurm.PastRun, late bool) {
	if e.eyes.Accountant == nil {
		return nil, false
	}
	track.TakeSegments(jobs, e.eyes.Histories(ctx, track.TokensOf(jobs, (*track.Job).LacksRun)))
	known := track.KnownAt(jobs)
	all, late, err := e.eyes.PastRuns(ctx, track.IdsOf(jobs), slices.MinFunc(known, time.Time.Compare).Add(-track.AccountsBack))
	if late {
		return nil, true
	}
	e.AccountsAnswered(err, now)
	return track.LastRuns(jobs, known, all, now), false
}

// endedAs ends the jobs of these runs as accounting says, in the order of the list. What they
// wrote last is read of so many only: all may be on one slow file system.
func (e *Engine) endedAs(runs map[*track.Job]slurm.PastRun, order []*track.Job, now time.Time) {
	var told []*track.Job
	for _, js := range order {
		if r, ok := runs[js]; ok {
			js.ShowPast(r)
			told = append(told, js)
		}
	}
	e.readProgress(told[:min(len(told), mostFresh)], now)
	for i, w := range e.eyes.WordsNow(track.BoxesOf(told)) {
		e.Ended(told[i], string(told[i].Shown.Slurm.State), w, now)
	}
}

// readProgress reads the new lines of jobs, and takes them in.
func (e *Engine) readProgress(all []*track.Job, now time.Time) (changed []*track.Job) {
	jobs, wanted := track.Readings(all, now)
	return e.HeardLines(jobs, e.eyes.Progress(wanted), now)
}
