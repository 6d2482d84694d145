package track

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/learn"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// around is what the last look says of each node, by its name.
type around struct {
	types map[string]string // of GPU; of several all, joined by +
	jobs  map[string][]elastic.JobID
}

// around answers of the last look; it is gathered once, however many samples ask.
func (st *State) around() *around {
	if st.Seen.around == nil {
		a := &around{map[string]string{}, map[string][]elastic.JobID{}}
		for i := range st.Seen.Nodes {
			a.types[st.Seen.Nodes[i].Name] = st.Seen.Nodes[i].Kind()
		}
		for i := range st.Seen.Jobs {
			if sj := &st.Seen.Jobs[i]; sj.OnNodes() {
				for _, n := range sj.Nodes {
					a.jobs[n] = append(a.jobs[n], elastic.JobID(sj.ID))
				}
			}
		}
		st.Seen.around = a
	}
	return st.Seen.around
}

// sample is a speed with what the last look says of the place it was seen at.
func (st *State) sample(js *Job, place nodes.Placement, seconds float64, now time.Time) speed.Sample {
	a := st.around()
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
