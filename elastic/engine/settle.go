package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// lookForMissing settles what became of the live jobs that the bulk answer lacks. Only
// Slurm's explicit word ends a job, for acting on half a view could stop the wrong one:
// each job is asked about, or of more than maxLookups all are at once. What was found
// out before an error is kept.
func (e *Engine) lookForMissing(ctx context.Context, now time.Time) error {
	missing := e.missing()
	if len(missing) == 0 {
		return nil
	}
	settle := e.settleFew
	if len(missing) > maxLookups {
		settle = e.settleMany
	}
	gone, err := settle(ctx, missing, now)
	e.departed(ctx, gone, now)
	if err != nil && !errors.Is(err, observe.ErrSuspicious) {
		err = errors.Join(err, e.hands.save(ctx))
	}
	return err
}

// settleFew asks about each job, and returns those that Slurm no longer knows.
func (e *Engine) settleFew(ctx context.Context, missing []*jobState, now time.Time) (gone []*jobState, err error) {
	for _, js := range missing {
		detail, err := e.eyes.Slurm.Job(ctx, slurm.JobID(js.rec.ID))
		switch {
		case errors.Is(err, slurm.ErrNotFound):
		case err != nil:
			return gone, err
		case another(js, detail.Job):
			if err := e.hands.renumbered(ctx, js, now); err != nil {
				return gone, err
			}
		default:
			e.shownLate(js, detail.Job, now)
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
func (e *Engine) settleMany(ctx context.Context, missing []*jobState, now time.Time) (gone []*jobState, err error) {
	again, err := e.eyes.Slurm.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	shown := make(map[slurm.JobID]slurm.Job, len(again))
	for _, sj := range again {
		shown[sj.ID] = sj
	}
	for _, js := range missing {
		if sj, there := shown[slurm.JobID(js.rec.ID)]; there && !another(js, sj) {
			return nil, fmt.Errorf("%w: job %d is missing from one answer and in the next", observe.ErrSuspicious, js.rec.ID)
		}
	}
	for _, js := range e.open.spread(missing) {
		detail, err := e.eyes.Slurm.Job(ctx, slurm.JobID(js.rec.ID))
		if err != nil && !errors.Is(err, slurm.ErrNotFound) {
			return nil, err
		}
		if err == nil && !another(js, detail.Job) {
			return nil, fmt.Errorf("%w: job %d is there and missing from two answers", observe.ErrSuspicious, js.rec.ID)
		}
	}
	for _, js := range missing {
		if _, there := shown[slurm.JobID(js.rec.ID)]; there {
			if err := e.hands.renumbered(ctx, js, now); err != nil {
				return gone, err
			}
		}
		gone = append(gone, js)
	}
	return gone, nil
}

// departed ends jobs that slurmctld no longer knows.
func (e *Engine) departed(ctx context.Context, gone []*jobState, now time.Time) {
	if len(gone) == 0 {
		return
	}
	asked := askable(gone)
	runs, late := e.pastRuns(ctx, asked, now)
	e.endedAs(runs, asked, now)
	left := slices.DeleteFunc(slices.Clone(gone), func(js *jobState) bool { return !js.rec.Ended.IsZero() })
	for i, w := range e.eyes.WordsNow(boxesOf(left)) {
		left[i].shown.slurm = slurm.Job{ID: slurm.JobID(left[i].rec.ID), UID: left[i].rec.UID, State: slurm.Unknown}
		e.ended(left[i], forgottenState, w, now)
	}
	e.askedAbout(gone, asked, len(runs), late, now)
}

// lookUpForgotten asks about the jobs on record as forgotten, when it is time.
func (e *Engine) lookUpForgotten(ctx context.Context, now time.Time) {
	left, asked := e.forgottenDue(now)
	if len(left) == 0 || e.eyes.Accountant == nil {
		return
	}
	runs, late := e.pastRuns(ctx, asked, now)
	if late {
		e.askAgain(now)
		return
	}
	takeBack(runs)
	e.endedAs(runs, asked, now)
	e.lookedUp(left, asked, len(runs), now)
}

// pastRuns asks accounting for the runs that the jobs ended with; those it does not have are
// missing. late: it has not answered.
func (e *Engine) pastRuns(ctx context.Context, jobs []*jobState, now time.Time) (runs map[*jobState]slurm.PastRun, late bool) {
	if e.eyes.Accountant == nil {
		return nil, false
	}
	takeSegments(jobs, e.eyes.Histories(ctx, tokensOf(jobs, (*jobState).lacksRun)))
	known := knownAt(jobs)
	all, late, err := e.eyes.PastRuns(ctx, idsOf(jobs), slices.MinFunc(known, time.Time.Compare).Add(-accountsBack))
	if late {
		return nil, true
	}
	e.accountsAnswered(err, now)
	return lastRuns(jobs, known, all, now), false
}

// endedAs ends the jobs of these runs as accounting says, in the order of the list. What they
// wrote last is read of so many only: all may be on one slow file system.
func (e *Engine) endedAs(runs map[*jobState]slurm.PastRun, order []*jobState, now time.Time) {
	var told []*jobState
	for _, js := range order {
		if r, ok := runs[js]; ok {
			js.showPast(r)
			told = append(told, js)
		}
	}
	e.readProgress(told[:min(len(told), mostFresh)], now)
	for i, w := range e.eyes.WordsNow(boxesOf(told)) {
		e.ended(told[i], string(told[i].shown.slurm.State), w, now)
	}
}

// readProgress reads the new lines of jobs, and takes them in.
func (e *Engine) readProgress(all []*jobState, now time.Time) (changed []*jobState) {
	jobs, wanted := readings(all, now)
	return e.heardLines(jobs, e.eyes.Progress(wanted), now)
}
