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
// kept. After another error than ErrSuspicious the ends that were found are saved at once, because
// the cycle ends without its save. A suspicious answer has changed nothing.
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

// settleFew queries each job, and returns those that Slurm no longer knows. It makes one query for
// each, so that missing MUST have at most MaxLookups jobs. A number that Slurm has given to another
// job counts as gone; the open move of the old one is closed in the journal BEFORE it is counted
// (Renumbered), since a move knows its job by the number only.
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
//
//	missing from   second list   by number   result
//	the first      also missing  not found   gone
//	the first      also missing  found       ErrSuspicious, also if another one was found
//	the first      there         -           ErrSuspicious
//	the first      another job   -           gone, after Renumbered
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

// departed ends jobs that slurmctld no longer knows, as accounting says or as forgotten. A job that
// accounting does not know, or that does not fit in the one query, ends as ForgottenState now;
// lookUpForgotten may correct that later. Nothing waits for accounting (decision 11).
func (w *Watch) departed(ctx context.Context, gone []*track.Job, now time.Time) {
	if len(gone) == 0 {
		return
	}
	asked := track.Askable(gone)
	runs, late := w.pastRuns(ctx, asked, now)
	w.endedAs(runs, asked, now)
	left := slices.DeleteFunc(slices.Clone(gone), func(js *track.Job) bool { return !js.Rec.Ended.IsZero() })
	for i, last := range w.Observer.WordsNow(track.BoxesOf(left)) {
		left[i].Shown.Slurm = slurm.Job{ID: slurm.JobID(left[i].Rec.ID), UID: left[i].Rec.SlurmUID, State: slurm.Unknown}
		w.Ended(left[i], track.ForgottenState, last, now)
	}
	w.AskedAbout(gone, asked, len(runs), late, now)
}

// lookUpForgotten queries accounting about jobs recorded as forgotten, if that is due. A recorded end
// is taken back only for jobs of which accounting knows the run, and is set again at once, within the
// same cycle and before any save.
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
// the result. late: it has not answered yet. jobs MUST NOT be empty. A job that this daemon has not
// seen running gets its last run from the journal first: from it follows since when accounting is
// asked. An error counts as an answer without runs, and is logged.
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
// of at most MostFresh jobs are read, since all may be on one slow file system. Progress is read
// BEFORE the end, as the last lines say how far the job came.
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
// lines. A job is left out while its file rests after it became shorter, and its lines wait for a
// later cycle if its user's budget is spent (observe.LinesPerUser).
func (w *Watch) ReadProgress(all []*track.Job, now time.Time) (changed []*track.Job) {
	jobs, wanted := track.Readings(all, now)
	return w.HeardLines(jobs, w.Observer.Progress(wanted), now)
}

// MostFresh bounds how many progress files are read for one Refresh, and for jobs that have ended.
const MostFresh = 256
