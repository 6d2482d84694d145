package nodes_test

import (
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/nodes"
)

// inventories draws clusters: few nodes, mixed sizes, some used, some down.
func inventories(t *rapid.T) []nodes.Node {
	var out []nodes.Node
	for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
		n := nodes.Node{
			Name:       fmt.Sprintf("n%d", i+1),
			GPUs:       rapid.SampledFrom([]int{1, 2, 4, 4, 8}).Draw(t, "gpus"),
			Usable:     rapid.IntRange(0, 5).Draw(t, "usable") > 0,
			Type:       rapid.SampledFrom([]string{"", "", "a100"}).Draw(t, "type"),
			Partitions: rapid.SampledFrom([][]string{{"gpu"}, {"gpu", "fast"}, {"fast"}}).Draw(t, "partitions"),
		}
		n.Used = rapid.IntRange(0, n.GPUs).Draw(t, "used")
		if n.GPUs > 1 && rapid.Bool().Draw(t, "types") {
			red := rapid.IntRange(1, n.GPUs-1).Draw(t, "red ones")
			n.Types = []nodes.OfType{{Type: "blue", GPUs: n.GPUs - red}, {Type: "red", GPUs: red}}
			n.Types[1].Used = rapid.IntRange(max(0, n.Used-(n.GPUs-red)), min(red, n.Used)).Draw(t, "red ones used")
			n.Types[0].Used = n.Used - n.Types[1].Used
		}
		n.Spanning = rapid.IntRange(0, min(1, n.Used)).Draw(t, "spanning")
		if rapid.Bool().Draw(t, "cpus known") {
			n.CPUs, n.CPUsUsed = 16, rapid.IntRange(0, 16).Draw(t, "cpus used")
			n.MemoryMB, n.MemUsedMB = 1000, int64(rapid.IntRange(0, 1000).Draw(t, "memory used"))
		}
		out = append(out, n)
	}
	return out
}

func requests(t *rapid.T) []nodes.Request {
	var out []nodes.Request
	share := rapid.Bool().Draw(t, "share")
	for i := range rapid.IntRange(0, 8).Draw(t, "requests") {
		r := nodes.Request{
			ID:          int64(i + 1),
			GPUs:        rapid.IntRange(1, 12).Draw(t, "gpus"),
			Partition:   rapid.SampledFrom([]string{"", "gpu", "fast", "gpu,fast"}).Draw(t, "partition"),
			Uneven:      rapid.Bool().Draw(t, "uneven"),
			CPUsPerGPU:  rapid.IntRange(0, 3).Draw(t, "cpus"),
			MemPerGPUMB: int64(rapid.SampledFrom([]int{0, 100, 400}).Draw(t, "memory")),
			Type:        rapid.SampledFrom([]string{"", "", "red", "blue"}).Draw(t, "type asked for"),
			MaxNodes:    rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "max nodes"),
			Share:       share,
		}
		if rapid.IntRange(0, 4).Draw(t, "keep") == 0 {
			r.Keep = nodes.Placement{{Node: "n1", GPUs: r.GPUs}}
		}
		out = append(out, r)
	}
	return out
}

func find(inv []nodes.Node, name string) (nodes.Node, int) {
	for i, n := range inv {
		if n.Name == name {
			return n, i
		}
	}
	return nodes.Node{}, -1
}

// inOnePartition reports whether some listed partition has all the nodes.
func inOnePartition(inv []nodes.Node, r nodes.Request, p nodes.Placement) bool {
	for _, partition := range map[string][]string{"": {""}, "gpu": {"gpu"}, "fast": {"fast"}, "gpu,fast": {"gpu", "fast"}}[r.Partition] {
		all := true
		for _, s := range p {
			n, _ := find(inv, s.Node)
			all = all && n.In(partition)
		}
		if all {
			return true
		}
	}
	return false
}

func TestPlaceProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inv, reqs := inventories(t), requests(t)
		before := append([]nodes.Node(nil), inv...)
		got := nodes.Place(inv, reqs)
		if !reflect.DeepEqual(inv, before) {
			t.Fatal("the caller's inventory changed")
		}
		if !reflect.DeepEqual(got, nodes.Place(inv, reqs)) {
			t.Fatal("a second call answers otherwise")
		}
		after := inv
		for i, r := range reqs {
			res := got[i]
			if res.ID != r.ID || res.Fits > r.GPUs || (len(res.Placement) > 0) != (res.Fits == r.GPUs) {
				t.Fatalf("%+v: %+v", r, res)
			}
			if len(r.Keep) > 0 {
				if !res.Placement.Equal(r.Keep) {
					t.Fatalf("%+v moved to %v", r, res.Placement)
				}
				continue
			}
			if len(res.Placement) == 0 {
				continue
			}
			if res.Placement.GPUs() != r.GPUs || !inOnePartition(inv, r, res.Placement) ||
				(r.MaxNodes > 0 && len(res.Placement) > r.MaxNodes) || (!r.Uneven && !res.Placement.Even()) {
				t.Fatalf("%+v got %v", r, res.Placement)
			}
			after = nodes.With(after, r.Load(res.Placement))
		}
		overfull(t, inv, after)
		ofTypes(t, inv, reqs, got)
		if len(reqs) > 0 && !reqs[0].Share {
			unshared(t, inv, after)
		}
		reachable(t, inv, after, reqs, got)
	})
}

