package joint_test

import (
	"cmp"
	"math"
	"slices"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// problems draws small clusters on which some jobs run. Uneven splits are drawn if any split is
// possible, else only with uneven: Slurm allocates them as nodes' free GPUs happen to be.
func problems(t *rapid.T, uneven bool) *joint.Problem {
	p := &joint.Problem{Share: rapid.IntRange(0, 3).Draw(t, "share") == 0, AtOnce: rapid.IntRange(0, 3).Draw(t, "at once") == 0}
	p.Near = rapid.SampledFrom([]float64{0, 0.01}).Draw(t, "near")
	for range rapid.IntRange(1, 4).Draw(t, "nodes") {
		n := joint.Node{
			Free: rapid.IntRange(0, 4).Draw(t, "free"), Class: rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "class"),
			CPUs: rapid.SampledFrom([]int{-1, -1, 4, 8}).Draw(t, "cpus"), MemoryMB: rapid.SampledFrom([]int64{-1, -1, 30, 60}).Draw(t, "memory"),
		}
		if rapid.IntRange(0, 4).Draw(t, "types") == 0 {
			first := rapid.IntRange(0, n.Free).Draw(t, "of the first")
			n.Types = []int{first, n.Free - first}
		}
		n.Spanning = rapid.IntRange(0, 7).Draw(t, "spanning") == 0
		p.Nodes = append(p.Nodes, n)
	}
	for range rapid.IntRange(1, 4).Draw(t, "jobs") {
		p.Jobs = append(p.Jobs, drawJob(t, uneven || p.AtOnce, p.Near == 0))
		settle(t, p)
	}
	return p
}

// drawJob draws a job; with kinds its value may differ between its groups.
func drawJob(t *rapid.T, uneven, kinds bool) joint.Job {
	j := joint.Job{
		Groups:     rapid.SampledFrom([][][]int{{{0}}, {{0}, {1}, {0, 1}}, {{1}}}).Draw(t, "groups"),
		Must:       rapid.IntRange(0, 2).Draw(t, "must") == 0,
		Mixes:      rapid.IntRange(0, 7).Draw(t, "mixes") == 0,
		CPUsPerGPU: rapid.IntRange(0, 3).Draw(t, "cpus a GPU"), MemPerGPUMB: rapid.SampledFrom([]int64{0, 0, 10, 20}).Draw(t, "memory a GPU"),
	}
	j.Type = rapid.SampledFrom([]int{0, 0, 1, 2, 3}).Draw(t, "type")
	kinds = kinds && rapid.IntRange(0, 2).Draw(t, "kinds") == 0
	all := [][]int{{1}, {2}, {1, 1}, {3}, {2, 1}, {1, 1, 1}, {4}, {2, 2}, {3, 1}, {1, 2, 1}}
	for _, size := range rapid.SampledFrom([][]int{{1, 2, 3, 4}, {1, 2, 4}, {2}, {1}, {2, 3}}).Draw(t, "sizes") {
		s := joint.Size{GPUs: size}
		for _, split := range all {
			if sum(split) != size || !uneven && split[0]*len(split) != size {
				continue
			}
			for of := range 1 + len(j.Groups) {
				if (of > 0) == kinds {
					s.Options = append(s.Options, joint.Option{Split: split, Value: 0.1 + 10*rapid.Float64Range(0, 1).Draw(t, "value"), Of: of})
				}
			}
		}
		slices.SortStableFunc(s.Options, func(a, b joint.Option) int { return cmp.Compare(b.Value, a.Value) })
		j.Sizes = append(j.Sizes, s)
	}
	return j
}

// settle may let the last job run somewhere, beside the running ones.
func settle(t *rapid.T, p *joint.Problem) {
	k := len(p.Jobs) - 1
	if rapid.Bool().Draw(t, "waits") {
		return
	}
	w := where(p)
	spots := w.spots(k)
	if len(spots) == 0 {
		return
	}
	j := &p.Jobs[k]
	j.Now = spots[rapid.IntRange(0, len(spots)-1).Draw(t, "spot")]
	j.Stay = worth(p, joint.Job{Sizes: j.Sizes, Groups: j.Groups}, j.Now) * (1 + rapid.Float64Range(0, 1).Draw(t, "stay"))
}

func sum(split []int) (n int) {
	for _, g := range split {
		n += g
	}
	return n
}

// world is a problem's nodes with jobs on them, in the simplest form.
type world struct {
	p     *joint.Problem
	place [][]joint.Share
}

// where returns the places at the beginning.
func where(p *joint.Problem) world {
	w := world{p: p, place: make([][]joint.Share, len(p.Jobs))}
	for i := range p.Jobs {
		w.place[i] = p.Jobs[i].Now
	}
	return w
}

