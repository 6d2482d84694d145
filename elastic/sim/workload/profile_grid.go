package workload

import (
	"maps"
	"slices"
)

// shape is where a grid was measured: the nodes, and the GPUs on them in all.
type shape struct{ nodes, gpus int }

// grid interpolates measurements by nodes, GPUs and batch. The published
// simulator takes any Delaunay triangulation of the points. They are layers, one
// a batch, over the same shapes, so every cell of it is a prism: a cell of the
// Delaunay triangulation of the shapes, between two batches. grid interpolates
// linearly between the batches and in the triangle. Where four shapes lie on one
// circle, the triangulation is any of two, and grid takes the mean of both.
type grid struct {
	at      map[shape]line
	columns []column // ascending by nodes
}

// column is the shapes measured on one number of nodes.
type column struct {
	nodes int
	gpus  []int // ascending
}

func newGrid() *grid { return &grid{at: map[shape]line{}} }

// set notes a measurement; the first of a shape and batch stays.
func (g *grid) set(s shape, local int, t times) {
	if g.at[s].free(local) {
		g.at[s] = g.at[s].with(local, t)
	}
}

// finish orders the shapes, after the last set.
func (g *grid) finish() {
	gpus := map[int][]int{}
	for s := range g.at { // any order: sorted below
		gpus[s.nodes] = append(gpus[s.nodes], s.gpus)
	}
	for _, n := range slices.Sorted(maps.Keys(gpus)) {
		slices.Sort(gpus[n])
		g.columns = append(g.columns, column{n, gpus[n]})
	}
}

// widest returns the most nodes and the most GPUs measured.
func (g *grid) widest() (nodes, gpus int) {
	for _, c := range g.columns {
		nodes, gpus = c.nodes, max(gpus, c.gpus[len(c.gpus)-1])
	}
	return nodes, gpus
}

// corner is a measured shape and its share in an answer.
type corner struct {
	shape
	weight float64
}

// read interpolates; false outside what was measured.
func (g *grid) read(nodes, gpus, local int) (times, bool) {
	corners := g.corners(nodes, gpus)
	low, high, ok := g.layers(corners, local)
	if !ok {
		return times{}, false
	}
	t := g.layer(corners, low)
	if low < high {
		t = t.toward(g.layer(corners, high), float64(local-low)/float64(high-low))
	}
	return t, true
}

func (g *grid) layer(corners []corner, local int) (sum times) {
	for _, c := range corners {
		t, _ := g.at[c.shape].read(local)
		sum.step += c.weight * t.step
		sum.sync += c.weight * t.sync
	}
	return sum
}

// layers returns the nearest batches, one not above and one not below, that were
// measured at every corner.
func (g *grid) layers(corners []corner, local int) (low, high int, ok bool) {
	if len(corners) == 0 {
		return 0, 0, false
	}
	for _, l := range g.at[corners[0].shape].locals {
		if !g.everywhere(corners, l) {
			continue
		}
		if l <= local {
			low = l
		}
		if l >= local {
			return low, l, low > 0
		}
	}
	return low, 0, false
}

func (g *grid) everywhere(corners []corner, local int) bool {
	for _, c := range corners {
		if g.at[c.shape].free(local) {
			return false
		}
	}
	return true
}

// corners returns the shapes around one, with weights that sum to 1; none when
// it lies outside.
func (g *grid) corners(nodes, gpus int) []corner {
	i, hit := slices.BinarySearchFunc(g.columns, nodes, func(c column, n int) int { return c.nodes - n })
	switch {
	case hit:
		return g.columns[i].corners(gpus)
	case i == 0 || i == len(g.columns):
		return nil
	}
	return strip{g.columns[i-1], g.columns[i]}.corners(nodes, gpus)
}

func (c column) corners(gpus int) []corner {
	i, hit := slices.BinarySearch(c.gpus, gpus)
	switch {
	case hit:
		return []corner{{shape{c.nodes, gpus}, 1}}
	case i == 0 || i == len(c.gpus):
		return nil
	}
	f := float64(gpus-c.gpus[i-1]) / float64(c.gpus[i]-c.gpus[i-1])
	return []corner{{shape{c.nodes, c.gpus[i-1]}, 1 - f}, {shape{c.nodes, c.gpus[i]}, f}}
}
