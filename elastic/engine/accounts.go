package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// Jobs that ended while sluiced was down for longer than Slurm's MinJobAge are gone from
// squeue. Slurm's accounting is asked once for all of them how they ended. Nothing waits for
// it: without an answer they end as forgotten, and they are asked about again, ever less
// often, for as long as they are in the report. What it answers then replaces that end.

// ErrAsking says that Slurm was asked and has not answered yet, of an Accountant or a
// Limiter. The answer is handed out to a later call.
var ErrAsking = errors.New("Slurm has not answered yet")

const (
	// accountsMost is about how many jobs accounting is asked at once.
	accountsMost = 10_000
	// accountsFirst and accountsRest bound the time between two questions, which doubles.
	accountsFirst, accountsRest = time.Minute, time.Hour
	// accountsBack is how far before the last sign of life runs are asked for.
	accountsBack = time.Minute
)

// accounts is when accounting is asked again about the jobs on record as forgotten.
type accounts struct {
	next time.Time     // zero = there are none
	rest time.Duration // between the last two questions
	why  string        // why it could not be asked last
}

// forgottenState is the state on record of a job that ended nobody knows how.
const forgottenState = "forgotten by Slurm"

// forgotten reports whether the job ended nobody knows how.
func (js *jobState) forgotten() bool {
	return !js.rec.Ended.IsZero() && js.rec.State == forgottenState
}

// departed ends jobs that slurmctld no longer knows.
func (e *Engine) departed(ctx context.Context, gone []*jobState, now time.Time) {
	if len(gone) == 0 {
		return
	}
	asked := gone[:min(len(gone), accountsMost)]
	runs, late := e.pastRuns(ctx, asked, now)
	e.endedAs(runs, asked, now)
	for _, js := range gone {
		if js.rec.Ended.IsZero() {
			js.shown.slurm = slurm.Job{ID: slurm.JobID(js.rec.ID), UID: js.rec.UID, State: slurm.Unknown}
			e.ended(js, forgottenState, now)
		}
	}
	switch {
	case len(runs) == len(gone):
		return
	case late || len(gone) > len(asked):
		e.askAgain(now)
	default:
		e.askAgain(now.Add(accountsFirst))
	}
	e.accounts.rest = 0
}

// askAgain has accounting asked about forgotten jobs at that time, or sooner.
func (e *Engine) askAgain(at time.Time) {
	if next := e.accounts.next; next.IsZero() || at.Before(next) {
		e.accounts.next = at
	}
}

// lookUpForgotten asks about the jobs on record as forgotten, when it is time.
func (e *Engine) lookUpForgotten(ctx context.Context, now time.Time) {
	if next := e.accounts.next; next.IsZero() || now.Before(next) {
		return
	}
	e.accounts.next = time.Time{}
	var left []*jobState
	for _, js := range e.ordered() {
		if js.forgotten() {
			left = append(left, js)
		}
	}
	if len(left) == 0 || e.cfg.Accountant == nil {
		return
	}
	// Those first that were asked about longest ago.
	slices.SortStableFunc(left, func(a, b *jobState) int { return a.over.looked.Compare(b.over.looked) })
	asked := left[:min(len(left), accountsMost)]
	runs, late := e.pastRuns(ctx, asked, now)
	if late {
		e.askAgain(now)
		return
	}
	for js := range runs {
		js.rec.Ended, js.rec.Ending = time.Time{}, Ending{}
	}
	e.endedAs(runs, asked, now)
	if len(left) > len(asked) && left[len(asked)].over.looked.IsZero() {
		e.askAgain(now)
		return
	}
	if e.accounts.rest = min(max(2*e.accounts.rest, accountsFirst), accountsRest); len(runs) < len(left) {
		e.askAgain(now.Add(e.accounts.rest))
	}
}

// pastRuns asks accounting for the runs that the jobs ended with; those it does not have are
// missing. late: it has not answered.
func (e *Engine) pastRuns(ctx context.Context, jobs []*jobState, now time.Time) (runs map[*jobState]slurm.PastRun, late bool) {
	if e.cfg.Accountant == nil {
		return nil, false
	}
	ids := make([]slurm.JobID, len(jobs))
	known := make([]time.Time, len(jobs))
	for i, js := range jobs {
		e.takeSegment(ctx, js)
		ids[i], known[i] = slurm.JobID(js.rec.ID), js.lastKnown()
	}
	all, err := e.cfg.Accountant.Past(ctx, ids, slices.MinFunc(known, time.Time.Compare).Add(-accountsBack))
	if errors.Is(err, ErrAsking) {
		return nil, true
	}
	why := ""
	if err != nil {
		why = err.Error()
	}
	if why != "" && e.accounts.why == "" {
		e.event(now, 0, "problem", "Slurm's accounting does not tell how jobs ended; it is asked again: "+why)
	}
	e.accounts.why = why
	of := make(map[slurm.JobID][]slurm.PastRun, len(jobs))
	for _, r := range all {
		of[r.ID] = append(of[r.ID], r)
	}
	runs = make(map[*jobState]slurm.PastRun, len(jobs))
	for i, js := range jobs {
		js.over.looked = now
		if run, ok := slurm.LastRun(of[ids[i]], js.rec.UID, known[i]); ok {
			runs[js] = run
		}
	}
	return runs, false
}

// lastKnown is the last time on record at which the job is known to have been in Slurm.
func (js *jobState) lastKnown() time.Time {
	last := js.rec.Submitted
	for _, at := range []time.Time{js.rec.FirstRun, js.rec.Moved, js.shown.slurm.Submit} {
		last = later(last, at)
	}
	if js.runs.seg != nil {
		last = later(last, js.runs.seg.Started)
		if !js.forgotten() { // else its end is when that was found
			last = later(last, js.runs.seg.Ended)
		}
	}
	return last
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
	e.readProgressOf(told[:min(len(told), mostFresh)], now)
	for _, js := range told {
		e.ended(js, string(js.shown.slurm.State), now)
	}
}

// showPast puts what accounting says in the place of what Slurm would have shown.
func (js *jobState) showPast(r slurm.PastRun) {
	ran := !r.Start.IsZero() && len(r.Nodes) > 0
	restarts := max(js.rec.Restarts, 0)
	if js.runs.seg != nil {
		restarts = max(restarts, js.runs.seg.Restarts)
		switch {
		case ran && r.Start.After(js.runs.seg.Started.Add(slurm.PastGrain)):
			restarts = js.runs.seg.Restarts + 1 // at least
		case ran:
			js.runs.seg.Ended = time.Time{} // it is known now
		}
	}
	js.shown.slurm = slurm.Job{
		ID: r.ID, UID: js.rec.UID, State: r.State, Submit: r.Submit, End: r.End, TimeLimit: r.Limit,
		ExitCode: r.ExitCode, ExitSignal: r.ExitSignal, Restarts: restarts,
	}
	if ran {
		js.shown.slurm.Start, js.shown.slurm.Nodes, js.shown.slurm.GPUs = r.Start, r.Nodes, r.GPUs
	}
}

// takeSegment takes up the last run on record of a job that this daemon has not seen run.
func (e *Engine) takeSegment(ctx context.Context, js *jobState) {
	if js.runs.seg != nil || js.rec.FirstRun.IsZero() {
		return
	}
	old, err := e.cfg.Journal.Segments(ctx, js.rec.Token)
	if err != nil || len(old) == 0 {
		return // its history keeps what it has
	}
	js.runs.seg = &old[len(old)-1]
}
