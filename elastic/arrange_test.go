package elastic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// at reads a placement as people write it: "n1:4+n2:2", "-" for none.
func at(t testing.TB, text string) nodes.Placement {
	t.Helper()
	if text == "-" {
		return nil
	}
	var p nodes.Placement
	for _, part := range strings.Split(text, "+") {
		node, gpus, _ := strings.Cut(part, ":")
		s := nodes.Share{Node: node}
		if _, err := fmt.Sscan(gpus, &s.GPUs); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		p = append(p, s)
	}
	return p
}

// rack is four nodes of four GPUs with jobs on them; "-" waits.
func rack(t testing.TB, jobs ...string) elastic.Snapshot {
	s := elastic.Snapshot{Now: noon}
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		s.Nodes = append(s.Nodes, nodes.Node{Name: name, GPUs: 4, Usable: true, Partitions: []string{"gpu"}})
	}
	for i, where := range jobs {
		j := elastic.Job{ID: elastic.JobID(i + 1), Partition: "gpu", Spec: elastic.Spec{Min: 1}, Phase: elastic.Held, Place: at(t, where)}
		if len(j.Place) > 0 {
			j.Phase = elastic.Running
		}
		s.Nodes = nodes.With(s.Nodes, nodes.Load{Place: j.Place})
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func TestPossible(t *testing.T) {
	for _, c := range []struct {
		name             string
		are, to          []string
		change           func(*elastic.Snapshot)
		order, full, not string
	}{
		{name: "a chain", are: []string{"n1:4", "n2:4", "n3:4"}, to: []string{"n2:4", "n3:4", "n4:4"}, order: "[3 2 1]"},
		{name: "a swap", are: []string{"n1:4", "n2:4"}, to: []string{"n2:4", "n1:4"}, not: "[1 2]"},
		{name: "a swap with room to spare", are: []string{"n1:2", "n2:2"}, to: []string{"n2:2", "n1:2"}, order: "[1 2]"},
		{name: "a swap that one of them breaks", are: []string{"n1:4", "n2:4"}, to: []string{"n2:2", "n1:1"}, not: "[1 2]"},
		{name: "who depends on a circle", are: []string{"n1:4", "n2:4", "-"}, to: []string{"n2:4", "n1:2", "n1:2"}, not: "[1 2 3]"},
		{name: "who does not", are: []string{"n1:4", "n2:4", "-"}, to: []string{"n2:4", "n1:4", "n3:2"}, order: "[3]", not: "[1 2]"},
		{name: "stopping one opens the circle", are: []string{"n1:4", "n2:4", "n3:4"}, to: []string{"n2:4", "n1:4", "-"}, order: "[3]", not: "[1 2]"},
		{name: "stopping one of them does", are: []string{"n1:4", "n2:4"}, to: []string{"n2:4", "-"}, order: "[2 1]"},
		{name: "who starts goes first", are: []string{"n1:4", "n2:4", "-"}, to: []string{"n4:4", "n1:4", "n3:4"}, order: "[3 1 2]"},
		{name: "unless that would keep others from going", are: []string{"n1:4", "n2:2", "-"}, to: []string{"n2:2", "n1:4", "n2:2"}, order: "[1 2 3]"},
		{name: "two on the same", are: []string{"-", "-"}, to: []string{"n1:3", "n1:3"}, order: "[1]", full: "[2]"},
		{name: "one refused keeps others out", are: []string{"n1:4", "-"}, to: []string{"n2:5", "n1:2"}, full: "[1 2]"},
		{name: "uneven without leave", are: []string{"-"}, to: []string{"n1:4+n2:1"}, full: "[1]"},
		{name: "uneven where Slurm takes all splits", are: []string{"-"}, to: []string{"n1:1+n2:3"}, change: func(s *elastic.Snapshot) { s.Limits.AnySplit = true }, order: "[1]"},
		{name: "uneven as Slurm fills", are: []string{"-"}, to: []string{"n1:4+n2:1"}, change: func(s *elastic.Snapshot) { s.Jobs[0].Spec.AllowUneven = true }, order: "[1]"},
		{name: "uneven as Slurm does not fill", are: []string{"-"}, to: []string{"n1:1+n2:4"}, change: func(s *elastic.Snapshot) { s.Jobs[0].Spec.AllowUneven = true }, not: "[1]"},
		{name: "uneven once another has come", are: []string{"-", "-"}, to: []string{"n1:3+n2:2", "n1:1"}, change: func(s *elastic.Snapshot) { s.Jobs[0].Spec.AllowUneven = true }, order: "[2 1]"},
		{name: "a node that cannot be used", are: []string{"-"}, to: []string{"n1:1"}, change: func(s *elastic.Snapshot) { s.Nodes[0].Usable = false }, full: "[1]"},
		{name: "another partition", are: []string{"-"}, to: []string{"n1:1"}, change: func(s *elastic.Snapshot) { s.Jobs[0].Partition = "cpu,fast" }, full: "[1]"},
		{name: "a node twice, and one that is not there", are: []string{"-", "-"}, to: []string{"n1:1+n1:1", "n9:1"}, full: "[1 2]"},
		{name: "no CPUs", are: []string{"-"}, to: []string{"n1:2"}, change: func(s *elastic.Snapshot) { s.Nodes[0].CPUs, s.Jobs[0].Spec.CPUsPerGPU = 3, 2 }, full: "[1]"},
		{name: "no memory", are: []string{"-"}, to: []string{"n1:2"}, change: func(s *elastic.Snapshot) { s.Nodes[0].MemoryMB, s.Jobs[0].Spec.MemPerGPUMB = 3, 2 }, full: "[1]"},
		{name: "two that span meet", are: []string{"n1:2+n2:2", "-"}, to: []string{"n1:2+n2:2", "n2:2+n3:2"}, full: "[2]"},
		{name: "two that span may meet", are: []string{"n1:2+n2:2", "-"}, to: []string{"n1:2+n2:2", "n2:2+n3:2"}, change: func(s *elastic.Snapshot) { s.Limits.ShareNodes = true }, order: "[2]"},
		{name: "one that spans meets one that does not", are: []string{"n1:2+n2:2", "-"}, to: []string{"n1:2+n2:2", "n2:2"}, order: "[2]"},
		{name: "one that spans waits for another to leave", are: []string{"n1:2+n2:2", "-"}, to: []string{"n1:2", "n2:2+n3:2"}, order: "[1 2]"},
		{name: "one that spans and starts waits for another to leave", are: []string{"n1:2+n2:2", "-"}, to: []string{"n4:4", "n2:2+n3:2"}, order: "[1 2]"},
		{name: "two that span and swap", are: []string{"n1:2+n2:2", "n3:2+n4:2"}, to: []string{"n3:2+n4:2", "n1:2+n2:2"}, not: "[1 2]"},
		{name: "a job in motion is left to it", are: []string{"n1:2", "-"}, to: []string{"n3:2", "n2:4"}, change: func(s *elastic.Snapshot) {
			s.Intents = []elastic.Intent{{Job: 1, Kind: elastic.Resize, Target: nodes.Placement{{Node: "n2", GPUs: 2}}}}
		}, full: "[2]"},
		{name: "a job its user holds", are: []string{"n1:2"}, to: []string{"n3:2"}, change: func(s *elastic.Snapshot) { s.Jobs[0].UserHold = true }},
		{name: "out of order", are: []string{"n1:2+n2:2", "-"}, to: []string{"n2:2+n1:2", "n4:1+n3:1"}, order: "[2]"},
	} {
		s := rack(t, c.are...)
		if c.change != nil {
			c.change(&s)
		}
		to := map[elastic.JobID]nodes.Placement{}
		for i, where := range c.to {
			to[elastic.JobID(i+1)] = at(t, where)
		}
		p := elastic.Possible(s, to)
		for _, x := range []struct {
			what string
			got  []elastic.JobID
			want string
		}{{"order", p.Order, c.order}, {"full", p.Full, c.full}, {"stuck", p.Stuck, c.not}} {
			if got := fmt.Sprint(x.got); got != x.want && (x.want != "" || got != "[]") {
				t.Errorf("%s: %s %s, want %s", c.name, x.what, got, x.want)
			}
		}
	}
}

// A circle is broken by those who give back; who neither gives nor starts stays.
func TestArrangeLetsNobodyWaitInACircle(t *testing.T) {
	s := rack(t, "n1:4", "n2:4", "n3:4", "n4:4", "-")
	a := elastic.Allocation{
		1: {GPUs: 4, Place: at(t, "n2:4")}, 2: {GPUs: 4, Place: at(t, "n1:4")},
		3: {GPUs: 2, Place: at(t, "n4:2")}, 4: {GPUs: 2, Place: at(t, "n3:2")}, 5: {GPUs: 2, Place: at(t, "n3:2")},
	}
	where := elastic.Arrange(s, a)
	for id, want := range map[elastic.JobID]string{1: "n1:4", 2: "n2:4", 3: "n3:2", 4: "n4:2", 5: "n3:2"} {
		if got := where.Target[id].String(); got != want {
			t.Errorf("job %d: %s, want %s (%s)", id, got, want, where.Unplaced[id])
		}
	}
	plan := elastic.Reconcile(s, a, where)
	if len(plan.Open) != 2 || plan.Open[0].Job != 3 || plan.Open[1].Job != 4 {
		t.Errorf("opened %+v", plan.Open)
	}
	if why := plan.Reasons[0].Why; !strings.Contains(why, "circle") {
		t.Errorf("job 1: %s", why)
	}
}

func TestArrangeStopsJobsOnlyWhereAllowed(t *testing.T) {
	s := rack(t, "n1:4", "-")
	a := elastic.Allocation{1: {Why: "others are shorter"}, 2: {GPUs: 4, Place: at(t, "n1:4")}}
	if where := elastic.Arrange(s, a); len(where.Park) > 0 || where.Target[1].String() != "n1:4" || where.Target[2].String() != "n2:4" {
		t.Errorf("not allowed: %+v", where)
	}
	s.Limits.Preempt = true
	where := elastic.Arrange(s, a)
	plan := elastic.Reconcile(s, a, where)
	if !where.Park[1] || where.Target[2].String() != "n1:4" || len(plan.Open) != 1 || plan.Open[0].Kind != elastic.Park {
		t.Errorf("allowed: %+v, %+v", where, plan)
	}
	if why := plan.Reasons[1].Why; !strings.Contains(why, "waits for GPUs on n1:4") {
		t.Errorf("job 2: %s", why)
	}
	delete(a, 1)
	if where := elastic.Arrange(s, a); len(where.Park) > 0 {
		t.Errorf("not named: %+v", where)
	}
}

// BenchmarkArrangeNamed: all of ten thousand jobs are given places on 12,500 nodes,
// every second one a new one.
func BenchmarkArrangeNamed(b *testing.B) {
	const jobs, count = 10000, 12500
	s := elastic.Snapshot{Now: noon}
	for i := range count {
		s.Nodes = append(s.Nodes, nodes.Node{Name: fmt.Sprintf("n%d", i), GPUs: 8, Usable: true, Partitions: []string{"gpu"}})
	}
	a := elastic.Allocation{}
	for i := range jobs {
		p := nodes.Placement{{Node: s.Nodes[i].Name, GPUs: 8}}
		s.Nodes[i].Used = 8
		s.Jobs = append(s.Jobs, elastic.Job{ID: elastic.JobID(i), Phase: elastic.Running, Partition: "gpu", Place: p, Spec: elastic.Spec{Min: 1}})
		if i%2 == 0 && i > 0 { // a chain of moves onto each other's nodes
			p = nodes.Placement{{Node: s.Nodes[i-2].Name, GPUs: 8}}
		} else if i == 0 {
			p = nodes.Placement{{Node: s.Nodes[count-1].Name, GPUs: 8}}
		}
		a[elastic.JobID(i)] = elastic.Decision{GPUs: 8, Place: p}
	}
	b.Run("arrange", func(b *testing.B) {
		for b.Loop() {
			elastic.Arrange(s, a)
		}
	})
	where := elastic.Arrange(s, a)
	b.Run("reconcile", func(b *testing.B) {
		for b.Loop() {
			elastic.Reconcile(s, a, where)
		}
	})
}
