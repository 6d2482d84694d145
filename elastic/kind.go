package elastic

import (
	"strings"

	"github.com/sluice-hpc/sluice/elastic/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// Kind is the type of the GPUs of a place, as speeds are kept by it (speed.KindOf).
func (s Snapshot) Kind(place nodes.Placement) string {
	return s.kind(func(n *nodes.Node) bool { return place.On(n.Name) > 0 })
}

// KindIn is the type of the GPUs of a list of partitions, as Slurm writes it.
func (s Snapshot) KindIn(partitions string) string {
	return s.kind(func(n *nodes.Node) bool { return n.GPUs > 0 && n.InAny(partitions) })
}

// Expect gives every job its curve on the nodes of the first partition it names: that is
// what is expected of it where nothing is said of the kind of node.
func (s *Snapshot) Expect() {
	kinds := map[string]string{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		first, _, _ := strings.Cut(j.Partition, ",")
		kind, known := kinds[first]
		if !known {
			kind = s.KindIn(first)
			kinds[first] = kind
		}
		j.Curve = j.Curve.On(kind)
	}
}

func (s Snapshot) kind(of func(*nodes.Node) bool) string {
	var types []string
	for i := range s.Nodes {
		n := &s.Nodes[i]
		if known := len(types) > 0 && types[len(types)-1] == n.Type; !known && of(n) {
			types = append(types, n.Type)
		}
	}
	return speed.KindOf(types)
}
