package track

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
	// AccountsBack is how far before the last sign of life runs are asked for.
	AccountsBack = time.Minute
)

// accounts is when accounting is asked again about the jobs on record as forgotten.
type accounts struct {
	next time.Time     // zero = there are none
	rest time.Duration // between the last two questions
	why  string        // why it could not be asked last
}

// ForgottenState is the state on record of a job whose end is not known.
const ForgottenState = "forgotten by Slurm"

// Forgotten reports whether it is not known how the job ended.
func (js *Job) Forgotten() bool {
	return !js.Rec.Ended.IsZero() && js.Rec.State == ForgottenState
}

// AskAgain has accounting asked about forgotten jobs at that time, or sooner.
func (st *State) AskAgain(at time.Time) {
	if next := st.accounts.next; next.IsZero() || at.Before(next) {
		st.accounts.next = at
	}
}

// Askable are as many of the jobs as accounting is asked about at once.
func Askable(jobs []*Job) []*Job { return jobs[:min(len(jobs), accountsMost)] }

// AskedAbout notes of how many of the jobs that are gone accounting told. late: it has not answered.
func (st *State) AskedAbout(gone, asked []*Job, told int, late bool, now time.Time) {
	switch {
	case told == len(gone):
		return
	case late || len(gone) > len(asked):
		st.AskAgain(now)
	default:
		st.AskAgain(now.Add(accountsFirst))
	}
	st.accounts.rest = 0
}

// ForgottenDue are the jobs on record as forgotten when it is time to ask about them, and those
// of them to ask about now: those first that were asked about longest ago.
func (st *State) ForgottenDue(now time.Time) (left, asked []*Job) {
	if next := st.accounts.next; next.IsZero() || now.Before(next) {
		return nil, nil
	}
	st.accounts.next = time.Time{}
	for _, js := range st.Ordered() {
		if js.Forgotten() {
			left = append(left, js)
		}
	}
	slices.SortStableFunc(left, func(a, b *Job) int { return a.Over.looked.Compare(b.Over.looked) })
	return left, Askable(left)
}

// LookedUp notes of how many of those jobs accounting told.
func (st *State) LookedUp(left, asked []*Job, told int, now time.Time) {
	if len(left) > len(asked) && left[len(asked)].Over.looked.IsZero() {
		st.AskAgain(now)
		return
	}
	if st.accounts.rest = min(max(2*st.accounts.rest, accountsFirst), accountsRest); told < len(left) {
		st.AskAgain(now.Add(st.accounts.rest))
	}
}

// AccountsAnswered notes whether accounting answered. That it did not is told once.
func (st *State) AccountsAnswered(err error, now time.Time) {
	why := ""
	if err != nil {
		why = err.Error()
	}
	if why != "" && st.accounts.why == "" {
		st.Tell(now, 0, "problem", "Slurm's accounting does not tell how jobs ended; it is asked again: "+why)
	}
	st.accounts.why = why
}

// LastRuns picks of what accounting has the run that each job ended with. known are the last times at
// which the jobs are known to have been in Slurm.
func LastRuns(jobs []*Job, known []time.Time, all []slurm.PastRun, now time.Time) map[*Job]slurm.PastRun {
	of := make(map[slurm.JobID][]slurm.PastRun, len(jobs))
	for _, r := range all {
		of[r.ID] = append(of[r.ID], r)
	}
	runs := make(map[*Job]slurm.PastRun, len(jobs))
	for i, js := range jobs {
		js.Over.looked = now
		if run, ok := slurm.LastRun(of[slurm.JobID(js.Rec.ID)], js.Rec.UID, known[i]); ok {
			runs[js] = run
		}
	}
	return runs
}

// TakeBack takes back that these jobs ended: accounting knows better.
func TakeBack(runs map[*Job]slurm.PastRun) {
	for js := range runs {
		js.Rec.Ended, js.Rec.Ending = time.Time{}, journal.Ending{}
	}
}

// KnownAt are the last times at which jobs are known to have been in Slurm.
func KnownAt(jobs []*Job) []time.Time {
	out := make([]time.Time, len(jobs))
	for i, js := range jobs {
		out[i] = js.lastKnown()
	}
	return out
}

// IdsOf are the numbers of jobs.
func IdsOf(jobs []*Job) []slurm.JobID {
	out := make([]slurm.JobID, len(jobs))
	for i, js := range jobs {
		out[i] = slurm.JobID(js.Rec.ID)
	}
	return out
}

// lastKnown is the last time on record at which the job is known to have been in Slurm.
func (js *Job) lastKnown() time.Time {
	last := js.Rec.Submitted
	for _, at := range []time.Time{js.Rec.FirstRun, js.Rec.Moved, js.Shown.Slurm.Submit} {
		last = Later(last, at)
	}
	if js.Runs.Seg != nil {
		last = Later(last, js.Runs.Seg.Started)
		if !js.Forgotten() { // else its end is when that was found
			last = Later(last, js.Runs.Seg.Ended)
		}
	}
	return last
}

// ShowPast puts what accounting says in the place of what Slurm would have shown.
func (js *Job) ShowPast(r slurm.PastRun) {
	ran := !r.Start.IsZero() && len(r.Nodes) > 0
	restarts := max(js.Rec.Restarts, 0)
	if js.Runs.Seg != nil {
		restarts = max(restarts, js.Runs.Seg.Restarts)
		switch {
		case ran && r.Start.After(js.Runs.Seg.Started.Add(slurm.PastGrain)):
			restarts = js.Runs.Seg.Restarts + 1 // at least
		case ran:
			js.Runs.Seg.Ended = time.Time{} // it is known now
		}
	}
	js.Shown.Slurm = slurm.Job{
		ID: r.ID, UID: js.Rec.UID, State: r.State, Submit: r.Submit, End: r.End, TimeLimit: r.Limit,
		ExitCode: r.ExitCode, ExitSignal: r.ExitSignal, Restarts: restarts,
	}
	if ran {
		js.Shown.Slurm.Start, js.Shown.Slurm.Nodes, js.Shown.Slurm.GPUs = r.Start, r.Nodes, r.GPUs
	}
}

// LacksRun reports whether the job ran before this daemon's life, and what is on record of its last
// run has not been taken up.
func (js *Job) LacksRun() bool { return js.Runs.Seg == nil && !js.Rec.FirstRun.IsZero() }

// TakeSegments takes up the last runs on record of jobs that this daemon has not seen run. A job
// whose history could not be read keeps what it has.
func TakeSegments(jobs []*Job, histories map[string]observe.History) {
	for _, js := range jobs {
		if old := histories[js.Rec.Token].Segments; js.LacksRun() && len(old) > 0 {
			js.Runs.Seg = &old[len(old)-1]
		}
	}
}

// TokensOf are the tokens of those jobs.
func TokensOf(jobs []*Job, which func(*Job) bool) (out []string) {
	for _, js := range jobs {
		if which(js) {
			out = append(out, js.Rec.Token)
		}
	}
	return out
}
