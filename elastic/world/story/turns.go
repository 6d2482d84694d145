package story

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// turn is the length of one job's turn.
const turn = 5 * time.Minute

// InTurns sets a policy that moves jobs as often as possible: the job whose turn it is gets all the
// GPUs that it can use, the next ones get the rest, and jobs without GPUs are stopped. In every
// second turn it also chooses nodes, regardless of where jobs run. turn is the length of a turn, in
// whole seconds.
func InTurns(c *engine.Config, turn time.Duration) {
	c.Policy = policy.Policy{Name: "turns", Allocate: func(s elastic.Snapshot) elastic.Allocation { return turns(s, turn) }}
	c.Limits.Preempt = true
}

func turns(s elastic.Snapshot, turn time.Duration) elastic.Allocation {
	a := elastic.Allocation{}
	who := make([]*elastic.Job, 0, len(s.Jobs))
	inv := s.Foreign()
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Directive.Hold || j.Deaf >= s.Limits.DeafAfter || j.Phase != elastic.Waiting && (!j.Speaks || j.LosesCheckpoints()) {
			nodes.Charge(inv, nodes.Load{Place: s.Committed(*j)})
		} else {
			who = append(who, j)
		}
	}
	// Waiting jobs are listed by priority: a turn must not depend on who waits.
	slices.SortFunc(who, func(a, b *elastic.Job) int { return cmp.Compare(a.ID, b.ID) })
	number := int(uint64(s.Now.Unix()) / uint64(turn/time.Second) % (1 << 20))
	for k := range who {
		j := who[(number+k)%len(who)]
		p := most(inv, j)
		if p == nil && onUnfit(inv, j) {
			p = j.Place // otherwise a job that reports each GPU as unfit would take the turn of its neighbours forever
		}
		nodes.Charge(inv, nodes.Load{Place: p})
		d := elastic.Decision{GPUs: p.GPUs(), Why: reason.Text{Text: "its turn"}}
		if number%2 == 1 {
			d.Place = p
		}
		a[j.ID] = d
	}
	return a
}

// onUnfit reports whether the job runs on a node that is excluded because of unfit GPUs.
func onUnfit(inv []nodes.Node, j *elastic.Job) bool {
	return j.Phase == elastic.Running && slices.ContainsFunc(inv, func(n nodes.Node) bool {
		return n.Why.State == nodes.Unfit && j.Place.On(n.Name) > 0
	})
}

// most returns the largest placement of the job on free GPUs.
func most(inv []nodes.Node, j *elastic.Job) nodes.Placement {
	size := 0
	for partition := range strings.SplitSeq(j.Partition, ",") {
		size = max(size, nodes.Free(inv, partition))
	}
	if j.Spec.Max > 0 {
		size = min(size, j.Spec.Max)
	}
	for ; size >= j.Spec.Min; size-- {
		if p := nodes.Place(inv, []nodes.Request{{GPUs: size, Partition: j.Partition}})[0].Placement; p != nil {
			return p
		}
	}
	return nil
}
