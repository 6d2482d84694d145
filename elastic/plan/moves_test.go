package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/nodes"
)

// However many jobs a decision would move, at most as many started jobs are between two sizes
// at once as the site allows; only moves that were open before may exceed it.
func TestMovesAtOnceAreBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a := drawWorld(t)
		moving := func(ins []elastic.Intent) (n int) {
			for _, in := range ins {
				if in.Kind != elastic.Start {
					n++
				}
			}
			return n
		}
		where := plan.Arrange(s, a)
		opened := moving(plan.Reconcile(s, a, where).Open)
		if most := s.Limits.Moves; most > 0 && opened > 0 && moving(s.Intents)+opened > most {
			t.Fatalf("%d moves under way, %d opened, %d allowed\n%s", moving(s.Intents), opened, most, story(s, a, where))
		}
	})
}

// Three jobs would shrink, and one at a time may: one does, and none while an earlier move is
// open.
func TestOneMoveAtATime(t *testing.T) {
	on := func(node string, gpus int) nodes.Placement { return nodes.Placement{{Node: node, GPUs: gpus}} }
	s := elastic.Snapshot{Now: noon, Limits: elastic.Limits{Moves: 1}}
	a := elastic.Allocation{}
	where := plan.Arrangement{Target: map[elastic.JobID]nodes.Placement{}}
	for i, node := range []string{"n1", "n2", "n3"} {
		id := elastic.JobID(i + 1)
		s.Nodes = append(s.Nodes, nodes.Node{Name: node, GPUs: 4, Used: 4, Usable: true})
		s.Jobs = append(s.Jobs, elastic.Job{ID: id, Phase: elastic.Running, Place: on(node, 4), Spec: elastic.Spec{Min: 1, Max: 4}})
		a[id], where.Target[id], where.Order = elastic.Decision{GPUs: 2}, on(node, 2), append(where.Order, id)
	}
	if open := plan.Reconcile(s, a, where).Open; len(open) != 1 {
		t.Errorf("%d moves at once: %v", len(open), open)
	}
	s.Intents = []elastic.Intent{{Job: 3, Kind: elastic.Resize, Step: elastic.Asked, From: on("n3", 4), Target: on("n3", 2)}}
	if open := plan.Reconcile(s, a, where).Open; len(open) != 0 {
		t.Errorf("beside one on its way: %v", open)
	}
}

// Two jobs wait for the GPUs of a third that has yet to leave its node: what is free there now
// is given to exactly one of them.
func TestFreeGPUsArePromisedOnce(t *testing.T) {
	on := func(node string) nodes.Placement { return nodes.Placement{{Node: node, GPUs: 2}} }
	s := elastic.Snapshot{
		Now:   noon,
		Nodes: []nodes.Node{{Name: "n1", GPUs: 4, Used: 2, Usable: true, CPUs: 8, CPUsUsed: 2}, {Name: "n2", GPUs: 4, Usable: true, CPUs: 8}},
		Jobs: []elastic.Job{
			{ID: 1, Phase: elastic.Running, Place: on("n1"), Spec: elastic.Spec{Min: 2, Max: 2}},
			{ID: 2, Phase: elastic.Waiting, Spec: elastic.Spec{Min: 2, Max: 2}},
			{ID: 3, Phase: elastic.Waiting, Spec: elastic.Spec{Min: 2, Max: 2}},
		},
	}
	where := plan.Arrangement{
		Target: map[elastic.JobID]nodes.Placement{1: on("n2"), 2: on("n1"), 3: on("n1")},
		Order:  []elastic.JobID{2, 3, 1},
	}
	var opened []string
	for _, in := range plan.Reconcile(s, elastic.Allocation{}, where).Open {
		opened = append(opened, fmt.Sprintf("%s %d on %s", in.Kind, in.Job, in.Target))
	}
	if got, want := strings.Join(opened, ", "), "resize 1 on n2:2, start 2 on n1:2"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// What is due for a job is in every plan, unless the job moves already: a revival instead of
// any other move, a save unless another move of it saves.
func TestDueMovesAreInThePlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, a := drawWorld(t)
		where := plan.Arrange(s, a)
		planned := map[elastic.JobID]elastic.Kind{}
		for _, in := range plan.Reconcile(s, a, where).Open {
			planned[in.Job] = in.Kind
		}
		due := map[elastic.JobID]elastic.Kind{}
		for _, j := range s.Jobs {
			if kind := rapid.SampledFrom([]elastic.Kind{"", elastic.Clearing, elastic.Revival, elastic.Save}).Draw(t, "due"); kind != "" {
				due[j.ID] = kind
				s.Due = append(s.Due, elastic.Intent{Job: j.ID, Kind: kind})
			}
		}
		got := map[elastic.JobID]elastic.Kind{}
		for _, in := range plan.Reconcile(s, a, where).Open {
			if got[in.Job] != "" {
				t.Fatalf("job %d: %s and %s in one plan", in.Job, got[in.Job], in.Kind)
			}
			got[in.Job] = in.Kind
		}
		for _, j := range s.Jobs {
			want := due[j.ID]
			if want == "" || want == elastic.Save && planned[j.ID] != "" {
				want = planned[j.ID]
			}
			if _, moves := s.Intent(j.ID); moves {
				want = ""
			}
			if got[j.ID] != want {
				t.Fatalf("job %d: %q planned, %q due, %q in the plan, want %q", j.ID, planned[j.ID], due[j.ID], got[j.ID], want)
			}
		}
	})
}
