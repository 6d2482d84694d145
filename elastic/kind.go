package elastic

import (
	"strings"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// Kind returns the type of the job's GPUs at a place, as throughput is kept by it
// (speed.KindOf).
func (s Snapshot) Kind(j *Job, place nodes.Placement) string {
	if own := j.Spec.Type(); own != "" {
		return own
	}
	return s.kind(func(n *nodes.Node) bool { return place.On(n.Name) > 0 })
}

// KindIn returns the type of the GPUs that the job can have in the partitions (comma
// separated).
func (s Snapshot) KindIn(j *Job, partitions string) string {
	if own := j.Spec.Type(); own != "" {
		return own
	}
	return s.kind(func(n *nodes.Node) bool { return n.GPUs > 0 && n.InAny(partitions) })
}

// Expect sets every job's curve to the one for the nodes of the first partition it names: the
// expected throughput where the type is not stated.
func (s *Snapshot) Expect() {
	kinds := map[string]string{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		first, _, _ := strings.Cut(j.Partition, ",")
		kind, known := kinds[first]
		switch own := j.Spec.Type(); {
		case own != "":
			kind = own
		case !known:
			kind = s.KindIn(j, first)
			kinds[first] = kind
		}
		j.Curve = j.Curve.On(kind)
	}
}

// kind returns the type of the nodes for which of holds, as speed.KindOf joins types.
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
