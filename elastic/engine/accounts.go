package engine

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"

	"github.com/sluice-hpc/sluice/slurm"
)

// Jobs that ended while sluiced was down for longer than Slurm's MinJobAge are gone from
// squeue. Slurm's accounting is asked once for all of them how they ended. Nothing waits for
// it: without an answer they end as forgotten, and they are asked about again, ever less
// often, for as long as they are in the report. What it answers then replaces that end.

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
	left := slices.DeleteFunc(slices.Clone(gone), func(js *jobState) bool { return !js.rec.Ended.IsZero() })
	for i, w := range e.eyes.wordsNow(boxesOf(left)) {
		left[i].shown.slurm = slurm.Job{ID: slurm.JobID(left[i].rec.ID), UID: left[i].rec.UID, State: slurm.Unknown}
		e.ended(left[i], forgottenState, w, now)
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
func (st *State) askAgain(at time.Time) {
	if next := st.accounts.next; next.IsZero() || at.Before(next) {
		st.accounts.next = at
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
		js.rec.Ended, js.rec.Ending = time.Time{}, journal.Ending{}
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
	takeSegments(jobs, e.eyes.histories(ctx, tokensOf(jobs, (*jobState).lacksRun)))
	ids, known := make([]slurm.JobID, len(jobs)), make([]time.Time, len(jobs))
	for i, js := range jobs {
		ids[i], known[i] = slurm.JobID(js.rec.ID), js.lastKnown()
	}
	all, late, err := e.eyes.runs(ctx, ids, slices.MinFunc(known, time.Time.Compare).Add(-accountsBack))
	if late {
		return nil, true
	}
	e.accountsAnswered(err, now)
	return lastRuns(jobs, known, all, now), false
}

// accountsAnswered notes whether accounting answered. That it did not is told once.
func (st *State) accountsAnswered(err error, now time.Time) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	if why != "" && st.accounts.why == "" {
		st.Tell(now, 0, "problem", "Slurm's accounting does not tell how jobs ended; it is asked again: "+why)
	}
	st.accounts.why = why
}

// lastRuns picks of what accounting has the run that each job ended with. known are the last times at
// which the jobs are known to have been in Slurm.
func lastRuns(jobs []*jobState, known []time.Time, all []slurm.PastRun, now time.Time) map[*jobState]slurm.PastRun {
	of := make(map[slurm.JobID][]slurm.PastRun, len(jobs))
	for _, r := range all {
		of[r.ID] = append(of[r.ID], r)
	}
	runs := make(map[*jobState]slurm.PastRun, len(jobs))
	for i, js := range jobs {
		js.over.looked = now
		if run, ok := slurm.LastRun(of[slurm.JobID(js.rec.ID)], js.rec.UID, known[i]); ok {
			runs[js] = run
		}
	}
	return runs
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
	e.readProgress(told[:min(len(told), mostFresh)], now)
	for i, w := range e.eyes.wordsNow(boxesOf(told)) {
		e.ended(told[i], string(told[i].shown.slurm.State), w, now)
	}
}

// readProgress reads the new lines of jobs, and takes them in.
func (e *Engine) readProgress(all []*jobState, now time.Time) (changed []*jobState) {
	jobs, wanted := readings(all, now)
	return e.heardLines(jobs, e.eyes.progress(wanted), now)
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

// lacksRun reports whether the job ran before this daemon's life, and what is on record of its last
// run has not been taken up.
func (js *jobState) lacksRun() bool { return js.runs.seg == nil && !js.rec.FirstRun.IsZero() }

// takeSegments takes up the last runs on record of jobs that this daemon has not seen run. A job
// whose history could not be read keeps what it has.
func takeSegments(jobs []*jobState, histories map[string]past) {
	for _, js := range jobs {
		if old := histories[js.rec.Token].segments; js.lacksRun() && len(old) > 0 {
			js.runs.seg = &old[len(old)-1]
		}
	}
}

// tokensOf are the tokens of those jobs.
func tokensOf(jobs []*jobState, which func(*jobState) bool) (out []string) {
	for _, js := range jobs {
		if which(js) {
			out = append(out, js.rec.Token)
		}
	}
	return out
}
