package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// maxLookups bounds the queries for single jobs in a cycle: jobs that vanished, and the
// splits of runs over several nodes.
const maxLookups = 16

// missing are the live jobs that the bulk answer lacks.
func (st *State) missing() (out []*jobState) {
	for _, js := range st.ordered() {
		if !js.shown.seen && js.rec.Ended.IsZero() {
			out = append(out, js)
		}
	}
	return out
}

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
	if err != nil && !errors.Is(err, errSuspicious) {
		err = errors.Join(err, e.hands.save(ctx))
	}
	return err
}

// settleFew asks about each job, and returns those that Slurm no longer knows.
func (e *Engine) settleFew(ctx context.Context, missing []*jobState, now time.Time) (gone []*jobState, err error) {
	for _, js := range missing {
		detail, err := e.eyes.slurm.Job(ctx, slurm.JobID(js.rec.ID))
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
	again, err := e.eyes.slurm.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	shown := make(map[slurm.JobID]slurm.Job, len(again))
	for _, sj := range again {
		shown[sj.ID] = sj
	}
	for _, js := range missing {
		if sj, there := shown[slurm.JobID(js.rec.ID)]; there && !another(js, sj) {
			return nil, fmt.Errorf("%w: job %d is missing from one answer and in the next", errSuspicious, js.rec.ID)
		}
	}
	for _, js := range e.open.spread(missing) {
		detail, err := e.eyes.slurm.Job(ctx, slurm.JobID(js.rec.ID))
		if err != nil && !errors.Is(err, slurm.ErrNotFound) {
			return nil, err
		}
		if err == nil && !another(js, detail.Job) {
			return nil, fmt.Errorf("%w: job %d is there and missing from two answers", errSuspicious, js.rec.ID)
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

// spread picks maxLookups of the jobs: those that are between two sizes first, for there a
// wrong answer costs most, then at equal distances.
func (open openMoves) spread(missing []*jobState) []*jobState {
	var picked []*jobState
	for _, js := range missing {
		if slices.ContainsFunc(open, func(in elastic.Intent) bool { return in.Job == js.rec.ID }) {
			picked = append(picked, js)
		}
	}
	picked = picked[:min(len(picked), maxLookups/2)]
	for i := range maxLookups - len(picked) {
		picked = append(picked, missing[i*len(missing)/maxLookups])
	}
	return picked
}

// shownLate takes up a job that the bulk answer lacked and a query for it shows.
func (st *State) shownLate(js *jobState, sj slurm.Job, now time.Time) {
	if !elastic.Tagged(sj.Comment) {
		// Its user took the tag away while it was not shown: let go of what sluice holds.
		st.disowned(sj, now)
		return
	}
	js.shown.seen, js.shown.slurm = true, sj
	js.atLeast(sj.Comment)
}
