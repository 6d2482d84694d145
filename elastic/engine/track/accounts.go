package track

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// Jobs that ended while sluiced was down for longer than Slurm's MinJobAge are gone from
// squeue. One query asks Slurm's accounting how all of them ended. Nothing waits for the
// answer: without one the jobs end as forgotten, and the query is repeated at growing
// intervals while they are in the report. A later answer replaces that end.

const (
	// accountsMost is the largest number of jobs in one query to accounting.
	accountsMost = 10_000
	// accountsFirst and accountsRest bound the time between two queries, which doubles.
	accountsFirst, accountsRest = time.Minute, time.Hour
	// AccountsBack is how far before a job's last known time in Slurm runs are asked for.
	AccountsBack = time.Minute
)

// accounts is when accounting is asked again about the jobs on record as forgotten. It is not in the
// journal: Load schedules a query if the journal has a forgotten job.
type accounts struct {
	next time.Time     // zero = there are none
	rest time.Duration // between the last two questions
	why  string        // why it could not be asked last
}

// ForgottenState is the recorded state of a job if it is not known how it ended.
const ForgottenState = "forgotten by Slurm"

// Forgotten reports whether it is not known how the job ended.
func (js *Job) Forgotten() bool {
	return !js.Rec.Ended.IsZero() && js.Rec.State == ForgottenState
}

// AskAgain schedules the next query to accounting at that time, or leaves an earlier one.
func (st *State) AskAgain(at time.Time) {
	if next := st.accounts.next; next.IsZero() || at.Before(next) {
		st.accounts.next = at
	}
}

// Askable returns the jobs that fit in one query to accounting. The slice shares memory with jobs.
func Askable(jobs []*Job) []*Job { return jobs[:min(len(jobs), accountsMost)] }

// AskedAbout schedules the next query: accounting knew told of the gone jobs. late: it has not
// answered yet.
//
//	all are known                            nothing is asked again
//	no answer yet, or more than one query    in the next cycle
//	some are not known                       after accountsFirst, and from then on as LookedUp says
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

// ForgottenDue returns the forgotten jobs if a query is due, and those to ask about now: the
// ones asked about longest ago come first. It takes the due time: the caller MUST call LookedUp, or
// AskAgain if there was no answer, or accounting is not asked again.
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

// LookedUp schedules the next query: accounting knew told of the forgotten jobs. While some were
// never asked about, the next query follows at once; then the time between two queries doubles, from
// accountsFirst to accountsRest. A job that accounting never knows is asked about until ForgetOld
// removes it.
func (st *State) LookedUp(left, asked []*Job, told int, now time.Time) {
	if len(left) > len(asked) && left[len(asked)].Over.looked.IsZero() {
		st.AskAgain(now)
		return
	}
	if st.accounts.rest = min(max(2*st.accounts.rest, accountsFirst), accountsRest); told < len(left) {
		st.AskAgain(now.Add(st.accounts.rest))
	}
}

// AccountsAnswered records whether accounting answered. The first failure in a row is logged.
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

// LastRuns returns the last run of each job in accounting's answer. known are the last times at
// which the jobs are known to have been in Slurm. known has one time for each of jobs (KnownAt). Jobs
// without a run are missing from the result. A run counts only if it is of the same user and not
// before that time, since numbers are given again.
func LastRuns(jobs []*Job, known []time.Time, all []slurm.PastRun, now time.Time) map[*Job]slurm.PastRun {
	of := make(map[slurm.JobID][]slurm.PastRun, len(jobs))
	for _, r := range all {
		of[r.ID] = append(of[r.ID], r)
	}
	runs := make(map[*Job]slurm.PastRun, len(jobs))
	for i, js := range jobs {
		js.Over.looked = now
		if run, ok := slurm.LastRun(of[slurm.JobID(js.Rec.ID)], js.Rec.SlurmUID, known[i]); ok {
			runs[js] = run
		}
	}
	return runs
}

// TakeBack clears the recorded end of these jobs. The caller MUST then record the end that
// accounting gave.
func TakeBack(runs map[*Job]slurm.PastRun) {
	for js := range runs {
		js.Rec.Ended, js.Rec.Ending = time.Time{}, journal.Ending{}
	}
}

// KnownAt returns the last times at which the jobs are known to have been in Slurm.
func KnownAt(jobs []*Job) []time.Time {
	out := make([]time.Time, len(jobs))
	for i, js := range jobs {
		out[i] = js.lastKnown()
	}
	return out
}

// IdsOf returns the jobs' Slurm numbers.
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

// ShowPast sets Shown.Slurm from accounting's record, since squeue no longer lists the job. It MUST
// be called BEFORE Ended, which derives the end from Shown. The count of restarts is a lower bound:
// accounting has none.
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
		ID: r.ID, UID: js.Rec.SlurmUID, State: r.State, Submit: r.Submit, End: r.End, TimeLimit: r.Limit,
		ExitCode: r.ExitCode, ExitSignal: r.ExitSignal, Restarts: restarts,
	}
	if ran {
		js.Shown.Slurm.Start, js.Shown.Slurm.Nodes, js.Shown.Slurm.GPUs = r.Start, r.Nodes, r.GPUs
	}
}

// LacksRun reports whether the job ran before this daemon started, and its last recorded run
// has not been loaded yet.
func (js *Job) LacksRun() bool { return js.Runs.Seg == nil && !js.Rec.FirstRun.IsZero() }

// TakeSegments loads the last recorded run of each job that this daemon has not seen running.
// If a history could not be read, that job keeps what it has.
func TakeSegments(jobs []*Job, histories map[string]observe.History) {
	for _, js := range jobs {
		if old := histories[js.Rec.Token].Segments; js.LacksRun() && len(old) > 0 {
			js.Runs.Seg = &old[len(old)-1]
		}
	}
}

// TokensOf returns the tokens of the jobs for which which is true.
func TokensOf(jobs []*Job, which func(*Job) bool) (out []string) {
	for _, js := range jobs {
		if which(js) {
			out = append(out, js.Rec.Token)
		}
	}
	return out
}
