package track

import (
	"errors"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// late is for how long after a call timed out slurmctld may still carry it out.
const late = 15 * time.Second

// Unanswered records a stop with an unknown outcome. A busy slurmctld may still carry it out; it would
// then stop the next run. It is called for every action; others than stops are harmless when they
// come late (decision 26).
func (of Known) Unanswered(a elastic.Action, err error, now time.Time) {
	js := of[a.About()]
	if js != nil && StopsRun(a) && errors.Is(err, slurm.ErrUnknownOutcome) {
		js.Placing.uncertainUntil = now.Add(late)
	}
}

// StopsRun reports whether the action ends a run, or what Slurm takes for one.
func StopsRun(a elastic.Action) bool {
	switch a.(type) {
	case elastic.Requeue, elastic.RequeueFailed, elastic.RequeueLingering:
		return true
	}
	return false
}

// PerhapsDone treats a stop with an unknown outcome as sent, so that its effect is awaited. Repeated
// at once, it could stop the next run as well.
func PerhapsDone(in elastic.Intent, a elastic.Action, err error, now time.Time) elastic.Intent {
	if StopsRun(a) && errors.Is(err, slurm.ErrUnknownOutcome) {
		in.RequeuedAt = now
	}
	return in
}

// Unsure reports whether a stop with an unknown outcome may still be carried out although the job is
// already stopped. The move waits meanwhile, since the next run would be stopped.
func (of Known) Unsure(in elastic.Intent, now time.Time) bool {
	js := of[in.Job]
	return js != nil && in.Step == elastic.Requeued && now.Before(js.Placing.uncertainUntil)
}

// PerhapsAsked is PerhapsDone for stops that the previous daemon may have sent right before it
// crashed, before the journal recorded them.
func PerhapsAsked(open []elastic.Intent, now time.Time) {
	for i := range open {
		in := &open[i]
		if moves := in.Kind == elastic.Resize || in.Kind == elastic.Park; moves && in.Step == elastic.Verified && in.RequeuedAt.IsZero() {
			in.RequeuedAt = now
		}
	}
}

// PerhapsStopping is the same for the stop of a stranded run, outside of a move: no job that ran, and
// has no move, is started for late.
func (st *State) PerhapsStopping(now time.Time) {
	for _, js := range st.Jobs {
		if js.Rec.Ended.IsZero() && !js.Rec.FirstRun.IsZero() && !st.Open.has(js.Rec.ID) {
			js.Placing.uncertainUntil = now.Add(late)
		}
	}
}
