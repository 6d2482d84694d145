package nodes_test

import (
	"fmt"
	"testing"

	"github.com/sluice-hpc/sluice/nodes"
)

// rack returns nodes n1, n2, ... with four GPUs each, with the given numbers used.
func rack(used ...int) []nodes.Node {
	names := []string{"n1", "n2", "n3", "n4", "n5", "n6"}
	var out []nodes.Node
	for i, u := range used {
		out = append(out, nodes.Node{Name: names[i], Partitions: []string{"gpu"}, GPUs: 4, Used: u, Usable: true})
	}
	return out
}

func TestPlaceOne(t *testing.T) {
	down, lean := rack(0, 0, 0), rack(0, 0)
	down[0].Usable, down[1].Usable = false, false
	lean[0].CPUs, lean[0].CPUsUsed = 16, 14
	small := rack(0, 0)
	small[0].MemoryMB, small[0].MemUsedMB = 64000, 40000
	types := rack(0, 1, 0)
	types[0].Type, types[1].Type, types[2].Type = "a100", "v100", "v100"
	split := rack(0, 0)
	split[1].Partitions = []string{"fast"}
	busy := rack(0, 0, 0)
	busy[0].CPUs, busy[0].CPUsUsed, busy[1].CPUs, busy[1].CPUsUsed = 16, 16, 16, 15
	pairs := rack(0, 1, 0, 1, 4)
	pairs[0].Type, pairs[1].Type, pairs[2].Type, pairs[3].Type, pairs[4].Type = "a100", "v100", "a100", "v100", "a100"
	lean3 := rack(0, 0, 0)
	lean3[0].CPUs, lean3[2].CPUs = 2, 2
	tiny := rack(0, 1)
	tiny[0].MemoryMB, tiny[1].CPUs, tiny[1].CPUsUsed = 1, 1, 1

	for _, c := range []struct {
		name string
		inv  []nodes.Node
		req  nodes.Request
		want string
		fits int
	}{
		{"exact fit before an empty node", rack(0, 2, 3), nodes.Request{GPUs: 2}, "n2:2", 2},
		{"best fit keeps the roomier node", rack(0, 1), nodes.Request{GPUs: 2}, "n2:2", 2},
		{"equal nodes in inventory order", rack(0, 0), nodes.Request{GPUs: 3}, "n1:3", 3},
		{"whole nodes", rack(1, 0, 0), nodes.Request{GPUs: 8}, "n2:4+n3:4", 8},
		{"even split fills used nodes", rack(0, 2, 2), nodes.Request{GPUs: 4}, "n1:4", 4},
		{"even split over partly used nodes", rack(1, 2, 2), nodes.Request{GPUs: 4}, "n2:2+n3:2", 4},
		{"fewest nodes", rack(1, 1, 3), nodes.Request{GPUs: 6}, "n1:3+n2:3", 6},
		{"five only as fives", rack(0, 0), nodes.Request{GPUs: 5}, "-", 4},
		{"five with step two", rack(0, 0), nodes.Request{GPUs: 5, Sizes: []int{1, 3, 5}}, "-", 3},
		{"five one each", rack(0, 0, 0, 0, 0), nodes.Request{GPUs: 5}, "n1:1+n2:1+n3:1+n4:1+n5:1", 5},
		{"five one each, bounded", rack(0, 0, 0, 0, 0), nodes.Request{GPUs: 5, MaxNodes: 2}, "-", 4},
		{"five uneven", rack(0, 0), nodes.Request{GPUs: 5, Uneven: true}, "n1:4+n2:1", 5},
		{"uneven follows node order", rack(1, 0), nodes.Request{GPUs: 5, Uneven: true}, "n1:3+n2:2", 5},
		{"even before uneven", rack(0, 0), nodes.Request{GPUs: 6, Uneven: true}, "n1:3+n2:3", 6},
		{"uneven on fewer nodes than even", rack(0, 2, 2), nodes.Request{GPUs: 6, Uneven: true}, "n1:4+n2:2", 6},
		{"nothing free", rack(4, 4), nodes.Request{GPUs: 1}, "-", 0},
		{"unusable nodes", down, nodes.Request{GPUs: 5, Uneven: true}, "-", 4},
		{"CPUs narrow a node", lean, nodes.Request{GPUs: 2, CPUsPerGPU: 2}, "n2:2", 2},
		{"CPUs narrow a node to one", lean, nodes.Request{GPUs: 1, CPUsPerGPU: 2}, "n1:1", 1},
		{"one CPU left is one for the job", busy, nodes.Request{GPUs: 4}, "n2:4", 4},
		{"one type before two of it", pairs, nodes.Request{GPUs: 6}, "n2:3+n4:3", 6},
		{"the roomier type where the other is too small", pairs, nodes.Request{GPUs: 8}, "n1:4+n3:4", 8},
		{"CPUs narrow two of three nodes", lean3, nodes.Request{GPUs: 7, CPUsPerGPU: 1, Uneven: true}, "-", 6},
		{"a megabyte is counted", tiny, nodes.Request{GPUs: 2, MemPerGPUMB: 1}, "-", 1},
		{"a single CPU is counted", tiny, nodes.Request{GPUs: 1}, "n1:1", 1},
		{"the largest of its sizes", rack(2), nodes.Request{GPUs: 3, Sizes: []int{1, 2}}, "-", 2},
		{"one at least", rack(4, 3), nodes.Request{GPUs: 2}, "-", 1},
		{"one at least, of its sizes", rack(4, 3), nodes.Request{GPUs: 2, Sizes: []int{1, 2}}, "-", 1},
		{"memory narrows a node", small, nodes.Request{GPUs: 3, MemPerGPUMB: 10000}, "n2:3", 3},
		{"one GPU type", types, nodes.Request{GPUs: 6}, "n2:3+n3:3", 6},
		{"mixed types as a last resort", types, nodes.Request{GPUs: 9}, "n1:3+n2:3+n3:3", 9},
		{"another partition", split, nodes.Request{GPUs: 4, Partition: "fast"}, "n2:4", 4},
		{"a list of partitions", split, nodes.Request{GPUs: 4, Partition: "none,fast"}, "n2:4", 4},
		{"never across partitions", split, nodes.Request{GPUs: 8, Partition: "gpu,fast"}, "-", 4},
		{"the largest of its sizes that is smaller", rack(1, 1), nodes.Request{GPUs: 5, Sizes: []int{1, 5, 6}}, "-", 1},
		{"of another size it does not stay", rack(3, 2), nodes.Request{GPUs: 2, Keep: nodes.Placement{{Node: "n1", GPUs: 1}}}, "n2:2", 2},
		{"stays", rack(4), nodes.Request{GPUs: 4, Keep: nodes.Placement{{Node: "n1", GPUs: 4}}}, "n1:4", 4},
	} {
		got := nodes.Place(c.inv, []nodes.Request{c.req})[0]
		if got.Placement.String() != c.want || got.Fits != c.fits {
			t.Errorf("%s: got %v fits %d, want %s fits %d", c.name, got.Placement, got.Fits, c.want, c.fits)
		}
	}
}

