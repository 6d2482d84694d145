package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/policytest"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// at reads a placement as written by hand: "n1:4+n2:2", "-" for none.
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

// rack returns four nodes of four GPUs with jobs on them; "-" waits.
func rack(t testing.TB, jobs ...string) elastic.Snapshot {
	s := elastic.Snapshot{Now: noon}
	for _, name := range []string{"n1", "n2", "n3", "n4"} {
		s.Nodes = append(s.Nodes, nodes.Node{Name: name, GPUs: 4, Usable: true, Partitions: []string{"gpu"}})
	}
	for i, where := range jobs {
		j := elastic.Job{ID: elastic.JobID(i + 1), Partition: "gpu", Spec: elastic.Spec{Min: 1}, Phase: elastic.Waiting, Place: at(t, where)}
		if len(j.Place) > 0 {
			j.Phase = elastic.Running
		}
		s.Nodes = nodes.With(s.Nodes, nodes.Load{Place: j.Place})
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

// moveCase is where jobs are and where they are to be, which of them can move in which order,
// which cannot have their place, and which wait for each other in a circle.
type moveCase struct {
	name                        string
	are, to                     []string
	change                      func(*elastic.Snapshot)
	order, impossible, circular string
}

func TestPossible(t *testing.T) {
	for _, c := range []moveCase{
		{name: "a chain", are: []string{"n1:4", "n2:4", "n3:4"}, to: []string{"n2:4", "n3:4", "n4:4"}, order: "[3 2 1]"},
		{name: "a swap", are: []string{"n1:4", "n2:4"}, to: []string{"n2:4", "n1:4"}, circular: "[1 2]"},
		{name: "a swap with room to spare", are: []string{"n1:2", "n2:2"}, to: []string{"n2:2", "n1:2"}, order: "[1 2]"},
		{name: "a swap that one of them breaks", are: []string{"n1:4", "n2:4"}, to: []string{"n2:2", "n1:1"}, circular: "[1 2]"},
		{name: "a job that waits for a circle", are: []string{"n1:4", "n2:4", "-"}, to: []string{"n2:4", "n1:2", "n1:2"}, circular: "[1 2 3]"},
		{name: "a job that does not", are: []string{"n1:4", "n2:4", "-"}, to: []string{"n2:4", "n1:4", "n3:2"}, order: "[3]", circular: "[1 2]"},
		{name: "stopping one opens the circle", are: []string{"n1:4", "n2:4", "n3:4"}, to: []string{"n2:4", "n1:4", "-"}, order: "[3]", circular: "[1 2]"},
		{name: "stopping one of them does", are: []string{"n1:4", "n2:4"}, to: []string{"n2:4", "-"}, order: "[2 1]"},
		{name: "a starting job goes first", are: []string{"n1:4", "n2:4", "-"}, to: []string{"n4:4", "n1:4", "n3:4"}, order: "[3 1 2]"},
		{name: "unless that would keep others from going", are: []string{"n1:4", "n2:2", "-"}, to: []string{"n2:2", "n1:4", "n2:2"}, order: "[1 2 3]"},
		{name: "two on the same", are: []string{"-", "-"}, to: []string{"n1:3", "n1:3"}, order: "[1]", impossible: "[2]"},
		{name: "one refused keeps others out", are: []string{"n1:4", "-"}, to: []string{"n2:5", "n1:2"}, impossible: "[1 2]"},
		{name: "uneven without leave", are: []string{"-"}, to: []string{"n1:4+n2:1"}, impossible: "[1]"},
		{name: "uneven where Slurm takes all splits", are: []string{"-"}, to: []string{"n1:1+n2:3"}, change: func(s *elastic.Snapshot) { s.Limits.Placement = policytest.AnySplit }, order: "[1]"},
		{name: "uneven as Slurm fills", are: []string{"-"}, to: []string{"n1:4+n2:1"}, change: func(s *elastic.Snapshot) { s.Jobs[0].Spec.AllowUneven = true }, order: "[1]"},
		{name: "uneven as Slurm does not fill", are: []string{"-"}, to: []string{"n1:1+n2:4"}, change: func(s *elastic.Snapshot) { s.Jobs[0].Spec.AllowUneven = true }, circular: "[1]"},
		{name: "uneven once another has come", are: []string{"-", "-"}, to: []string{"n1:3+n2:2", "n1:1"}, change: func(s *elastic.Snapshot) { s.Jobs[0].Spec.AllowUneven = true }, order: "[2 1]"},
		{name: "a node that cannot be used", are: []string{"-"}, to: []string{"n1:1"}, change: func(s *elastic.Snapshot) { s.Nodes[0].Usable = false }, impossible: "[1]"},
		{name: "another partition", are: []string{"-"}, to: []string{"n1:1"}, change: func(s *elastic.Snapshot) { s.Jobs[0].Partition = "cpu,fast" }, impossible: "[1]"},
		{name: "a node twice, and one that is not there", are: []string{"-", "-"}, to: []string{"n1:1+n1:1", "n9:1"}, impossible: "[1 2]"},
		{name: "no CPUs", are: []string{"-"}, to: []string{"n1:2"}, change: func(s *elastic.Snapshot) { s.Nodes[0].CPUs, s.Jobs[0].Spec.CPUsPerGPU = 3, 2 }, impossible: "[1]"},
		{name: "no memory", are: []string{"-"}, to: []string{"n1:2"}, change: func(s *elastic.Snapshot) { s.Nodes[0].MemoryMB, s.Jobs[0].Spec.MemPerGPUMB = 3, 2 }, impossible: "[1]"},
		{name: "two that span meet", are: []string{"n1:2+n2:2", "-"}, to: []string{"n1:2+n2:2", "n2:2+n3:2"}, impossible: "[2]"},
		{name: "two that span may meet", are: []string{"n1:2+n2:2", "-"}, to: []string{"n1:2+n2:2", "n2:2+n3:2"}, change: func(s *elastic.Snapshot) { s.Limits.ShareNodes = true }, order: "[2]"},
		{name: "one that spans meets one that does not", are: []string{"n1:2+n2:2", "-"}, to: []string{"n1:2+n2:2", "n2:2"}, order: "[2]"},
		{name: "two that span and met already", are: []string{"n1:1+n2:1", "n1:1+n4:1"}, to: []string{"n1:1+n3:1", "n1:1+n4:1"}, order: "[1]"},
		{name: "one that spans waits for another to leave", are: []string{"n1:2+n2:2", "-"}, to: []string{"n1:2", "n2:2+n3:2"}, order: "[1 2]"},
		{name: "one that spans and starts waits for another to leave", are: []string{"n1:2+n2:2", "-"}, to: []string{"n4:4", "n2:2+n3:2"}, order: "[1 2]"},
		{name: "two that span and swap", are: []string{"n1:2+n2:2", "n3:2+n4:2"}, to: []string{"n3:2+n4:2", "n1:2+n2:2"}, circular: "[1 2]"},
		{name: "a job in motion is left to it", are: []string{"n1:2", "-"}, to: []string{"n3:2", "n2:4"}, change: func(s *elastic.Snapshot) {
			s.Intents = []elastic.Intent{{Job: 1, Kind: elastic.Resize, Target: nodes.Placement{{Node: "n2", GPUs: 2}}}}
		}, impossible: "[2]"},
		{name: "a job its user holds", are: []string{"n1:2"}, to: []string{"n3:2"}, change: func(s *elastic.Snapshot) { s.Jobs[0].UserHold = true }},
		{name: "out of order", are: []string{"n1:2+n2:2", "-"}, to: []string{"n2:2+n1:2", "n4:1+n3:1"}, order: "[2]"},
	} {
		c.check(t)
	}
}

// TestPossibleAtTheBounds: nodes with exactly enough, or one too few, of each resource.
func TestPossibleAtTheBounds(t *testing.T) {
	for _, c := range []moveCase{
		{name: "a single CPU", are: []string{"-"}, to: []string{"n1:2"}, change: func(s *elastic.Snapshot) { s.Nodes[0].CPUs, s.Jobs[0].Spec.CPUsPerGPU = 1, 1 }, impossible: "[1]"},
		{name: "a single megabyte", are: []string{"-"}, to: []string{"n1:2"}, change: func(s *elastic.Snapshot) { s.Nodes[0].MemoryMB, s.Jobs[0].Spec.MemPerGPUMB = 1, 1 }, impossible: "[1]"},
		{name: "memory that no job asks for", are: []string{"-"}, to: []string{"n1:2"}, change: func(s *elastic.Snapshot) { s.Nodes[0].MemoryMB, s.Nodes[0].MemUsedMB = 1, 2 }, order: "[1]"},
		{name: "it stays where others use too many CPUs", are: []string{"n1:2+n2:2"}, to: []string{"n1:2+n3:2"}, change: func(s *elastic.Snapshot) { s.Nodes[0].CPUs, s.Nodes[0].CPUsUsed, s.Jobs[0].Spec.CPUsPerGPU = 2, 4, 1 }, order: "[1]"},
		{name: "just enough", are: []string{"-"}, to: []string{"n1:2"}, change: func(s *elastic.Snapshot) {
			s.Nodes[0].CPUs, s.Nodes[0].MemoryMB, s.Jobs[0].Spec.CPUsPerGPU, s.Jobs[0].Spec.MemPerGPUMB = 4, 4, 2, 2
		}, order: "[1]"},
		// Job 2 must come before job 1 and before job 3, whatever the order that is tried.
		{name: "uneven on either side of another", are: []string{"-", "-", "-"}, to: []string{"n1:3+n2:2", "n1:1+n3:1", "n3:3+n4:2"}, change: func(s *elastic.Snapshot) {
			s.Limits.ShareNodes, s.Jobs[0].Spec.AllowUneven, s.Jobs[2].Spec.AllowUneven = true, true, true
		}, order: "[2 3 1]"},
	} {
		c.check(t)
	}
}

func (c moveCase) check(t *testing.T) {
	t.Helper()
	s := rack(t, c.are...)
	if c.change != nil {
		c.change(&s)
	}
	to := map[elastic.JobID]nodes.Placement{}
	for i, where := range c.to {
		to[elastic.JobID(i+1)] = at(t, where)
	}
	p := plan.Possible(s, to)
	for _, x := range []struct {
		what string
		got  []elastic.JobID
		want string
	}{{"order", p.Order, c.order}, {"impossible", p.Impossible, c.impossible}, {"in a circle", p.Circular, c.circular}} {
		if got := fmt.Sprint(x.got); got != x.want && (x.want != "" || got != "[]") {
			t.Errorf("%s: %s %s, want %s", c.name, x.what, got, x.want)
		}
	}
}

// Two chains on separate nodes, of the same moves in opposite order: an uneven job waits until
// another has arrived (on n1, n3), one waits for the GPUs it leaves (on n5, n7), and one for
// the red GPUs that this leaves. In any order that is tried, each moves once.
func TestUnevenInTheMidstOfAChain(t *testing.T) {
	s := elastic.Snapshot{Now: noon, Limits: elastic.Limits{ShareNodes: true}}
	for i := range 8 {
		n := nodes.Node{Name: fmt.Sprintf("n%d", i+1), GPUs: 4, Usable: true, Partitions: []string{"gpu"}}
		if i == 0 || i == 2 {
			n.Types = []nodes.OfType{{Type: "blue", GPUs: 2}, {Type: "red", GPUs: 2}}
		}
		if i == 1 || i == 3 {
			n.GPUs = 8
		}
		s.Nodes = append(s.Nodes, n)
	}
	to := map[elastic.JobID]nodes.Placement{}
	for i, m := range []struct{ from, to, kind string }{
		{"n5:4", "n1:1+n2:4", ""}, {"n6:1", "n1:1", ""}, {"n1:2", "n5:2", "red"}, {"-", "n1:1", "red"},
		{"-", "n3:1", "red"}, {"n3:2", "n7:2", "red"}, {"n8:1", "n3:1", ""}, {"n7:4", "n3:1+n4:4", ""},
	} {
		j := elastic.Job{ID: elastic.JobID(i + 1), Partition: "gpu", Spec: elastic.Spec{Min: 1, AllowUneven: true}, Phase: elastic.Waiting, Place: at(t, m.from)}
		if m.kind != "" {
			j.Spec.Types = []string{m.kind}
		}
		if len(j.Place) > 0 {
			j.Phase = elastic.Running
			take(&s, j, j.Place, 1)
		}
		s.Jobs, to[j.ID] = append(s.Jobs, j), at(t, m.to)
	}
	if p := plan.Possible(s, to); len(p.Order) != 8 || len(p.Impossible)+len(p.Circular) > 0 {
		t.Errorf("%+v", p)
	}
}

// Jobs 2 and 3 can start as long as 1 and 4 have not left, which they do first if the queue is
// tried in the order of the jobs, and in the opposite one: the order that was tried before both
// is kept. 5 and 6 block each other in any order.
func TestBestOrderIsKept(t *testing.T) {
	s := elastic.Snapshot{Now: noon}
	for i := range 8 {
		s.Nodes = append(s.Nodes, nodes.Node{Name: fmt.Sprintf("n%d", i+1), GPUs: 4, Usable: true, Partitions: []string{"gpu"}})
	}
	to := map[elastic.JobID]nodes.Placement{}
	for i, m := range []struct{ from, to string }{{"n1:1", "n5:1"}, {"-", "n1:3+n2:2"}, {"-", "n3:3+n4:2"}, {"n3:1", "n6:1"}, {"n7:4", "n8:4"}, {"n8:4", "n7:4"}} {
		j := elastic.Job{ID: elastic.JobID(i + 1), Partition: "gpu", Spec: elastic.Spec{Min: 1, AllowUneven: true}, Phase: elastic.Waiting, Place: at(t, m.from)}
		if len(j.Place) > 0 {
			j.Phase = elastic.Running
			take(&s, j, j.Place, 1)
		}
		s.Jobs, to[j.ID] = append(s.Jobs, j), at(t, m.to)
	}
	if p := plan.Possible(s, to); fmt.Sprint(p.Order, p.Circular, p.Impossible) != "[2 3 1 4] [5 6] []" {
		t.Errorf("%+v", p)
	}
}

// A job that gives GPUs back and cannot keep as many as decided keeps fewer, on its own nodes,
// or has a reason why it stays.
func TestArrangeShrinks(t *testing.T) {
	for _, c := range []struct {
		name   string
		are    []string
		gpus   int
		change func(*elastic.Snapshot)
		want   string
	}{
		{"as many as decided", []string{"n1:2+n2:2+n3:2"}, 4, nil, "n1:4"},
		{"evenly, beside others", []string{"n1:2+n2:2+n3:2", "n1:2", "n2:2", "n3:2"}, 4, nil, "n1:2+n2:2"},
		{"fewer, for five are no even split", []string{"n1:2+n2:2+n3:2", "n1:2", "n2:2", "n3:2"}, 5, nil, "n1:2+n2:2"},
		{"one, for two would meet others", []string{"n1:1+n2:1+n3:1", "n1:3", "n2:3", "n3:3"}, 2, func(s *elastic.Snapshot) { s.Nodes[1].Spanning++; s.Nodes[2].Spanning++ }, "n1:1"},
		{"on the first of its nodes, whatever their order", []string{"n2:2+n1:2"}, 2, nil, "n1:2"},
		{"what it has on a node that is drained", []string{"n1:2+n2:2"}, 2, func(s *elastic.Snapshot) { s.Nodes[0].Usable, s.Nodes[1].Usable = false, false }, "n1:2"},
		{"not at all", []string{"n1:2+n2:2", "n1:2", "n2:2"}, 3, func(s *elastic.Snapshot) { s.Jobs[0].Directive.Pin = 3 }, "was to give back 1 GPUs, but no split of the rest on its own nodes is possible"},
	} {
		s := rack(t, c.are...)
		if c.change != nil {
			c.change(&s)
		}
		where := plan.Arrange(s, elastic.Allocation{1: {GPUs: c.gpus, Why: reason.Pinned}})
		got := sentence(where.Unplaced[1])
		if got == "" {
			got = where.Target[1].String()
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// A place of another size than decided is ignored: a place of that size is searched.
func TestArrangeTakesNoPlaceOfAnotherSize(t *testing.T) {
	where := plan.Arrange(rack(t, "-", "-"), elastic.Allocation{1: {GPUs: 2, Place: at(t, "n4:4")}, 2: {GPUs: 0, Place: at(t, "n3:1")}})
	if where.Target[1].String() != "n1:2" || len(where.Target[2]) > 0 || len(where.Order) != 1 {
		t.Errorf("%+v", where)
	}
}

// A job that starts and finds no place after a larger one is tried before it.
func TestArrangeTriesUnplacedJobsFirst(t *testing.T) {
	s := rack(t, "-", "-", "n2:1", "n3:1")
	s.Nodes[0].Usable, s.Nodes[3].Usable = false, false
	s.Nodes[1].Partitions, s.Jobs[1].Partition = []string{"gpu", "fast"}, "fast"
	where := plan.Arrange(s, elastic.Allocation{1: {GPUs: 3}, 2: {GPUs: 2}})
	if where.Target[1].String() != "n3:3" || where.Target[2].String() != "n2:2" {
		t.Errorf("%+v", where)
	}
}

// A decision that names partitions puts the job into them, and does not change the caller's
// snapshot.
func TestArrangeWithinPartitions(t *testing.T) {
	s := rack(t, "-", "n1:2")
	s.Nodes[3].Partitions = []string{"big"}
	where := plan.Arrange(s, elastic.Allocation{1: {GPUs: 4, Within: "big"}, 2: {GPUs: 2, Within: "cpu,big"}})
	if where.Target[1].String() != "n4:4" || s.Jobs[0].Partition != "gpu" || s.Jobs[1].Partition != "gpu" {
		t.Errorf("%+v, %+v", where, s.Jobs)
	}
	where = plan.Arrange(s, elastic.Allocation{2: {GPUs: 2, Within: "cpu,big"}})
	if where.Target[2].String() != "n4:2" {
		t.Errorf("it runs in none of them: %+v", where)
	}
}

// What a job that is about to start will take of a node is not available to others, and is
// counted once: its GPUs, one CPU if it requests none, and the node's one place for a job on
// several nodes.
func TestArrangeKeepsWhatIsPromised(t *testing.T) {
	for _, c := range []struct {
		name     string
		are      string
		promised string
		change   func(*elastic.Snapshot)
		gpus     int
		want     string
	}{
		{"its GPUs", "-", "n1:3", nil, 2, "n2:2"},
		{"what is left of them", "-", "n1:3", nil, 1, "n1:1"},
		{"one CPU", "-", "n1:1", func(s *elastic.Snapshot) { s.Nodes[0].CPUs = 1 }, 1, "n2:1"},
		{"one CPU of two", "-", "n1:1", func(s *elastic.Snapshot) { s.Nodes[0].CPUs = 2 }, 3, "n1:3"},
		{"no CPU more where it is already", "n1:1", "n1:2", func(s *elastic.Snapshot) { s.Nodes[0].CPUs, s.Nodes[0].CPUsUsed = 2, 1 }, 2, "n1:2"},
		{"CPUs of what it takes more", "n1:1", "n1:2", func(s *elastic.Snapshot) {
			s.Nodes[0].CPUs, s.Nodes[0].CPUsUsed, s.Jobs[0].Spec.CPUsPerGPU = 5, 2, 2
		}, 2, "n1:2"},
		{"its memory", "-", "n1:1", func(s *elastic.Snapshot) {
			s.Nodes[0].MemoryMB, s.Jobs[0].Spec.MemPerGPUMB, s.Jobs[1].Spec.MemPerGPUMB = 2, 1, 1
		}, 2, "n2:2"},
		{"what is left of the memory", "-", "n1:1", func(s *elastic.Snapshot) {
			s.Nodes[0].MemoryMB, s.Jobs[0].Spec.MemPerGPUMB, s.Jobs[1].Spec.MemPerGPUMB = 2, 1, 1
		}, 1, "n1:1"},
		{"it spans nodes", "-", "n1:2+n2:2", nil, 8, "n3:4+n4:4"},
		{"it spans nodes, and takes no GPU more on one", "n1:2", "n1:2+n2:2", nil, 4, "n3:4"},
		{"beside one that spans nodes", "n1:2+n2:2", "n1:2+n2:1", func(s *elastic.Snapshot) { s.Jobs[0].Spec.AllowUneven = true }, 8, "n3:4+n4:4"},
	} {
		s := rack(t, c.are, "-")
		if c.change != nil {
			c.change(&s)
		}
		s.Intents = []elastic.Intent{{Job: 1, Kind: elastic.Resize, From: s.Jobs[0].Place, Target: at(t, c.promised)}}
		if got := plan.Arrange(s, elastic.Allocation{2: {GPUs: c.gpus, Why: reason.Pinned}}).Target[2].String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Jobs that give GPUs back break a circle; a job of it that neither gives back nor starts
// stays.
func TestArrangeAvoidsCircles(t *testing.T) {
	s := rack(t, "n1:4", "n2:4", "n3:4", "n4:4", "-")
	a := elastic.Allocation{
		1: {GPUs: 4, Place: at(t, "n2:4")}, 2: {GPUs: 4, Place: at(t, "n1:4")},
		3: {GPUs: 2, Place: at(t, "n4:2")}, 4: {GPUs: 2, Place: at(t, "n3:2")}, 5: {GPUs: 2, Place: at(t, "n3:2")},
	}
	where := plan.Arrange(s, a)
	for id, want := range map[elastic.JobID]string{1: "n1:4", 2: "n2:4", 3: "n3:2", 4: "n4:2", 5: "n3:2"} {
		if got := where.Target[id].String(); got != want {
			t.Errorf("job %d: %s, want %s (%s)", id, got, want, reason.String(where.Unplaced[id]))
		}
	}
	p := plan.Reconcile(s, a, where)
	if len(p.Open) != 2 || p.Open[0].Job != 3 || p.Open[1].Job != 4 {
		t.Errorf("opened %+v", p.Open)
	}
	if why := sentence(p.Reasons[0].Why); !strings.Contains(why, "circle") {
		t.Errorf("job 1: %s", why)
	}
}

func TestArrangeStopsJobsOnlyWhereAllowed(t *testing.T) {
	s := rack(t, "n1:4", "-")
	a := elastic.Allocation{1: {Why: reason.Text{Text: "others are shorter"}}, 2: {GPUs: 4, Place: at(t, "n1:4")}}
	if where := plan.Arrange(s, a); len(where.Park) > 0 || where.Target[1].String() != "n1:4" || where.Target[2].String() != "n2:4" {
		t.Errorf("not allowed: %+v", where)
	}
	s.Limits.Preempt = true
	where := plan.Arrange(s, a)
	p := plan.Reconcile(s, a, where)
	if !where.Park[1] || where.Target[2].String() != "n1:4" || len(p.Open) != 1 || p.Open[0].Kind != elastic.Park {
		t.Errorf("allowed: %+v, %+v", where, p)
	}
	if why := sentence(p.Reasons[1].Why); !strings.Contains(why, "waits for GPUs on n1:4") {
		t.Errorf("job 2: %s", why)
	}
	delete(a, 1)
	if where := plan.Arrange(s, a); len(where.Park) > 0 {
		t.Errorf("not named: %+v", where)
	}
}

// BenchmarkArrangeNamed: ten thousand jobs are given places on 12,500 nodes, every second one a
// new place.
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
		if i%2 == 0 && i > 0 { // a chain of moves to each other's nodes
			p = nodes.Placement{{Node: s.Nodes[i-2].Name, GPUs: 8}}
		} else if i == 0 {
			p = nodes.Placement{{Node: s.Nodes[count-1].Name, GPUs: 8}}
		}
		a[elastic.JobID(i)] = elastic.Decision{GPUs: 8, Place: p}
	}
	b.Run("arrange", func(b *testing.B) {
		for b.Loop() {
			plan.Arrange(s, a)
		}
	})
	where := plan.Arrange(s, a)
	b.Run("reconcile", func(b *testing.B) {
		for b.Loop() {
			plan.Reconcile(s, a, where)
		}
	})
}
