package elastic

import (
	"fmt"

	"github.com/sluice-hpc/sluice/nodes"
)

// Reconcile compares what is with what should be and says which moves to open.
// A job with an open move is left to it. A move is opened only when its GPUs are
// free now: nobody is stopped to wait for anybody.
func Reconcile(s Snapshot, a Allocation, where Arrangement) Plan {
	p := Plan{Target: where.Target}
	for _, j := range s.Jobs {
		in, why := reconcile(s, j, a[j.ID].Why, where)
		if in != nil {
			p.Open = append(p.Open, *in)
			// The next jobs must see what this one was promised.
			s.Intents = append(s.Intents[:len(s.Intents):len(s.Intents)], *in)
		}
		p.Reasons = append(p.Reasons, Reason{Job: j.ID, Why: why})
	}
	return p
}

// verdict is one rule of reconcile: the first that applies speaks.
type verdict struct {
	when func(Snapshot, Job, nodes.Placement) bool
	then func(Snapshot, Job, nodes.Placement, string) (*Intent, string)
}

var verdicts = []verdict{
	// One move at a time.
	{inTransition, func(s Snapshot, j Job, _ nodes.Placement, _ string) (*Intent, string) {
		in, _ := s.Intent(j.ID)
		return nil, in.Cause
	}},
	// What nobody may start or move.
	{func(_ Snapshot, j Job, _ nodes.Placement) bool { return j.Phase == Held && j.Directive.Hold }, stay("held; type sluice release to let it start")},
	{func(_ Snapshot, j Job, _ nodes.Placement) bool {
		return j.Phase == Running && (j.UserHold || j.Directive.Hold)
	}, stay("held by its user; it runs on, and starts again only when released")},
	{func(_ Snapshot, j Job, _ nodes.Placement) bool { return j.Phase == Completing }, stay("its last run is being cleaned away")},
	{func(_ Snapshot, j Job, _ nodes.Placement) bool { return j.Phase == Suspended }, stay("suspended through Slurm; left alone")},
	{func(_ Snapshot, j Job, _ nodes.Placement) bool { return j.Phase == Queued }, func(_ Snapshot, j Job, _ nodes.Placement, _ string) (*Intent, string) {
		return nil, "released; waits in Slurm: " + j.Reason
	}},
	// Nothing to do.
	{func(_ Snapshot, j Job, t nodes.Placement) bool { return len(t) == 0 || t.Equal(j.Place) }, stay("")},
	// The GPUs are still with somebody who is giving them back.
	{func(s Snapshot, j Job, t nodes.Placement) bool { return !s.Available(t, j) }, func(_ Snapshot, j Job, t nodes.Placement, why string) (*Intent, string) {
		return nil, fmt.Sprintf("%s; waits for GPUs on %s to be given back", why, t)
	}},
	{func(_ Snapshot, j Job, _ nodes.Placement) bool { return j.Phase == Held }, open(Start)},
	// Bounded harm: so many jobs between two sizes at once.
	{tooMany, stay("would move, but enough jobs are between two sizes now")},
	{func(_ Snapshot, j Job, _ nodes.Placement) bool { return j.Phase == Running }, open(Resize)},
}

func reconcile(s Snapshot, j Job, why string, where Arrangement) (*Intent, string) {
	if reason, ok := where.Unplaced[j.ID]; ok {
		why = reason
	}
	target := where.Target[j.ID]
	for _, v := range verdicts {
		if v.when(s, j, target) {
			return v.then(s, j, target, why)
		}
	}
	return nil, why
}

func inTransition(s Snapshot, j Job, _ nodes.Placement) bool {
	_, ok := s.Intent(j.ID)
	return ok
}

func tooMany(s Snapshot, _ Job, _ nodes.Placement) bool {
	n := 0
	for _, in := range s.Intents {
		if in.Kind == Resize {
			n++
		}
	}
	return s.Limits.Moves > 0 && n >= s.Limits.Moves
}

func stay(reason string) func(Snapshot, Job, nodes.Placement, string) (*Intent, string) {
	return func(_ Snapshot, _ Job, _ nodes.Placement, why string) (*Intent, string) {
		if reason != "" {
			return nil, reason
		}
		return nil, why
	}
}

func open(kind Kind) func(Snapshot, Job, nodes.Placement, string) (*Intent, string) {
	return func(s Snapshot, j Job, target nodes.Placement, why string) (*Intent, string) {
		in := &Intent{
			Job: j.ID, Kind: kind, Step: Intended, To: j.Incarnation + 1, From: j.Place, Target: target,
			Restarts: j.Restarts, Cause: why, Opened: s.Now, Moved: s.Now,
			Request: fmt.Sprintf("%d.%d.%d", j.ID, j.Incarnation+1, s.Now.UnixMilli()),
		}
		if kind == Start {
			in.Step = Requeued // pending and held already: nothing to save
			in.PendingAt = s.Now
		}
		return in, why
	}
}