// takes reports whether node n has room for this many GPUs of job i, which is not counted.
func (w world) takes(i, n, gpus int, several bool) bool {
	node, j := w.p.Nodes[n], w.p.Jobs[i]
	free, cpus, mem, spanned := node.Free-gpus, node.CPUs-need(j, gpus), node.MemoryMB-int64(gpus)*j.MemPerGPUMB, node.Spanning
	typed := math.MaxInt
	if node.Types != nil && j.Type > 0 {
		if typed = -gpus; j.Type <= len(node.Types) {
			typed += node.Types[j.Type-1]
		}
	}
	for k, place := range w.place {
		for _, s := range place {
			if k != i && s.Node == n && w.p.Jobs[k].Type == j.Type {
				typed -= s.GPUs
			}
			if k != i && s.Node == n {
				free, cpus, mem = free-s.GPUs, cpus-need(w.p.Jobs[k], s.GPUs), mem-int64(s.GPUs)*w.p.Jobs[k].MemPerGPUMB
				spanned = spanned || len(place) > 1 && !w.p.Jobs[k].Mixes
			}
		}
	}
	return free >= 0 && typed >= 0 && (node.CPUs < 0 || cpus >= 0) && (node.MemoryMB < 0 || j.MemPerGPUMB == 0 || mem >= 0) &&
		!(several && spanned && !w.p.Share && !j.Mixes)
}

func need(j joint.Job, gpus int) int {
	if j.CPUsPerGPU == 0 {
		return 1
	}
	return gpus * j.CPUsPerGPU
}

// fits reports whether job i could be at the place beside the others.
func (w world) fits(i int, place []joint.Share) bool {
	for _, s := range place {
		if !w.takes(i, s.Node, s.GPUs, len(place) > 1) {
			return false
		}
	}
	return true
}

// spots returns every place that job i could have beside the others.
func (w world) spots(i int) (out [][]joint.Share) {
	for _, place := range everywhere(w.p, w.p.Jobs[i]) {
		if w.fits(i, place) {
			out = append(out, place)
		}
	}
	return out
}

// everywhere returns the places of a job's options on an empty cluster.
func everywhere(p *joint.Problem, j joint.Job) (out [][]joint.Share) {
	for _, s := range j.Sizes {
		for _, o := range s.Options {
			for g, group := range j.Groups {
				if o.Of > 0 && o.Of != g+1 {
					continue
				}
				lay(p, group, o.Split, nil, func(place []joint.Share) { out = append(out, slices.Clone(place)) })
			}
		}
	}
	return out
}

// lay calls see with every way to put the split on different nodes of the group.
func lay(p *joint.Problem, group, split []int, place []joint.Share, see func([]joint.Share)) {
	if len(place) == len(split) {
		see(place)
		return
	}
	for n, node := range p.Nodes {
		taken := slices.ContainsFunc(place, func(s joint.Share) bool { return s.Node == n })
		if !taken && slices.Contains(group, node.Class) && split[len(place)] <= node.Free {
			lay(p, group, split, append(place, joint.Share{Node: n, GPUs: split[len(place)]}), see)
		}
	}
}

// reached reports whether there is an order in which every job gets from its present place to
// its place in the world, each with room at its turn. It tries all orders.
func (w world) reached() bool {
	var movers []int
	for i, j := range w.p.Jobs {
		if !slices.Equal(j.Now, w.place[i]) {
			movers = append(movers, i)
		}
	}
	return w.reach(where(w.p), movers)
}

func (w world) reach(from world, movers []int) bool {
	for k, i := range movers {
		was := from.place[i]
		if from.fits(i, w.place[i]) {
			from.place[i] = w.place[i]
			if w.reach(from, slices.Delete(slices.Clone(movers), k, k+1)) {
				return true
			}
			from.place[i] = was
		}
	}
	return len(movers) == 0
}

// best returns the largest value of all plans, by enumerating them.
func best(p *joint.Problem) float64 {
	w := world{p, make([][]joint.Share, len(p.Jobs))}
	most := math.Inf(-1)
	var each func(i int, value float64)
	each = func(i int, value float64) {
		if i == len(p.Jobs) {
			if value > most && (p.AtOnce || w.reached()) {
				most = value
			}
			return
		}
		j := p.Jobs[i]
		if !j.Must {
			each(i+1, value)
		}
		spots := w.spots(i)
		if len(j.Now) > 0 && w.fits(i, j.Now) {
			spots = append(spots, j.Now)
		}
		for _, place := range spots {
			w.place[i] = place
			each(i+1, value+worth(p, j, place))
		}
		w.place[i] = nil
	}
	each(0, 0)
	return most
}