func TestPlaceLargeFirst(t *testing.T) {
	got := nodes.Place(rack(0, 1), []nodes.Request{{ID: 1, GPUs: 1}, {ID: 2, GPUs: 3}, {ID: 3, GPUs: 3}})
	want := []string{"n1:1", "n2:3", "n1:3"}
	for i, w := range want {
		if got[i].ID != int64(i+1) || got[i].Placement.String() != w {
			t.Errorf("request %d: got %v, want %s", i+1, got[i], w)
		}
	}
}

// Decreasing order alone puts the 2s on n2 and n3 and leaves no room for the
// three that may only run on n2.
func TestPlaceTriesTheUnluckyFirst(t *testing.T) {
	inv := rack(0, 1, 1)
	inv[1].Partitions = []string{"gpu", "fast"}
	got := nodes.Place(inv, []nodes.Request{{ID: 1, GPUs: 3, Partition: "gpu"}, {ID: 2, GPUs: 2, Partition: "fast"}})
	if got[0].Placement.String() != "n3:3" || got[1].Placement.String() != "n2:2" {
		t.Errorf("got %v", got)
	}
}

// In any order of starts Slurm gives the uneven job this split: n1 is not used for it
// once the two-GPU job is placed there.
func TestUnevenDoesNotDependOnStartOrder(t *testing.T) {
	inv := rack(2, 0, 1)
	got := nodes.Place(inv, []nodes.Request{{ID: 1, GPUs: 7, Uneven: true}, {ID: 2, GPUs: 2}})
	if got[0].Placement.String() != "n2:4+n3:3" || got[1].Placement.String() != "n1:2" {
		t.Errorf("got %v", got)
	}
}

