package policy

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestPoolsKeepEachAdmission: a job goes to another pool only if every job that was admitted still is, and none that
// comes before it or has started loses its GPUs; more admitted jobs, or more jobs with GPUs, do not outweigh one.
func TestPoolsKeepEachAdmission(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	admitted, runs, none := elastic.Decision{GPUs: 1, Promised: true}, elastic.Decision{GPUs: 1}, elastic.Decision{}
	for _, c := range []struct {
		name       string
		dated      bool
		main, edge [3]elastic.Decision // of jobs 1 to 3, where job 2 is decided about in its first pool or at the edge
		moved      bool
	}{
		{"it is admitted", true, [3]elastic.Decision{admitted, none, none}, [3]elastic.Decision{admitted, admitted, none}, true},
		{"another is not any more", true, [3]elastic.Decision{admitted, none, none}, [3]elastic.Decision{none, admitted, admitted}, false},
		{"... although as many have GPUs", true, [3]elastic.Decision{admitted, none, none}, [3]elastic.Decision{runs, admitted, admitted}, false},
		{"it starts", false, [3]elastic.Decision{runs, none, none}, [3]elastic.Decision{runs, runs, none}, true},
		{"it starts, and an earlier one does not", false, [3]elastic.Decision{runs, none, none}, [3]elastic.Decision{none, runs, runs}, false},
		{"it starts before a later one", false, [3]elastic.Decision{runs, none, runs}, [3]elastic.Decision{runs, runs, none}, true},
		{"it starts, and an admission is lost", false, [3]elastic.Decision{admitted, none, none}, [3]elastic.Decision{runs, runs, admitted}, false},
	} {
		s := elastic.Snapshot{Now: now, Edges: map[string]bool{"lab@n2": true}, Nodes: []nodes.Node{
			{Name: "n1", Partitions: []string{"gpu"}, GPUs: 4, Usable: true}, {Name: "n2", Partitions: []string{"lab@n2"}, GPUs: 4, Usable: true},
		}}
		for id := elastic.JobID(1); id <= 3; id++ {
			j := elastic.Job{ID: id, Partition: "gpu", Phase: elastic.Waiting, Spec: elastic.Spec{Min: 1, Max: 1}}
			if id == 2 {
				if j.Partition = "gpu,lab@n2"; c.dated {
					j.Spec.Deadline = now.Add(time.Hour)
				}
			}
			s.Jobs = append(s.Jobs, j)
		}
		a := pooled(s, func(s elastic.Snapshot) elastic.Allocation {
			of := c.main
			if s.Jobs[1].Partition == "lab@n2" {
				of = c.edge
			}
			return elastic.Allocation{1: of[0], 2: of[1], 3: of[2]}
		}, func(*elastic.Job) bool { return true })
		if moved := a[2].Within == "lab@n2"; moved != c.moved {
			t.Errorf("%s: moved=%t", c.name, moved)
		}
	}
}

