package track

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/learn"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// neighbours is an index of the last observation by node name.
type neighbours struct {
	types map[string]string // the types of GPU, joined by +
	jobs  map[string][]elastic.JobID
}

// neighbours returns the index of the last observation. It is built once for all samples.
func (cl *Cluster) neighbours() *neighbours {
	if cl.Seen.neighbours == nil {
		a := &neighbours{map[string]string{}, map[string][]elastic.JobID{}}
		for i := range cl.Seen.Nodes {
			a.types[cl.Seen.Nodes[i].Name] = cl.Seen.Nodes[i].Kind()
		}
		for i := range cl.Seen.Jobs {
			if sj := &cl.Seen.Jobs[i]; sj.OnNodes() {
				for _, n := range sj.Nodes {
					a.jobs[n] = append(a.jobs[n], elastic.JobID(sj.ID))
				}
			}
		}
		cl.Seen.neighbours = a
	}
	return cl.Seen.neighbours
}

// sample returns a speed with the kind of GPU, the split and the number of neighbouring jobs at the
// place where it was measured, from the last observation.
func (cl *Cluster) sample(js *Job, place nodes.Placement, seconds float64, now time.Time) speed.Sample {
	a := cl.neighbours()
	types, others := make([]string, 0, len(place)), map[elastic.JobID]bool{}
	for _, share := range place {
		if kind, there := a.types[share.Node]; there {
			types = append(types, kind)
		}
		for _, id := range a.jobs[share.Node] {
			others[id] = true
		}
	}
	delete(others, js.Rec.ID)
	if own := js.Rec.Tag.Spec.Type(); own != "" {
		types = []string{own}
	}
	return speed.Sample{
		Shape: speed.Shape{GPUs: place.GPUs(), Nodes: len(place)}, Seconds: seconds, Units: 1, At: now,
		Kind: speed.KindOf(types), Split: learn.SplitWords(place.Split()), Beside: len(others),
	}
}
