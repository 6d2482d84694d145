package story

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// turn is how long one job of a story has it.
const turn = 5 * time.Minute

// InTurns makes the engine follow the most restless of policies: whose turn it is gets
// all it can use, the next what is left, and who gets nothing is stopped. In every
// second turn it also says where, with no thought for where jobs are. turn is how long
// one job has it, in whole seconds.
func InTurns(c *engine.Config, turn time.Duration) {
	c.Policy = policy.Policy{Name: "turns", Allocate: func(s elastic.Snapshot) elastic.Allocation { return turns(s, turn) }}
	c.Limits.Preempt = true
}

func turns(s elastic.Snapshot, turn time.Duration) elastic.Allocation {
	a := elastic.Allocation{}
	var who []elastic.Job
	inv := s.Foreign()
	for _, j := range s.Jobs {
		if j.Directive.Hold || j.Deaf >= s.Limits.DeafAfter || j.Phase != elastic.Held && !j.Speaks {
			inv = nodes.With(inv, nodes.Load{Place: s.Committed(j)})
		} else {
			who = append(who, j)
		}
	}
	number := int(uint64(s.Now.Unix()) / uint64(turn/time.Second) % (1 << 20))
	for k := range who {
		j := who[(number+k)%len(who)]
		p := most(inv, j)
		if p == nil && onUnfit(inv, j) {
			p = j.Place // else a job that blames each GPU would end the turn of all beside it, for ever
		}
		inv = nodes.With(inv, nodes.Load{Place: p})
		d := elastic.Decision{GPUs: p.GPUs(), Why: reason.Text{Text: "its turn"}}
		if number%2 == 1 {
			d.Place = p
		}
		a[j.ID] = d
	}
	return a
}

// onUnfit reports whether the job runs on a node that gets nothing new for its GPUs' sake.
func onUnfit(inv []nodes.Node, j elastic.Job) bool {
	return j.Phase == elastic.Running && slices.ContainsFunc(inv, func(n nodes.Node) bool {
		return n.Why.State == nodes.Unfit && j.Place.On(n.Name) > 0
	})
}

// most is the largest placement the job can have of what is free.
func most(inv []nodes.Node, j elastic.Job) nodes.Placement {
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
