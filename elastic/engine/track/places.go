package track

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// Placeless are the jobs that run at an unknown place, and whose split is to be asked for: at most
// MaxLookups. One node needs no question; a run over several is asked about once.
func (ro *Roster) Placeless(now time.Time) (out []*Job) {
	for _, js := range ro.Ordered() {
		sj := js.Shown.Slurm
		// While a requeued job is cleaned up, Slurm counts the next run already and
		// still shows the nodes of the last.
		if !js.Shown.Seen || sj.State == slurm.Pending || !sj.OnNodes() || js.placeKnown() {
			js.Shown.placeless = time.Time{}
			continue
		}
		if js.Shown.placeless.IsZero() {
			js.Shown.placeless = now
		}
		if len(sj.Nodes) == 1 {
			js.runsOn(nodes.Placement{{Node: sj.Nodes[0], GPUs: sj.GPUs}})
			continue
		}
		if len(out) == MaxLookups {
			break
		}
		out = append(out, js)
	}
	return out
}

// HeardSplits takes in the splits that were asked for. A job that Slurm did not tell of is asked
// about again next cycle; until then the last known place stands.
func HeardSplits(jobs []*Job, details map[slurm.JobID]slurm.Detail) {
	for _, js := range jobs {
		var place nodes.Placement
		for _, share := range details[slurm.JobID(js.Rec.ID)].Split {
			place = append(place, nodes.Share{Node: share.Node, GPUs: share.GPUs})
		}
		if len(place) > 0 {
			js.runsOn(place)
		}
	}
}

// runsOn notes where the present run is.
func (js *Job) runsOn(place nodes.Placement) {
	js.Rec.Place = place
	js.Rec.Restarts, js.Shown.placed, js.Dirty = js.Shown.Slurm.Restarts, js.Shown.Slurm.Start, true
}

// placeKnown reports whether the place on record is that of the run that Slurm shows. A
// slurmctld that forgot its last minutes counts restarts a second time, so that each life
// of the daemon's asks once where each run is, too.
func (js *Job) placeKnown() bool {
	return js.Rec.Restarts == js.Shown.Slurm.Restarts && js.Shown.placed.Equal(js.Shown.Slurm.Start) && fits(js.Rec.Place, js.Shown.Slurm)
}

// fits reports whether the placement may be that of the job as Slurm shows it.
func fits(place nodes.Placement, sj slurm.Job) bool {
	for _, n := range place.Nodes() {
		if !slices.Contains(sj.Nodes, n) {
			return false
		}
	}
	return place.GPUs() == sj.GPUs
}

// unplaced reports whether the job runs and its split could not be read yet.
func (js *Job) unplaced() bool {
	return js.Shown.Seen && js.Shown.Slurm.State == slurm.Running && !js.Shown.Slurm.Completing && !js.placeKnown()
}

// Unread reports whether the released job runs and where is not known yet. It is asked
// again next cycle; how the move ended is not known before.
func (st *State) Unread(in elastic.Intent, now time.Time) bool {
	js := st.ByID[in.Job]
	return js != nil && in.Step == elastic.Released && js.unplaced() && now.Sub(js.Shown.placeless) < st.Rules.Limits.Confirm
}
