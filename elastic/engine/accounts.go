package engine

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"

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

// askAgain has accounting asked about forgotten jobs at that time, or sooner.
func (st *State) askAgain(at time.Time) {
	if next := st.accounts.next; next.IsZero() || at.Before(next) {
		st.accounts.next = at
	}
}

// askable are as many of the jobs as accounting is asked about at once.
func askable(jobs []*jobState) []*jobState { return jobs[:min(len(jobs), accountsMost)] }

// askedAbout notes of how many of the jobs that are gone accounting told. late: it has not answered.
func (st *State) askedAbout(gone, asked []*jobState, told int, late bool, now time.Time) {
	switch {
	case told == len(gone):
		return
	case late || len(gone) > len(asked):
		st.askAgain(now)
	default:
		st.askAgain(now.Add(accountsFirst))
	}
	st.accounts.rest = 0
}

// forgottenDue are the jobs on record as forgotten when it is time to ask about them, and those
// of them to ask about now: those first that were asked about longest ago.
func (st *State) forgottenDue(now time.Time) (left, asked []*jobState) {
	if next := st.accounts.next; next.IsZero() || now.Before(next) {
		return nil, nil
	}
	st.accounts.next = time.Time{}
	for _, js := range st.ordered() {
		if js.forgotten() {
			left = append(left, js)
		}
	}
	slices.SortStableFunc(left, func(a, b *jobState) int { return a.over.looked.Compare(b.over.looked) })
	return left, askable(left)
}

// lookedUp notes of how many of those jobs accounting told.
func (st *State) lookedUp(left, asked []*jobState, told int, now time.Time) {
	if len(left) > len(asked) && left[len(asked)].over.looked.IsZero() {
		st.askAgain(now)
		return
	}
	if st.accounts.rest = min(max(2*st.accounts.rest, accountsFirst), accountsRest); told < len(left) {
		st.askAgain(now.Add(st.accounts.rest))
	}
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

// takeBack takes back that these jobs ended: accounting knows better.
func takeBack(runs map[*jobState]slurm.PastRun) {
	for js := range runs {
		js.rec.Ended, js.rec.Ending = time.Time{}, journal.Ending{}
	}
}

// knownAt are the last times at which jobs are known to have been in Slurm.
func knownAt(jobs []*jobState) []time.Time {
	out := make([]time.Time, len(jobs))
	for i, js := range jobs {
		out[i] = js.lastKnown()
	}
	return out
}

// idsOf are the numbers of jobs.
func idsOf(jobs []*jobState) []slurm.JobID {
	out := make([]slurm.JobID, len(jobs))
	for i, js := range jobs {
		out[i] = slurm.JobID(js.rec.ID)
	}
	return out
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
func takeSegments(jobs []*jobState, histories map[string]observe.History) {
	for _, js := range jobs {
		if old := histories[js.rec.Token].Segments; js.lacksRun() && len(old) > 0 {
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
