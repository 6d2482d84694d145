package lookahead

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// How look-ahead policies handle GPU types.

// curve returns a job's curve at a place: if there are several types, the one for the type of
// the place.
func (o *round) curve(p *job, place nodes.Placement) *speed.Curve {
	if !o.several {
		return p.Curve
	}
	return p.Curve.On(o.kindOf(p, place))
}

// typeOf returns the number of a GPU type in problems, on nodes that have several; 0 = any.
func (o *round) typeOf(kind string) int {
	k := slices.Index(o.mixed, kind)
	switch {
	case kind == "" || len(o.mixed) == 0:
		return 0
	case k < 0:
		return len(o.mixed) + 1 // no such node has it
	}
	return k + 1
}

// kindOf returns the type of the job's GPUs at a place, as throughput is kept by it. Nodes that
// are not in the inventory are left out.
func (o *round) kindOf(p *job, place nodes.Placement) string {
	if own := p.Spec.Type(); own != "" {
		return own
	}
	types := make([]string, 0, len(place))
	for _, s := range place {
		if i, known := o.at[s.Node]; known {
			types = append(types, o.snap.Nodes[i].Type)
		}
	}
	return speed.KindOf(types)
}

// byKind is choices for a job that is faster on some GPU types than on others. kinds[g] of a
// choice is for the g-th list of the group's kinds, and is empty where the job cannot run at that
// size. splits are those of the fastest.
func (o *round) byKind(p *job, sizes []int, out []choice) []choice {
	grid := o.grid(p)
	on := make([][][]speed.Timed, len(p.group.kinds))
	for g, classes := range p.group.kinds {
		on[g] = p.Curve.On(o.kindOfClasses(p, classes)).Splits(grid, sizes...)
	}
	for i, n := range sizes {
		kinds := make([][]speed.Timed, len(on))
		var best []speed.Timed
		for g := range on {
			kinds[g] = on[g][i]
			if len(kinds[g]) > 0 && (best == nil || kinds[g][0].Seconds < best[0].Seconds) {
				best = kinds[g]
			}
		}
		if best != nil {
			c := p.choice(n, best)
			c.kinds = kinds
			out = append(out, c)
		}
	}
	return out
}

// acrossTypes reports whether the job can have several GPU types on the classes of nodes only
// if it spans several nodes. classes MUST NOT be empty. Any node stands for its class: all have
// one type.
func (o *round) acrossTypes(p *job, classes []int) bool {
	if p.Spec.Type() != "" {
		return false
	}
	first := o.snap.Nodes[slices.Index(o.class, classes[0])].Type
	return slices.ContainsFunc(classes, func(c int) bool { return o.snap.Nodes[slices.Index(o.class, c)].Type != first })
}

// kindOfClasses returns the type of the job's GPUs on classes of nodes, as throughput is kept
// by it.
func (o *round) kindOfClasses(p *job, classes []int) string {
	if own := p.Spec.Type(); own != "" {
		return own
	}
	types := make([]string, 0, len(classes))
	for _, c := range classes {
		types = append(types, o.snap.Nodes[slices.Index(o.class, c)].Type)
	}
	return speed.KindOf(types)
}