// Seven requests in three partitions: all find a place at the fourth change of their order.
func TestPlaceTriesSeveralTimes(t *testing.T) {
	inv := rack(0, 0, 0, 0, 2)
	for i, in := range [][]string{{"c"}, {"c"}, {"a"}, {"a", "b", "c"}, {"c"}} {
		inv[i].Partitions = in
	}
	var requests []nodes.Request
	for _, r := range []nodes.Request{{GPUs: 2, Partition: "c"}, {GPUs: 2, Partition: "a,b"}, {GPUs: 3, Partition: "a"}, {GPUs: 4, Partition: "b,c"},
		{GPUs: 1, Partition: "b,c"}, {GPUs: 4, Partition: "c"}, {GPUs: 2, Partition: "b"}} {
		r.ID = int64(len(requests) + 1)
		requests = append(requests, r)
	}
	var without []int64
	for _, got := range nodes.Place(inv, requests) {
		if len(got.Placement) == 0 {
			without = append(without, got.ID)
		}
	}
	if len(without) != 0 {
		t.Errorf("no place for %v", without)
	}
}

// The five fit n1's last two GPUs and three others best, but Slurm would put four on n1
// if they started before the six: they go to nodes without a placement.
func TestUnevenTakesWhatNobodyWasPutOn(t *testing.T) {
	inv := rack(0, 1, 1)
	inv[0].GPUs = 8
	got := nodes.Place(inv, []nodes.Request{{ID: 1, GPUs: 6}, {ID: 2, GPUs: 5, Uneven: true}})
	if got[0].Placement.String() != "n1:6" || got[1].Placement.String() != "n2:3+n3:2" {
		t.Errorf("got %v", got)
	}
}

func TestGreedySplit(t *testing.T) {
	for _, c := range []struct {
		free []int
		gpus int
		want []int
	}{
		{[]int{4, 4}, 5, []int{4, 1}}, // observed on Slurm 22.05
		{[]int{4, 4}, 6, []int{4, 2}},
		{[]int{3, 4}, 5, []int{3, 2}},
		{[]int{3, 4}, 4, []int{3, 1}},
		{[]int{4, 4, 4}, 4, []int{2, 1, 1}},
		{[]int{4, 4}, 2, []int{1, 1}},
		{[]int{4}, 3, []int{3}},
		{[]int{4, 4}, 9, nil},
		{[]int{4, 4}, 1, nil},
		{[]int{4, 0}, 3, nil},
		{nil, 1, nil},
	} {
		got := nodes.GreedySplit(c.free, c.gpus)
		if len(got) != len(c.want) {
			t.Errorf("%v, %d: got %v, want %v", c.free, c.gpus, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%v, %d: got %v, want %v", c.free, c.gpus, got, c.want)
				break
			}
		}
	}
}