// TestQuestionsAboutScavengersAreBounded: where each answer of a policy stops another job, it is asked a fixed number
// of times, however many scavengers run.
func TestQuestionsAboutScavengersAreBounded(t *testing.T) {
	const most = 40
	g := &scavenging{}
	for i := range most {
		name := fmt.Sprint("n", i)
		g.s.Nodes = append(g.s.Nodes, nodes.Node{Name: name, Partitions: []string{"gpu"}, GPUs: 2, Used: 2, Usable: true})
		at := nodes.Placement{{Node: name, GPUs: 1}}
		for k, scavenger := range []bool{true, false} {
			g.s.Jobs = append(g.s.Jobs, elastic.Job{ID: elastic.JobID(2*i + k + 1), Partition: "gpu", Phase: elastic.Running, Place: at, Scavenger: scavenger, Speaks: true, Spec: elastic.Spec{Min: 1, Max: 2}})
		}
	}
	for i := range g.s.Jobs {
		if j := &g.s.Jobs[i]; j.Scavenger {
			g.runs = append(g.runs, j)
		} else {
			j.Partition = fmt.Sprint("p", j.ID)
			g.s.Nodes[i/2].Partitions = append(g.s.Nodes[i/2].Partitions, j.Partition)
		}
	}
	asked := 0
	g.ask = func(s elastic.Snapshot) elastic.Allocation {
		asked++
		a, gone := elastic.Allocation{}, most
		for _, j := range s.Jobs {
			a[j.ID] = elastic.Decision{GPUs: 1}
			if j.Scavenger {
				gone--
			}
		}
		if gone < most {
			a[elastic.JobID(2*gone+2)] = elastic.Decision{Leaves: true}
		}
		return a
	}
	a, parked := g.stop()
	if asked > stoppings+1 || !parked {
		t.Errorf("asked %d times, parked=%t", asked, parked)
	}
	for i := range g.s.Jobs {
		j := &g.s.Jobs[i]
		if d, named := a[j.ID]; !named || !j.Scavenger && d.GPUs == 0 {
			t.Errorf("job %d: %+v", j.ID, d)
		}
	}
}

// TestSettledOnlyWhereExceeded: after the last question each share is divided only if the answer exceeds one. Else a
// policy that decides otherwise about jobs which accept less would do so in turns, by how many questions it takes.
func TestSettledOnlyWhereExceeded(t *testing.T) {
	s := elastic.Snapshot{Nodes: []nodes.Node{{Name: "n1", Partitions: []string{"gpu"}, GPUs: 12, Used: 10, Usable: true}}}
	for id, gpus := range map[elastic.JobID]int{1: 5, 2: 4, 3: 1} {
		s.Jobs = append(s.Jobs, elastic.Job{ID: id, Partition: "gpu", Phase: elastic.Running, Speaks: true, Place: nodes.Placement{{Node: "n1", GPUs: gpus}}, Spec: elastic.Spec{Min: 1, AllowUneven: true}})
	}
	share := func(most int, jobs ...elastic.JobID) elastic.Cap {
		c := elastic.Cap{Name: "share", Of: elastic.GPUs, Most: most, Reclaims: true, Jobs: map[elastic.JobID]bool{}}
		for _, id := range jobs {
			c.Jobs[id] = true
		}
		return c
	}
	s.Caps = []elastic.Cap{share(7, 1), share(7, 2, 3)}
	for name, c := range map[string]struct {
		a       elastic.Allocation
		changed bool
	}{
		"within both":    {elastic.Allocation{1: {GPUs: 7}, 2: {GPUs: 4}, 3: {GPUs: 1}}, false},
		"beyond one":     {elastic.Allocation{1: {GPUs: 8}, 2: {GPUs: 3}, 3: {GPUs: 1}}, true},
		"beyond another": {elastic.Allocation{1: {GPUs: 4}, 2: {GPUs: 7}, 3: {GPUs: 1}}, true},
	} {
		b := newBounds(s, question{rigid: func(string) bool { return false }, few: fewShares})
		if got := b.tighten(c.a, questions); got != c.changed {
			t.Errorf("%s: changed=%t", name, got)
		}
	}
}

