package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/policytest"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// drawnWorlds is how many clusters the golden file has.
const drawnWorlds = 600

// drawn is a cluster and a policy's decisions for it.
type drawn struct {
	s elastic.Snapshot
	a elastic.Allocation
}

// TestArrangementsAsBefore pins the arrangements of some hundred drawn clusters: the place of
// each job, which are parked, which find no place, and the order of the moves. A change here is
// a change of decisions: read it, then -update.
func TestArrangementsAsBefore(t *testing.T) {
	var b strings.Builder
	for name, world := range map[string]*rapid.Generator[drawn]{
		"any": rapid.Custom(func(t *rapid.T) drawn {
			s, a := drawWorld(t)
			return drawn{s, a}
		}),
		"full": rapid.Custom(drawFull),
	} {
		b.Reset()
		for seed := range drawnWorlds {
			w := world.Example(seed)
			fmt.Fprintf(&b, "%d:%s\n", seed, arranged(w.s, plan.Arrange(w.s, w.a)))
		}
		golden(t, "arrangements-"+name+".txt", b.String())
	}
}

// arranged returns an arrangement on one line.
func arranged(s elastic.Snapshot, where plan.Arrangement) string {
	var b strings.Builder
	for _, j := range s.Jobs {
		if to := where.Target[j.ID]; len(to) > 0 {
			fmt.Fprintf(&b, " %d %s", j.ID, to)
		}
		if where.Park[j.ID] {
			fmt.Fprintf(&b, " %d parked", j.ID)
		}
		if where.Unplaced[j.ID] != nil {
			fmt.Fprintf(&b, " %d short", j.ID)
		}
	}
	if len(where.Order) > 0 {
		fmt.Fprintf(&b, "; order %v", where.Order)
	}
	return b.String()
}

// drawFull draws a cluster on which running jobs have nearly all GPUs, and a policy that packs
// them anew: they exchange places, in chains and in circles. Some nodes are in a second
// partition, some jobs are to go there, and ordinary jobs wait.
func drawFull(t *rapid.T) drawn {
	s := elastic.Snapshot{Now: noon, Limits: elastic.Limits{Preempt: rapid.Bool().Draw(t, "preempt"), ShareNodes: rapid.Bool().Draw(t, "share nodes"), Placement: policytest.Placement(rapid.Bool().Draw(t, "any split"))}}
	many := rapid.IntRange(2, 5).Draw(t, "nodes")
	for i := range many {
		n := nodes.Node{Name: fmt.Sprintf("n%d", i+1), GPUs: 4, Usable: true, Partitions: []string{"gpu"}}
		if rapid.IntRange(0, 2).Draw(t, "second partition") == 0 {
			n.Partitions = append(n.Partitions, "big")
		}
		if rapid.IntRange(0, 2).Draw(t, "counted") == 0 {
			n.CPUs, n.MemoryMB = 9, 2600
		}
		s.Nodes = append(s.Nodes, n)
	}
	for id := 1; id <= 3*many; id++ {
		j := elastic.Job{ID: elastic.JobID(id), Phase: elastic.Waiting, Partition: "gpu", Spec: elastic.Spec{Min: 1, AllowUneven: rapid.Bool().Draw(t, "uneven"),
			CPUsPerGPU: rapid.IntRange(0, 2).Draw(t, "cpus"), MemPerGPUMB: int64(rapid.SampledFrom([]int{0, 600}).Draw(t, "memory"))}}
		if p := freePlace(s, j, rapid.IntRange(1, 5).Draw(t, "has")); p != nil && rapid.IntRange(0, 7).Draw(t, "waits") > 0 {
			take(&s, j, p, 1)
			j.Phase, j.Place = elastic.Running, p
		}
		if target := freePlace(s, j, rapid.IntRange(1, 6).Draw(t, "to have")); target != nil && rapid.IntRange(0, 5).Draw(t, "moves") == 0 {
			kind := elastic.Resize
			if j.Phase == elastic.Waiting {
				kind = elastic.Start
			}
			s.Intents = append(s.Intents, elastic.Intent{Job: j.ID, Kind: kind, From: j.Place, Target: target})
		}
		s.Jobs = append(s.Jobs, j)
	}
	a := elastic.Allocation{}
	empty := elastic.Snapshot{Limits: s.Limits}
	for _, n := range s.Nodes {
		n.Used, n.CPUsUsed, n.MemUsedMB = 0, 0, 0
		empty.Nodes = append(empty.Nodes, n)
	}
	for _, i := range rapid.Permutation(indices(len(s.Jobs))).Draw(t, "packed") {
		j := s.Jobs[i]
		size := max(1, j.GPUs()+rapid.SampledFrom([]int{-1, 0, 0, 0, 1}).Draw(t, "change"))
		d := elastic.Decision{GPUs: size, Why: reason.Pinned}
		if p := freePlace(empty, j, size); p != nil {
			take(&empty, j, p, 1)
			d.Place = p
		}
		switch rapid.IntRange(0, 11).Draw(t, "otherwise") {
		case 0:
			d.Place = nil
		case 1:
			d.Place, d.Within = nil, rapid.SampledFrom([]string{"big", "gpu", "big,gpu", "none"}).Draw(t, "within")
		case 2:
			d = elastic.Decision{Why: reason.Pinned}
		}
		a[j.ID] = d
	}
	for range rapid.IntRange(0, 2).Draw(t, "demands") {
		s.Demands = append(s.Demands, elastic.Demand{ID: 900, Partition: "gpu", Nodes: rapid.IntRange(1, 2).Draw(t, "on"), GPUs: rapid.IntRange(2, 6).Draw(t, "of")})
	}
	return drawn{s, a}
}

func indices(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}
