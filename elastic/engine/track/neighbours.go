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

// KindAt returns the type of a job's GPUs at a place, of several nodes as speed.KindOf joins types, by the last
// observation; "" = not known.
func (cl *Cluster) KindAt(spec *elastic.Spec, place nodes.Placement) string {
	if own := spec.Type(); own != "" {
		return own
	}
	var types []string
	for _, share := range place {
		if kind, there := cl.neighbours().types[share.Node]; there {
			types = append(types, kind)
		}
	}
	return speed.KindOf(types)
}

// sample returns a speed with the kind of GPU, the split and the number of neighbouring jobs at the
// place where it was measured, from the last observation.
func (cl *Cluster) sample(js *Job, place nodes.Placement, seconds float64, now time.Time) speed.Sample {
	a := cl.neighbours()
	others := map[elastic.JobID]bool{}
	for _, share := range place {
		for _, id := range a.jobs[share.Node] {
			others[id] = true
		}
	}
	delete(others, js.Rec.ID)
	return speed.Sample{
		Shape: speed.Shape{GPUs: place.GPUs(), Nodes: len(place)}, Seconds: seconds, Units: 1, At: now,
		Kind: cl.KindAt(&js.Rec.Tag.Spec, place), Split: learn.SplitWords(place.Split()), Beside: len(others),
	}
}
