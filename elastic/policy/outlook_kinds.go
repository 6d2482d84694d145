package policy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// What a look ahead knows of the types of GPU of nodes.

// curve is a job's at a place: where there are several kinds of node, on the place's kind.
func (o *outlook) curve(p *prospect, place nodes.Placement) *speed.Curve {
	if !o.several {
		return p.Curve
	}
	return p.Curve.On(o.kindOf(place))
}

// kindOf is the type of the GPUs of a place, as speeds are kept by it.
func (o *outlook) kindOf(place nodes.Placement) string {
	types := make([]string, 0, len(place))
	for _, s := range place {
		if i, known := o.at[s.Node]; known {
			types = append(types, o.snap.Nodes[i].Type)
		}
	}
	return speed.KindOf(types)
}

// byKind is choices for a job that is faster on some types of GPU than on others.
func (o *outlook) byKind(p *prospect, sizes []int, out []choice) []choice {
	grid := o.grid(p)
	on := make([][][]speed.Timed, len(p.group.kinds))
	for g, classes := range p.group.kinds {
		on[g] = p.Curve.On(o.kindOfClasses(classes)).Splits(grid, sizes...)
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

// kindOfClasses is the type of the GPUs of classes of nodes, as speeds are kept by it.
func (o *outlook) kindOfClasses(classes []int) string {
	types := make([]string, 0, len(classes))
	for _, c := range classes {
		types = append(types, o.snap.Nodes[slices.Index(o.class, c)].Type)
	}
	return speed.KindOf(types)
}
