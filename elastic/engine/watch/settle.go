package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/slurm"
)

// lookForMissing determines the state of live jobs that the query for all jobs did not return. A
// job ends only if Slurm says explicitly that it does not know it: each job is queried by number,
// or, if there are more than MaxLookups, all of them by settleMany. Results before an error are
// kept.
func (w *Watch) lookForMissing(ctx context.Context, now time.Time) error {
	missing := w.Missing()
	if len(missing) == 0 {
		return nil
	}
	settle := w.settleFew
	if len(missing) > track.MaxLookups {
		settle = w.settleMany
	}
	gone, err := settle(ctx, missing, now)
	w.departed(ctx, gone, now)
	if err != nil && !errors.Is(err, observe.ErrSuspicious) {
		err = errors.Join(err, w.Executor.Save(ctx))
	}
	return err
}

// settleFew queries each job, and returns those that Slurm no longer knows.
func (w *Watch) settleFew(ctx context.Context, missing []*track.Job, now time.Time) (gone []*track.Job, err error) {
	for _, js := range missing {
		detail, err := w.Observer.Slurm.Job(ctx, slurm.JobID(js.Rec.ID))
		switch {
		case errors.Is(err, slurm.ErrNotFound):
		case err != nil:
			return gone, err
		case track.Another(js, detail.Job):
			if err := w.Executor.Renumbered(ctx, js, now); err != nil {
				return gone, err
			}
		default:
			w.ShownLate(js, detail.Job, now)
			continue
		}
		gone = append(gone, js)
	}
	return gone, nil
}

// settleMany queries all jobs a second time, and MaxLookups of the missing ones by number. If all
// answers agree, the jobs are gone. If one of them has a missing job, the answers contradict each
// other, and none is used (ErrSuspicious). The number of queries does not depend on the number of
// jobs, which is large after an outage longer than Slurm's MinJobAge.
func (w *Watch) settleMany(ctx context.Context, missing []*track.Job, now time.Time) (gone []*track.Job, err error) {
	again, err := w.Observer.Slurm.Jobs(ctx)
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
	for _, js := range w.Open.Spread(missing) {
		detail, err := w.Observer.Slurm.Job(ctx, slurm.JobID(js.Rec.ID))
		if err != nil && !errors.Is(err, slurm.ErrNotFound) {
			return nil, err
		}
		if err == nil && !track.Another(js, detail.Job) {
			return nil, fmt.Errorf("%w: job %d is there and missing from two answers", observe.ErrSuspicious, js.Rec.ID)
		}
	}
	for _, js := range missing {
		if _, there := shown[slurm.JobID(js.Rec.ID)]; there {
			if err := w.Executor.Renumbered(ctx, js, now); err != nil {
				return gone, err
			}
		}
		gone = append(gone, js)
	}
	return gone, nil
}

// departed ends jobs that slurmctld no longer knows, as accounting says or as forgotten.
func (w *Watch) departed(ctx context.Context, gone []*track.Job, now time.Time) {
	if len(gone) == 0 {
		return
	}
	asked := track.Askable(gone)
	runs, late := w.pastRuns(ctx, asked, now)
	w.endedAs(runs, asked, now)
	left := slices.DeleteFunc(slices.Clone(gone), func(js *track.Job) bool { return !js.Rec.Ended.IsZero() })
	for i, last := range w.Observer.WordsNow(track.BoxesOf(left)) {
		left[i].Shown.Slurm = slurm.Job{ID: slurm.JobID(left[i].Rec.ID), UID: left[i].Rec.UID, State: slurm.Unknown}
		w.Ended(left[i], track.ForgottenState, last, now)
	}
	w.AskedAbout(gone, asked, len(runs), late, now)
}

// lookUpForgotten queries accounting about jobs recorded as forgotten, if that is due.
func (w *Watch) lookUpForgotten(ctx context.Context, now time.Time) {
	left, asked := w.ForgottenDue(now)
	if len(left) == 0 || w.Observer.Accountant == nil {
		return
	}
	runs, late := w.pastRuns(ctx, asked, now)
	if late {
		w.AskAgain(now)
		return
	}
	track.TakeBack(runs)
	w.endedAs(runs, asked, now)
	w.LookedUp(left, asked, len(runs), now)
}

// pastRuns queries accounting for the last runs of jobs. Jobs that it does not have are missing from
// the result. late: it has not answered yet.
func (w *Watch) pastRuns(ctx context.Context, jobs []*track.Job, now time.Time) (runs map[*track.Job]slurm.PastRun, late bool) {
	if w.Observer.Accountant == nil {
		return nil, false
	}
	track.TakeSegments(jobs, w.Observer.Histories(ctx, track.TokensOf(jobs, (*track.Job).LacksRun)))
	known := track.KnownAt(jobs)
	all, late, err := w.Observer.PastRuns(ctx, track.IdsOf(jobs), slices.MinFunc(known, time.Time.Compare).Add(-track.AccountsBack))
	if late {
		return nil, true
	}
	w.AccountsAnswered(err, now)
	return track.LastRuns(jobs, known, all, now), false
}

// endedAs ends the jobs of these runs as accounting says, in the given order. The last progress lines
// of at most MostFresh jobs are read, since all may be on one slow file system.
func (w *Watch) endedAs(runs map[*track.Job]slurm.PastRun, order []*track.Job, now time.Time) {
	var told []*track.Job
	for _, js := range order {
		if r, ok := runs[js]; ok {
			js.ShowPast(r)
			told = append(told, js)
		}
	}
	w.ReadProgress(told[:min(len(told), MostFresh)], now)
	for i, last := range w.Observer.WordsNow(track.BoxesOf(told)) {
		w.Ended(told[i], string(told[i].Shown.Slurm.State), last, now)
	}
}

// ReadProgress reads the new progress lines of jobs and applies them. It returns the jobs with new
// lines.
func (w *Watch) ReadProgress(all []*track.Job, now time.Time) (changed []*track.Job) {
	jobs, wanted := track.Readings(all, now)
	return w.HeardLines(jobs, w.Observer.Progress(wanted), now)
}

// MostFresh bounds how many progress files are read for one Refresh, and for jobs that have ended.
const MostFresh = 256