// unshared fails if a job on several nodes was placed on a node of another such job.
func unshared(t *rapid.T, before, after []nodes.Node) {
	for i, n := range after {
		if n.Spanning > max(1, before[i].Spanning) {
			t.Fatalf("%s is shared: %+v, before %+v", n.Name, n, before[i])
		}
	}
}

// overfull fails if more is used on a node than it had.
func overfull(t *rapid.T, before, after []nodes.Node) {
	for i, n := range after {
		if n.Used == before[i].Used {
			continue
		}
		if !n.Usable || n.Used > n.GPUs || (n.CPUs > 0 && n.CPUsUsed > n.CPUs) ||
			(n.MemoryMB > 0 && n.MemUsedMB > max(n.MemoryMB, before[i].MemUsedMB)) {
			t.Fatalf("%s overfull: %+v, before %+v", n.Name, n, before[i])
		}
	}
}

// ofTypes fails if requests for a type got more of it on a node than was free.
func ofTypes(t *rapid.T, inv []nodes.Node, reqs []nodes.Request, got []nodes.Result) {
	for _, n := range inv {
		for _, of := range n.Types {
			given := 0
			for i, r := range reqs {
				if r.Type == of.Type && len(r.Keep) == 0 {
					given += got[i].Placement.On(n.Name)
				}
			}
			if given > 0 && of.Used+given > of.GPUs {
				t.Fatalf("%d GPUs of type %s given on %+v", given, of.Type, n)
			}
		}
	}
}

// reachable fails if Slurm would split a job differently, whether it starts before all
// others placed with it or after them.
func reachable(t *rapid.T, before, after []nodes.Node, reqs []nodes.Request, got []nodes.Result) {
	for i, res := range got {
		p := res.Placement
		if len(p) == 0 || len(reqs[i].Keep) > 0 || p.Even() {
			continue
		}
		var first, last, want []int
		at := -1
		for _, s := range p {
			_, k := find(before, s.Node)
			if k <= at {
				t.Fatalf("%v is not in node order", p)
			}
			at = k
			first = append(first, before[k].FreeOf(reqs[i].Type))
			last = append(last, max(after[k].FreeOf(reqs[i].Type), after[k].Left(reqs[i].Type))+s.GPUs)
			want = append(want, s.GPUs)
		}
		if a, b := nodes.GreedySplit(first, p.GPUs()), nodes.GreedySplit(last, p.GPUs()); !reflect.DeepEqual(a, want) || !reflect.DeepEqual(b, want) {
			t.Fatalf("%v: Slurm gives %v if it starts first, %v if last", p, a, b)
		}
	}
}

// A single job is placed whenever any placement exists.
func TestPlaceFindsWhatExists(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		inv := inventories(t)
		r := nodes.Request{GPUs: rapid.IntRange(1, 12).Draw(t, "gpus"), Partition: "gpu", Uneven: rapid.Bool().Draw(t, "uneven"), Share: rapid.Bool().Draw(t, "share")}
		exists := false
		for m := 1; m <= len(inv); m++ {
			room, total := 0, 0
			for _, n := range inv {
				if !n.In("gpu") || n.Free() == 0 || (n.CPUs > 0 && n.CPUs == n.CPUsUsed) || (m > 1 && n.Spanning > 0 && !r.Share) {
					continue
				}
				total += n.Free()
				if n.Free()*m >= r.GPUs {
					room++
				}
			}
			exists = exists || (r.GPUs%m == 0 && room >= m) || (r.Uneven && m > 1 && total >= r.GPUs)
		}
		if got := nodes.Place(inv, []nodes.Request{r})[0]; exists != (len(got.Placement) > 0) {
			t.Fatalf("exists %v, got %+v", exists, got)
		}
	})
}

func TestGreedySplitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		free := rapid.SliceOfN(rapid.IntRange(0, 8), 0, 5).Draw(t, "free")
		gpus := rapid.IntRange(0, 30).Draw(t, "gpus")
		split, sum := nodes.GreedySplit(free, gpus), 0
		for i, k := range split {
			if k < 1 || k > free[i] {
				t.Fatalf("%v of %v", split, free)
			}
			sum += k
		}
		if split != nil && (sum != gpus || len(split) == 0) {
			t.Fatalf("%v does not add up to %d", split, gpus)
		}
	})
}
