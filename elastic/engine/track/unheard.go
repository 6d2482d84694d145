package track

import (
	"errors"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// late is how long after a call was given up slurmctld may still carry it out.
const late = 15 * time.Second

// Unanswered notes a stop or a hold of which it is unknown whether Slurm took it. A busy
// slurmctld may still carry it out: it would stop the run that is due next, or hold it as
// its user does.
func (of Known) Unanswered(a elastic.Action, err error, now time.Time) {
	js := of[a.About()]
	if js == nil || !errors.Is(err, slurm.ErrUnknownOutcome) {
		return
	}
	if _, hold := a.(elastic.HoldPending); hold || StopsRun(a) {
		js.Placing.unheard = now.Add(late)
	}
}

// StopsRun reports whether the action ends a run, or what Slurm takes for one.
func StopsRun(a elastic.Action) bool {
	switch a.(type) {
	case elastic.RequeueHold, elastic.Revive, elastic.Clear:
		return true
	}
	return false
}

// PerhapsDone lets a stop that was not answered be looked for as long as one that was:
// asked again at once, it would stop the next run as well.
func PerhapsDone(in elastic.Intent, a elastic.Action, err error, now time.Time) elastic.Intent {
	if StopsRun(a) && errors.Is(err, slurm.ErrUnknownOutcome) {
		in.RequeuedAt = now
	}
	return in
}

// Unsure reports whether a stop or a hold that Slurm did not answer may still be carried
// out, though something else stopped the job meanwhile: it would stop the run that is due
// next, or hold it as its user does.
func (of Known) Unsure(in elastic.Intent, now time.Time) bool {
	js := of[in.Job]
	return js != nil && in.Step == elastic.Requeued && now.Before(js.Placing.unheard)
}

// PerhapsAsked is PerhapsDone for stops that an earlier life may have asked for in its last
// moment, before the journal could know.
func PerhapsAsked(open []elastic.Intent, now time.Time) {
	for i := range open {
		in := &open[i]
		if moves := in.Kind == elastic.Resize || in.Kind == elastic.Park; moves && in.Step == elastic.Verified && in.RequeuedAt.IsZero() {
			in.RequeuedAt = now
		}
	}
}

// PerhapsHolding is the same for its holds outside of moves: jobs are not started so soon.
func (st *State) PerhapsHolding(now time.Time) {
	for _, js := range st.Jobs {
		if js.Rec.Ended.IsZero() && !st.Open.has(js.Rec.ID) {
			js.Placing.unheard = now.Add(late)
		}
	}
}
