package lookahead

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// What a look ahead knows of the types of GPU of nodes.

// curve is a job's at a place: where there are several kinds of node, on the place's kind.
func (o *round) curve(p *job, place nodes.Placement) *speed.Curve {
	if !o.several {
		return p.Curve
	}
	return p.Curve.On(o.kindOf(p, place))
}

// typeOf is the number by which problems know a type of GPU on nodes that have several; 0 = any.
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

// kindOf is the type of the job's GPUs at a place, as speeds are kept by it.
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

// byKind is choices for a job that is faster on some types of GPU than on others.
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

// acrossTypes reports whether the job has several types of GPU on the classes of nodes only
// if it is on several nodes.
func (o *round) acrossTypes(p *job, classes []int) bool {
	if p.Spec.Type() != "" {
		return false
	}
	first := o.snap.Nodes[slices.Index(o.class, classes[0])].Type
	return slices.ContainsFunc(classes, func(c int) bool { return o.snap.Nodes[slices.Index(o.class, c)].Type != first })
}

// kindOfClasses is the type of the job's GPUs on classes of nodes, as speeds are kept by it.
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