// TestIdleGPUsAreCountedAsLanes: a sweep should have as many further lanes as find idle GPUs, of the size, the
// partition and the types that they ask for.
func TestIdleGPUsAreCountedAsLanes(t *testing.T) {
	gpus := func(name, partition string, free int) nodes.Node {
		return nodes.Node{Name: name, Partitions: []string{partition}, GPUs: 8, Used: 8 - free, Usable: true, CPUs: 64}
	}
	for _, c := range []struct {
		name  string
		nodes []nodes.Node
		least int // GPUs of a lane
		runs  bool
		want  int
	}{
		{"a GPU each", []nodes.Node{gpus("n1", "gpu", 3)}, 1, false, 3},
		{"4 GPUs each", []nodes.Node{gpus("n1", "gpu", 8)}, 4, false, 2},
		{"... and some run", []nodes.Node{gpus("n1", "gpu", 8)}, 4, true, 3},
		{"on no node so many", []nodes.Node{gpus("n1", "gpu", 1), gpus("n2", "gpu", 1)}, 3, true, 1},
		{"in another partition", []nodes.Node{gpus("n1", "gpu", 1), gpus("n2", "lab", 8)}, 1, false, 1},
		{"no more than it wants", []nodes.Node{gpus("n1", "gpu", 8)}, 1, false, 5},
	} {
		s := elastic.Snapshot{Nodes: c.nodes, Sweeps: map[string]elastic.Sweep{"a": {Number: 1, Wants: 5}}}
		for id := range elastic.JobID(6) {
			j := elastic.Job{ID: id + 1, Partition: "gpu", Phase: elastic.Waiting, Speaks: true, UID: 5, Spec: elastic.Spec{Sweep: "a", Min: c.least, Max: c.least}}
			if c.runs && id == 0 {
				j.Phase, j.Place = elastic.Running, nodes.Placement{{Node: "n9", GPUs: c.least}}
			}
			s.Jobs = append(s.Jobs, j)
		}
		if l := newLaning(s, nil); l.fleets[0].target != c.want {
			t.Errorf("%s: %d lanes, want %d", c.name, l.fleets[0].target, c.want)
		}
	}
}

// TestNoStopWithoutAStart: while scavengers run that could be parked, an answer in which the policy stops jobs of
// others counts only if it starts a job that waits: else that job and the stopped one would run in turns.
func TestNoStopWithoutAStart(t *testing.T) {
	for name, c := range map[string]struct {
		stops elastic.Allocation // the answer of a policy that may stop jobs
		taken bool
	}{
		"it stops job 2 for the growth of job 3": {elastic.Allocation{2: {}, 3: {GPUs: 2}}, false},
		"it stops job 2 for job 4":               {elastic.Allocation{2: {}, 3: {GPUs: 1}, 4: {GPUs: 1}}, true},
		"it stops nothing":                       {elastic.Allocation{2: {GPUs: 1}, 3: {GPUs: 1}}, false},
	} {
		g := &scavenging{}
		g.s.Limits.Preempt = true
		g.s.Nodes = []nodes.Node{{Name: "n1", Partitions: []string{"gpu"}, GPUs: 2, Used: 2, Usable: true}, {Name: "n2", Partitions: []string{"low"}, GPUs: 1, Used: 1, Usable: true}}
		for id, node := range map[elastic.JobID]string{1: "n2", 2: "n1", 3: "n1", 4: ""} {
			j := elastic.Job{ID: id, Partition: "gpu", Phase: elastic.Running, Speaks: true, Spec: elastic.Spec{Min: 1, Max: 2}}
			if node == "" {
				j.Phase = elastic.Waiting
			} else {
				j.Place = nodes.Placement{{Node: node, GPUs: 1}}
			}
			if id == 1 {
				j.Scavenger, j.Partition = true, "low"
			}
			g.s.Jobs = append(g.s.Jobs, j)
		}
		for i := range g.s.Jobs {
			switch j := &g.s.Jobs[i]; j.ID {
			case 1:
				g.later = append(g.later, j)
			case 4:
				g.first = append(g.first, j)
			}
		}
		g.ask = func(s elastic.Snapshot) elastic.Allocation {
			a := elastic.Allocation{1: {GPUs: 1}, 2: {GPUs: 1}, 3: {GPUs: 1}, 4: {}}
			if s.Limits.Preempt {
				for id, d := range c.stops {
					a[id] = d
				}
			}
			return a
		}
		if a, _ := g.decide(); (a[4].GPUs > 0) != c.taken || (a[2].GPUs == 0) != c.taken {
			t.Errorf("%s: job 2 has %d GPUs, job 4 %d", name, a[2].GPUs, a[4].GPUs)
		}
	}
}
