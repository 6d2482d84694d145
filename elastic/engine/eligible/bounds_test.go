package eligible

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestBillOf: a partition without weights bills one per CPU; with weights only what has one.
func TestBillOf(t *testing.T) {
	weights := []slurm.Weight{{Of: slurm.OfCPUs, N: 1}, {Of: slurm.OfMemory, N: .25}, {Of: slurm.OfNodes, N: 3}, {Of: slurm.OfGPUs, N: 4}, {Of: "gres/gpu:h100", N: 8}}
	all := elastic.Bill{CPU: 1, MB: .25, Node: 3, GPU: 4, Types: map[string]float64{"h100": 8}}
	largest, gres := all, all
	largest.Largest, gres.GRES = true, true
	for _, c := range []struct {
		name    string
		weights []slurm.Weight
		by      slurm.BillingRule
		want    elastic.Bill
	}{
		{"no weights", nil, slurm.BillSum, elastic.Bill{CPU: 1}},
		{"no weights, by the largest", nil, slurm.BillLargest, elastic.Bill{CPU: 1}},
		{"GPUs alone", weights[3:4], slurm.BillSum, elastic.Bill{GPU: 4, Types: map[string]float64{}}},
		{"the sum", weights, slurm.BillSum, all},
		{"the largest", weights, slurm.BillLargest, largest},
		{"the largest, and all GPUs", weights, slurm.BillLargestAndGRES, gres},
	} {
		if got := billOf(slurm.Partition{Weights: c.weights}, c.by); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestKeptFrom: a reservation keeps its nodes from jobs whose time limit reaches into it, from the moment
// that it does until the reservation ends; its own jobs have its nodes, from its start on.
func TestKeptFrom(t *testing.T) {
	const hour = time.Hour
	for _, c := range []struct {
		name    string
		own     string
		starts  time.Duration
		limit   time.Duration
		kept    bool
		only    bool
		waiting bool
		noLimit bool
	}{
		{"the limit ends when it starts", "", hour, hour, false, false, false, false},
		{"a moment later", "", hour, hour + 1, true, false, false, false},
		{"no limit", "", 1000 * hour, 0, true, false, false, true},
		{"it has started", "", -hour / 2, time.Second, true, false, false, false},
		{"its last moment", "", -hour + 1, time.Second, true, false, false, false},
		{"it has ended", "", -hour, time.Second, false, false, false, false},
		{"its own job, before it", "r", 1, hour, false, true, true, false},
		{"its own job, at its start", "r", 0, hour, false, true, false, false},
		{"its own job without a limit", "r", 0, 0, false, true, false, false},
		{"another's job", "s", hour, 2 * hour, true, false, false, false},
	} {
		l := slurm.Limits{
			Reserved:     map[slurm.JobID]string{1: c.own},
			Reservations: []slurm.Reservation{{Name: "r", Start: noon.Add(c.starts), End: noon.Add(c.starts + hour), Nodes: []string{"n1", "n2"}}},
		}
		k := keptFrom(l, 1, c.limit, noon)
		if k.nodes["n1"] != c.kept || k.nodes["n3"] || (k.only != nil) != c.only || k.waiting != c.waiting || (k.name == "") == (c.kept || c.only) {
			t.Errorf("%s: %+v", c.name, k)
		}
		if got := fmt.Sprintf("%+v", k.why); c.noLimit != (got != "" && reflect.ValueOf(k.why).FieldByName("NoLimit").Bool()) {
			t.Errorf("%s: because of %s", c.name, got)
		}
		for node, open := range map[string]bool{"n1": !c.kept && !c.waiting, "n3": !c.only} {
			if k.open(node) != open {
				t.Errorf("%s: it may use %s: %v", c.name, node, !open)
			}
		}
	}
}

// TestKeptNamesDiffer: jobs that different reservations concern share no virtual partition, whatever
// the reservations are called: each may use other nodes.
func TestKeptNamesDiffer(t *testing.T) {
	reservation := func(name, node string) slurm.Reservation {
		return slurm.Reservation{Name: name, Start: noon, End: noon.Add(time.Hour), Nodes: []string{node}}
	}
	both := slurm.Limits{Reserved: map[slurm.JobID]string{1: "a"}, Reservations: []slurm.Reservation{reservation("a", "n1"), reservation("b", "n2")}}
	one := slurm.Limits{Reserved: map[slurm.JobID]string{2: "a-b"}, Reservations: []slurm.Reservation{reservation("a-b", "n3")}}
	if k, other := keptFrom(both, 1, 0, noon), keptFrom(one, 2, 0, noon); k.name == other.name {
		t.Errorf("in a, excluded by b, and in a-b: both are %q", k.name)
	}
}

// TestKeptFromSeveral: each reservation keeps its nodes, also those of the job's own reservation.
func TestKeptFromSeveral(t *testing.T) {
	l := slurm.Limits{Reserved: map[slurm.JobID]string{1: "mine"}, Reservations: []slurm.Reservation{
		{Name: "mine", Start: noon, End: noon.Add(time.Hour), Nodes: []string{"n1", "n2"}},
		{Name: "maint", Start: noon.Add(time.Minute), End: noon.Add(time.Hour), Nodes: []string{"n2", "n3"}},
	}}
	k := keptFrom(l, 1, 0, noon)
	var open []string
	for _, node := range []string{"n1", "n2", "n3", "n4"} {
		if k.open(node) {
			open = append(open, node)
		}
	}
	if !slices.Equal(open, []string{"n1"}) || k.name != "mine/-maint" {
		t.Errorf("%q leaves %v, want n1", k.name, open)
	}
}

// TestMaintained: a job leaves from its lead time on, unless Slurm ends it before the maintenance.
func TestMaintained(t *testing.T) {
	const lead = 10 * time.Minute
	for _, c := range []struct {
		name        string
		starts, end time.Duration
		left        time.Duration
		node        string
		want        bool
	}{
		{"exactly its lead before", lead, time.Hour, 0, "n1", true},
		{"a moment earlier", lead + 1, time.Hour, 0, "n1", false},
		{"it ends as the maintenance begins", 5 * time.Minute, time.Hour, 5 * time.Minute, "n1", false},
		{"it ends a moment later", 5 * time.Minute, time.Hour, 5*time.Minute + 1, "n1", true},
		{"the last moment", -time.Hour, 1, 0, "n1", true},
		{"it is over", -time.Hour, 0, 0, "n1", false},
		{"another node", lead, time.Hour, 0, "n2", false},
	} {
		l := &Look{Site: Read(slurm.Limits{Reservations: []slurm.Reservation{{Name: "m", Maint: true, Start: noon.Add(c.starts), End: noon.Add(c.end), Nodes: []string{"n1"}}}}, nil)}
		d, found := l.maintained(Job{Slurm: &slurm.Job{ID: 1, TimeLeft: c.left}, Lead: lead}, c.node, noon)
		if found != c.want || found && (d.Name != "m" || d.Node != "n1" || !d.At.Equal(noon.Add(c.starts))) {
			t.Errorf("%s: %v, %+v", c.name, found, d)
		}
	}
}

// TestAwaits: the tasks of an incomplete array wait for exactly ArrayPatience after its last task, and
// each user's array on its own.
func TestAwaits(t *testing.T) {
	array := elastic.Array{Job: 5, Index: 1, Count: 3}
	open := Arrivals{{owner: 7, id: 5}: {Job: 5, Want: 3, Have: 2, Last: noon}}
	for _, c := range []struct {
		name  string
		own   Job
		after time.Duration
		code  elastic.Block
		until time.Time
	}{
		{"a moment before", Job{Owner: 7, Array: array}, elastic.ArrayPatience - 1, elastic.Arriving, noon.Add(elastic.ArrayPatience)},
		{"exactly then", Job{Owner: 7, Array: array}, elastic.ArrayPatience, elastic.Incomplete, time.Time{}},
		{"of another user", Job{Owner: 8, Array: array}, 0, "", time.Time{}},
		{"not of an array", Job{Owner: 7}, 0, "", time.Time{}},
		{"it ran", Job{Owner: 7, Array: array, Ran: true}, 0, "", time.Time{}},
		{"Slurm restarted it", Job{Owner: 7, Array: array, Slurm: &slurm.Job{Restarts: 1}}, 0, "", time.Time{}},
	} {
		if c.own.Slurm == nil {
			c.own.Slurm = &slurm.Job{}
		}
		got := open.awaits(6, c.own, noon.Add(c.after))
		if got.Code != c.code || !got.Until.Equal(c.until) || c.code != "" && (got.Array.Have != 2 || got.Array.Want != 3) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	open[arrayOf{7, 5}].Have = 3
	if got := open.awaits(6, Job{Owner: 7, Array: array, Slurm: &slurm.Job{}}, noon); got.Code != "" || !slices.Equal(open.Complete(), []elastic.JobID{5}) {
		t.Errorf("all tasks are there: %+v", got)
	}
}

// TestUnreadLimits: without the site's limits a job keeps its size, and starts at its minimum.
func TestUnreadLimits(t *testing.T) {
	jobs := []elastic.Job{
		{ID: 1, Spec: elastic.Spec{Min: 1, Max: 8}, Place: nodes.Placement{{Node: "n1", GPUs: 3}}},
		{ID: 2, Spec: elastic.Spec{Min: 2, Max: 8}},
	}
	for _, c := range []struct {
		name  string
		named map[elastic.JobID]bool
		want  map[elastic.JobID]int
	}{
		{"all", nil, map[elastic.JobID]int{1: 3, 2: 2}},
		{"one of them", map[elastic.JobID]bool{2: true}, map[elastic.JobID]int{2: 2}},
		{"none of them", map[elastic.JobID]bool{}, map[elastic.JobID]int{}},
	} {
		got := map[elastic.JobID]int{}
		for _, limit := range unread(jobs, c.named) {
			for id := range limit.Jobs {
				got[id] = limit.Most
			}
			if !limit.Each || limit.Of != elastic.GPUs || len(limit.Jobs) != 1 {
				t.Errorf("%s: %+v", c.name, limit)
			}
		}
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: at most %v, want %v", c.name, got, c.want)
		}
	}
	s := elastic.Snapshot{Jobs: jobs}
	for name, c := range map[string]struct {
		look Look
		caps int
	}{"the site has no limits": {Look{}, 0}, "they have not been read": {Look{Limited: true}, 2}} {
		if got := c.look.site(&s); len(got) != c.caps {
			t.Errorf("%s: %d caps, want %d", name, len(got), c.caps)
		}
	}
}

// TestSpread: a job may use as many nodes as the smallest limit on the nodes of each job.
func TestSpread(t *testing.T) {
	limit := func(most int, change func(*elastic.Cap)) elastic.Cap {
		c := elastic.Cap{Of: elastic.Nodes, Each: true, Most: most, Jobs: map[elastic.JobID]bool{1: true}}
		change(&c)
		return c
	}
	same := func(*elastic.Cap) {}
	for _, c := range []struct {
		name string
		own  int
		caps []elastic.Cap
		want int
	}{
		{"no limit", 0, nil, 0},
		{"its own", 3, nil, 3},
		{"a limit", 0, []elastic.Cap{limit(2, same)}, 2},
		{"the smaller of two", 0, []elastic.Cap{limit(4, same), limit(2, same), limit(3, same)}, 2},
		{"its own is smaller", 1, []elastic.Cap{limit(2, same)}, 1},
		{"its own is larger", 3, []elastic.Cap{limit(2, same)}, 2},
		{"of another job", 0, []elastic.Cap{limit(2, func(c *elastic.Cap) { c.Jobs = map[elastic.JobID]bool{2: true} })}, 0},
		{"of all jobs together", 0, []elastic.Cap{limit(2, func(c *elastic.Cap) { c.Each = false })}, 0},
		{"on GPUs", 0, []elastic.Cap{limit(2, func(c *elastic.Cap) { c.Of = elastic.GPUs })}, 0},
		{"nothing at all", 3, []elastic.Cap{limit(0, same)}, 3},
	} {
		s := elastic.Snapshot{Jobs: []elastic.Job{{ID: 1, MaxNodes: c.own}}, Caps: c.caps}
		if Spread(&s); s.Jobs[0].MaxNodes != c.want {
			t.Errorf("%s: %d nodes, want %d", c.name, s.Jobs[0].MaxNodes, c.want)
		}
	}
}

// TestGround: what Slurm accepts depends on how nodes and partitions are configured, not on who uses them.
func TestGround(t *testing.T) {
	nodesOf := func(change func(*slurm.Node)) []slurm.Node {
		n := slurm.Node{Name: "n1", GPUs: 4, GPUsUsed: 1, GPUType: "red", Types: []slurm.OfType{{Type: "red", GPUs: 4, Used: 1}}, CPUs: 8, MemoryMB: 100, Partitions: []string{"gpu"}, Features: []string{"fast"}, States: []string{"MIXED"}}
		change(&n)
		return []slurm.Node{n}
	}
	partitions := []slurm.Partition{{Name: "gpu", MaxNodes: 2}}
	was := GroundOf(nodesOf(func(*slurm.Node) {}), partitions)
	for _, c := range []struct {
		name   string
		change func(*slurm.Node)
		same   bool
	}{
		{"nothing", func(*slurm.Node) {}, true},
		{"its GPUs are in use", func(n *slurm.Node) { n.GPUsUsed, n.Types[0].Used = 4, 4 }, true},
		{"its CPUs and memory are in use", func(n *slurm.Node) { n.CPUsUsed, n.MemUsedMB = 8, 100 }, true},
		{"it is drained", func(n *slurm.Node) { n.States = []string{"DRAIN"} }, true},
		{"it has more GPUs", func(n *slurm.Node) { n.GPUs = 8 }, false},
		{"it has other GPUs", func(n *slurm.Node) { n.Types[0].Type = "blue" }, false},
		{"it has another feature", func(n *slurm.Node) { n.Features = []string{"slow"} }, false},
		{"it is in another partition", func(n *slurm.Node) { n.Partitions = []string{"lab"} }, false},
		{"it has less memory", func(n *slurm.Node) { n.MemoryMB = 50 }, false},
	} {
		all := nodesOf(c.change)
		if got := GroundOf(all, partitions).Equal(was); got != c.same {
			t.Errorf("%s: the same %v", c.name, got)
		}
	}
	if GroundOf(nodesOf(func(*slurm.Node) {}), []slurm.Partition{{Name: "gpu", MaxNodes: 3}}).Equal(was) {
		t.Error("a partition that allows more nodes: the same")
	}
}

// TestAskedOf: what the user changes of a request makes earlier refusals obsolete; what sluice and Slurm
// change of it does not.
func TestAskedOf(t *testing.T) {
	base := slurm.Job{ID: 7, Account: "a", QOS: "q", Licenses: "l:1", TimeLimit: time.Hour, Constraint: "fast", ExcNodes: []string{"n9"}, GPUs: 2}
	for _, c := range []struct {
		name       string
		partitions string
		change     func(*slurm.Job)
		same       bool
	}{
		{"nothing", "gpu", func(*slurm.Job) {}, true},
		{"its size and nodes", "gpu", func(sj *slurm.Job) { sj.GPUs, sj.ReqNodes, sj.Nodes = 4, []string{"n1"}, []string{"n1"} }, true},
		{"its state", "gpu", func(sj *slurm.Job) { sj.State, sj.Reason, sj.Restarts, sj.Comment = slurm.Running, "x", 3, "c" }, true},
		{"its partitions", "lab", func(*slurm.Job) {}, false},
		{"its account", "gpu", func(sj *slurm.Job) { sj.Account = "b" }, false},
		{"its QOS", "gpu", func(sj *slurm.Job) { sj.QOS = "r" }, false},
		{"its licenses", "gpu", func(sj *slurm.Job) { sj.Licenses = "l:2" }, false},
		{"its time limit", "gpu", func(sj *slurm.Job) { sj.TimeLimit = time.Minute }, false},
		{"its constraint", "gpu", func(sj *slurm.Job) { sj.Constraint = "" }, false},
		{"its excluded nodes", "gpu", func(sj *slurm.Job) { sj.ExcNodes = nil }, false},
	} {
		sj := base
		c.change(&sj)
		if got := AskedOf(&sj, c.partitions) == AskedOf(&base, "gpu"); got != c.same {
			t.Errorf("%s: the same %v", c.name, got)
		}
	}
}
