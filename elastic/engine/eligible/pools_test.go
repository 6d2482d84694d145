package eligible

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestEdges: jobs get an edge pool as one virtual partition per node, after their other partitions;
// users do not see these.
func TestEdges(t *testing.T) {
	node := func(name string, gpus int, partitions ...string) nodes.Node {
		return nodes.Node{Name: name, GPUs: gpus, Usable: true, Partitions: partitions}
	}
	for list, want := range map[string]string{
		"gpu": "gpu", "lab,gpu": "gpu,lab@l1,lab@l2", "gpu,lab": "gpu,lab@l1,lab@l2", "lab": "lab@l1,lab@l2",
		"gpu,lab@-maint": "gpu,lab@-maint@l2", "empty": "empty", "other,gpu": "other,gpu",
	} {
		s := elastic.Snapshot{Jobs: []elastic.Job{{ID: 1, Partition: list}}, Nodes: []nodes.Node{
			node("g1", 4, "gpu"), node("l1", 2, "lab"), node("l2", 2, "lab", "lab@-maint"), node("l3", 0, "lab"),
		}}
		l := &Look{Edge: map[string]bool{"lab": true, "empty": true}}
		l.edges(&s)
		if got := s.Jobs[0].Partition; got != want {
			t.Errorf("%s becomes %s, want %s", list, got, want)
		}
		for name := range s.Edges {
			in := 0
			for _, n := range s.Nodes {
				if n.In(name) {
					in++
				}
			}
			if in != 1 {
				t.Errorf("%s has %d nodes", name, in)
			}
		}
		for _, n := range NodesAsInSlurm(s.Nodes) {
			if len(n.Partitions) != 1 {
				t.Errorf("people see %s in %v", n.Name, n.Partitions)
			}
		}
	}
}

// TestPartitionsOf: a job's partitions are kept while it runs in one of them, in the order that its
// user gave. A change by the user replaces them.
func TestPartitionsOf(t *testing.T) {
	for _, c := range []struct {
		known, told, now string
		state            slurm.State
		want             string
	}{
		{"", "", "gpu,lab", slurm.Pending, "gpu,lab"},
		{"gpu,lab", "", "lab", slurm.Running, "gpu,lab"},
		{"gpu,lab", "", "lab,gpu", slurm.Pending, "gpu,lab"}, // after a run there
		{"gpu,lab", "", "lab", slurm.Pending, "lab"},         // scontrol update Partition=lab
		{"gpu,lab", "", "big", slurm.Running, "big"},
		{"gpu", "", "gpu", slurm.Running, "gpu"},
		{"gpu,lab", "lab", "lab", slurm.Pending, "gpu,lab"}, // sluice wrote so
		{"gpu,lab", "lab", "gpu", slurm.Pending, "gpu"},     // and its user another
		{"gpu,lab", "lab", "gpu,lab", slurm.Pending, "gpu,lab"},
		{"gpu,lab", "big", "big", slurm.Pending, "big"}, // a comment gives no partition
		{"", "lab", "lab", slurm.Pending, "lab"},        // nothing is on record
	} {
		if got := PartitionsOf(c.known, c.told, slurm.Job{Partition: c.now, State: c.state}); got != c.want {
			t.Errorf("known as %s, %s in %s: %s, want %s", c.known, c.state, c.now, got, c.want)
		}
	}
}

// TestOpenTo: a closed partition is removed from a job's partitions unless the job runs in it; if all
// are closed, all are kept.
func TestOpenTo(t *testing.T) {
	for _, c := range []struct {
		shut  []string
		state slurm.State
		in    string
		want  string
	}{
		{nil, slurm.Pending, "gpu,lab", "gpu,lab"},
		{[]string{"lab"}, slurm.Pending, "gpu,lab", "gpu"},
		{[]string{"lab"}, slurm.Running, "lab", "gpu,lab"},
		{[]string{"lab"}, slurm.Running, "gpu", "gpu"},
		{[]string{"gpu", "lab"}, slurm.Pending, "gpu,lab", "gpu,lab"},
	} {
		var l slurm.Limits
		for _, name := range []string{"gpu", "lab"} {
			p := slurm.Partition{Name: name, Up: true}
			for _, s := range c.shut {
				p.Up = p.Up && s != name
			}
			l.Partitions = append(l.Partitions, p)
		}
		sj := slurm.Job{State: c.state, Partition: c.in, TimeLimit: time.Hour}
		if got := Read(l, nil).OpenTo(sj, "gpu,lab").Partition; got != c.want {
			t.Errorf("%v shut, %s in %s: %s, want %s", c.shut, c.state, c.in, got, c.want)
		}
	}
}

// TestWithin: for a run on named nodes the partition of the highest tier is written that has all of
// them and would start the job; after a failed try the next one, then all of them.
func TestWithin(t *testing.T) {
	inventory := []slurm.Node{{Name: "g1", Partitions: []string{"gpu", "all"}}, {Name: "l1", Partitions: []string{"lab", "all"}}}
	site := Read(slurm.Limits{Partitions: []slurm.Partition{{Name: "gpu", Up: true, Tier: 1}, {Name: "lab", Up: true}, {Name: "all", Up: true, Tier: 2}, {Name: "shut"}}}, nil)
	for _, c := range []struct {
		partitions, nodes string
		fell              int
		one, told         string
	}{
		{"gpu", "g1", 0, "", ""}, // there is nothing to choose
		{"gpu,all", "g1", 0, "all", "all"},
		{"gpu,all", "g1", 1, "gpu", "gpu"},
		{"gpu,all", "g1", 2, "gpu,all", ""},
		{"gpu,all", "g1", 3, "all", "all"},
		{"gpu,all,lab", "g1 l1", 0, "all", "all"},
		{"gpu,lab", "g1 l1", 0, "gpu,lab", ""}, // no partition has both
		{"gpu,shut", "g1", 0, "gpu", "gpu"},
		{"gpu,lab", "", 0, "gpu,lab", ""}, // any nodes
	} {
		one, told := site.Within(&slurm.Job{State: slurm.Pending, Partition: c.partitions}, c.partitions, strings.Fields(c.nodes), c.fell, inventory)
		if one != c.one || told != c.told {
			t.Errorf("%+v: %q, %q", c, one, told)
		}
	}
}
