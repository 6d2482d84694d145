package nodes_test

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/nodes"
)

// A ledger gives the same result as With and Without.
func TestLedgerBooksAsWithDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inv := inventories(t)
		kept := append([]nodes.Node(nil), inv...)
		l, want := nodes.NewLedger(inv), inv
		for range rapid.IntRange(1, 6).Draw(t, "bookings") {
			load := nodes.Load{CPUsPerGPU: rapid.IntRange(0, 2).Draw(t, "cpus"), MemPerGPUMB: 100}
			for _, name := range []string{"n1", "n2", "n3", "nowhere"} {
				if rapid.Bool().Draw(t, name) {
					load.Place = append(load.Place, nodes.Share{Node: name, GPUs: rapid.IntRange(0, 3).Draw(t, "gpus")})
				}
			}
			if rapid.Bool().Draw(t, "charge") {
				l.Charge(load)
				want = nodes.With(want, load)
			} else {
				l.Credit(load)
				want = nodes.Without(want, load)
			}
		}
		if !reflect.DeepEqual(l.Nodes, want) || !reflect.DeepEqual(l.Clone().Nodes, want) || !reflect.DeepEqual(inv, kept) {
			t.Fatalf("got %+v, want %+v", l.Nodes, want)
		}
	})
}

func TestLedgerFindsNodes(t *testing.T) {
	l := nodes.NewLedger(rack(0, 0))
	copied := l.Clone()
	copied.Node("n2").Used = 3
	if i, ok := l.Index("n2"); i != 1 || !ok || l.Node("n2").Used != 0 || copied.Nodes[1].Used != 3 {
		t.Errorf("n2 is %d, %t: %+v, %+v", i, ok, l.Nodes, copied.Nodes)
	}
	if _, ok := l.Index("n9"); ok || l.Node("n9") != nil {
		t.Error("found what is not there")
	}
	if view := l.Over(rack(1, 2)); view.Node("n2").Used != 2 {
		t.Errorf("another view: %+v", view.Nodes)
	}
}

// With many nodes and many shares each is found, whether they are searched or indexed.
func TestManyNodesAreFound(t *testing.T) {
	for _, many := range []int{1, 8, 9, 20} {
		var inv []nodes.Node
		var load nodes.Load
		for i := range many {
			inv = append(inv, nodes.Node{Name: fmt.Sprint("n", i), GPUs: 8})
			load.Place = append(load.Place, nodes.Share{Node: fmt.Sprint("n", i), GPUs: 1 + i%7})
		}
		l, with := nodes.NewLedger(inv), nodes.With(inv, load)
		l.Charge(load)
		for i, n := range with {
			if at, ok := l.Index(n.Name); at != i || !ok || n.Used != 1+i%7 || l.Node(n.Name).Used != n.Used {
				t.Errorf("%s of %d is at %d: %+v", n.Name, many, at, n)
			}
		}
	}
}

func TestJobsOnSeveralNodesDoNotMeet(t *testing.T) {
	inv := nodes.With(rack(0, 0, 0), nodes.Load{Place: nodes.Placement{{Node: "n1", GPUs: 2}, {Node: "n2", GPUs: 2}}})
	for _, c := range []struct {
		req  nodes.Request
		want string
	}{
		{nodes.Request{GPUs: 2}, "n1:2"},              // alone on its node
		{nodes.Request{GPUs: 6}, "-"},                 // n3 is the only one left
		{nodes.Request{GPUs: 6, Uneven: true}, "-"},   //
		{nodes.Request{GPUs: 4, MaxNodes: 2}, "n3:4"}, //
		{nodes.Request{GPUs: 6, Share: true}, "n1:2+n2:2+n3:2"},
		{nodes.Request{GPUs: 6, Share: true, Uneven: true}, "n1:2+n3:4"},
	} {
		if got := nodes.Place(inv, []nodes.Request{c.req})[0].Placement.String(); got != c.want {
			t.Errorf("%+v: got %s, want %s", c.req, got, c.want)
		}
	}
	both := nodes.Place(rack(0, 0, 0), []nodes.Request{{ID: 1, GPUs: 6}, {ID: 2, GPUs: 5, Uneven: true}})
	if both[0].Placement.String() != "n1:3+n2:3" || len(both[1].Placement) > 0 || both[1].Fits != 4 {
		t.Errorf("in one call: %+v", both)
	}
}

func TestFragmentation(t *testing.T) {
	for _, c := range []struct {
		used []int
		want float64
	}{
		{nil, 0},
		{[]int{4, 4}, 0},
		{[]int{0, 4}, 0},
		{[]int{0, 2}, 1.0 / 3},
		{[]int{1, 3}, 1},
	} {
		if got := nodes.Fragmentation(rack(c.used...)); got != c.want {
			t.Errorf("%v: %v, want %v", c.used, got, c.want)
		}
	}
	inv := rack(0, 2)
	inv[1].Usable = false
	if got := nodes.Fragmentation(inv); got != 0 {
		t.Errorf("GPUs that cannot be used count: %v", got)
	}
}