// Nil means that there is no split; so there is no empty split, not even of no GPUs.
func TestGreedySplitOfNothing(t *testing.T) {
	if got := nodes.GreedySplit(nil, 0); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestReserve(t *testing.T) {
	inv, met := nodes.Reserve(rack(0, 2, 3), []nodes.Want{
		{GPUs: 2, Nodes: 1}, // n2, which it fills
		{GPUs: 8, Nodes: 2}, // there is one whole node only
		{GPUs: 2, Nodes: 2}, // n3 and n1
		{GPUs: 3, Nodes: 1, Partition: "other"},
	})
	if !met[0] || met[1] || !met[2] || met[3] {
		t.Errorf("met %v", met)
	}
	for i, want := range []int{1, 4, 4} {
		if inv[i].Used != want {
			t.Errorf("%s: used %d, want %d", inv[i].Name, inv[i].Used, want)
		}
	}
	if _, met := nodes.Reserve(rack(0, 0), []nodes.Want{{GPUs: 8, Nodes: 1}}); !met[0] {
		t.Error("eight GPUs on four-GPU nodes take two nodes")
	}
	if inv, met := nodes.Reserve(rack(4, 3), []nodes.Want{{GPUs: 1}}); !met[0] || inv[1].Used != 4 {
		t.Errorf("the last GPU: %v, %+v", met, inv)
	}
}

func TestWithAndWithoutUndoEachOther(t *testing.T) {
	inv := rack(1, 2)
	inv[0].CPUsUsed, inv[0].MemUsedMB = 4, 1000
	load := nodes.Load{Place: nodes.Placement{{Node: "n1", GPUs: 2}, {Node: "gone", GPUs: 1}}, CPUsPerGPU: 3, MemPerGPUMB: 500}
	up := nodes.With(inv, load)
	if up[0].Used != 3 || up[0].CPUsUsed != 10 || up[0].MemUsedMB != 2000 || inv[0].Used != 1 {
		t.Errorf("with: %+v, original %+v", up[0], inv[0])
	}
	down := nodes.Without(up, load)
	if down[0].Used != 1 || down[0].CPUsUsed != 4 || down[0].MemUsedMB != 1000 {
		t.Errorf("without: %+v", down[0])
	}
	load.CPUsPerGPU = 0
	if one := nodes.With(inv, load); one[0].CPUsUsed != 5 || one[1].CPUsUsed != 0 {
		t.Errorf("without a number of CPUs a job takes one on each node: %+v", one)
	}
	load.CPUsPerGPU = 3
	if again := nodes.Without(down, load); again[0].Used != 0 || again[0].CPUsUsed != 0 || again[0].MemUsedMB != 0 {
		t.Errorf("below zero: %+v", again[0])
	}
}

func TestFree(t *testing.T) {
	inv := rack(1, 4, 0)
	inv[2].Partitions = []string{"fast"}
	if all, gpu := nodes.Free(inv, ""), nodes.Free(inv, "gpu"); all != 7 || gpu != 3 {
		t.Errorf("free %d in all, %d in gpu", all, gpu)
	}
	inv[0].Usable = false
	if got := nodes.Free(inv, "gpu"); got != 0 {
		t.Errorf("free on unusable nodes: %d", got)
	}
}

// TestShape: on how many nodes an ordinary job starts, by the largest node that it may use.
func TestShape(t *testing.T) {
	inv := rack(4, 0)
	inv[1].Partitions, inv[1].GPUs = []string{"big"}, 8
	for _, c := range []struct {
		want         nodes.Want
		count, share int
	}{
		{nodes.Want{GPUs: 1}, 1, 1},
		{nodes.Want{GPUs: 8}, 1, 8},
		{nodes.Want{GPUs: 8, Partition: "gpu"}, 2, 4},
		{nodes.Want{GPUs: 9, Partition: "gpu"}, 3, 3},
		{nodes.Want{GPUs: 7, Nodes: 2}, 2, 4},
		{nodes.Want{GPUs: 1, Partition: "none"}, 0, 0},
		{nodes.Want{GPUs: 0}, 0, 0},
	} {
		if count, share := c.want.Shape(inv); count != c.count || share != c.share {
			t.Errorf("%+v: %d nodes of %d, want %d of %d", c.want, count, share, c.count, c.share)
		}
	}
}

func TestPlacement(t *testing.T) {
	p := nodes.Placement{{Node: "n1", GPUs: 4}, {Node: "n2", GPUs: 1}}
	if got := fmt.Sprint(p, p.GPUs(), p.Split(), p.Nodes(), p.On("n2"), p.On("n3"), p.Even(), p[:1].Even()); got != "n1:4+n2:1 5 [4 1] [n1 n2] 1 0 false true" {
		t.Error(got)
	}
}
