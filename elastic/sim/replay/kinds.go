package replay

import (
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// kinds is the types of the cluster's GPUs and how fast jobs are on each.
type kinds struct {
	types  []string // in order of the inventory
	of     map[string]string
	all    string // all types together, where nothing is said of the nodes
	faster func(model, kind string) float64
}

func newKinds(cfg Config) *kinds {
	k := &kinds{of: make(map[string]string, len(cfg.Nodes)), faster: cfg.Faster}
	for _, n := range cfg.Nodes {
		k.of[n.Name] = n.Type
		if !slices.Contains(k.types, n.Type) {
			k.types = append(k.types, n.Type)
		}
	}
	k.all = speed.KindOf(k.types)
	return k
}

// differ reports whether jobs are not as fast on every type.
func (k *kinds) differ() bool { return k.faster != nil }

// on is the type of a place.
func (k *kinds) on(place nodes.Placement) string {
	if len(k.types) == 1 {
		return k.all
	}
	types := make([]string, len(place))
	for i, s := range place {
		types[i] = k.of[s.Node]
	}
	return speed.KindOf(types)
}

// times is how many times as fast a job is at a place as its workload says.
func (k *kinds) times(j workload.Job, place nodes.Placement) float64 {
	if k.faster == nil {
		return 1
	}
	slowest := math.Inf(1)
	for _, s := range place {
		slowest = min(slowest, k.faster(j.Spec.Model, k.of[s.Node]))
	}
	return slowest
}

// best is how many times as fast a job is on the type it is fastest on.
func (k *kinds) best(j workload.Job) float64 {
	if k.faster == nil {
		return 1
	}
	most := 0.0
	for _, kind := range k.types {
		most = max(most, k.faster(j.Spec.Model, kind))
	}
	return most
}

// known is a job's curve that knows every answer, on every type.
func (k *kinds) known(j workload.Job) *speed.Curve {
	if k.faster == nil {
		return speed.Known(j.Speeds.Seconds)
	}
	on := make(map[string]*speed.Curve, len(k.types))
	for _, kind := range k.types {
		times := k.faster(j.Spec.Model, kind)
		on[kind] = speed.Known(func(split []int) float64 { return j.Speeds.Seconds(split) / times })
	}
	return speed.Kinds(k.types, on).On(k.all)
}
