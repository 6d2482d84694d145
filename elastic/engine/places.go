package engine

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// placeless are the jobs that run nobody knows where, and whose split is to be asked for: at most
// maxLookups. One node needs no question; a run over several is asked about once.
func (st *State) placeless(now time.Time) (out []*jobState) {
	for _, js := range st.ordered() {
		sj := js.shown.slurm
		// While a requeued job is cleaned up, Slurm counts the next run already and
		// still shows the nodes of the last.
		if !js.shown.seen || sj.State == slurm.Pending || !sj.OnNodes() || js.placeKnown() {
			js.shown.placeless = time.Time{}
			continue
		}
		if js.shown.placeless.IsZero() {
			js.shown.placeless = now
		}
		if len(sj.Nodes) == 1 {
			js.runsOn(nodes.Placement{{Node: sj.Nodes[0], GPUs: sj.GPUs}})
			continue
		}
		if len(out) == maxLookups {
			break
		}
		out = append(out, js)
	}
	return out
}

// heardSplits takes in the splits that were asked for. A job that Slurm did not tell of is asked
// about again next cycle; until then the last known place stands.
func heardSplits(jobs []*jobState, details map[slurm.JobID]slurm.Detail) {
	for _, js := range jobs {
		var place nodes.Placement
		for _, share := range details[slurm.JobID(js.rec.ID)].Split {
			place = append(place, nodes.Share{Node: share.Node, GPUs: share.GPUs})
		}
		if len(place) > 0 {
			js.runsOn(place)
		}
	}
}

// runsOn notes where the present run is.
func (js *jobState) runsOn(place nodes.Placement) {
	js.rec.Place = place
	js.rec.Restarts, js.shown.placed, js.dirty = js.shown.slurm.Restarts, js.shown.slurm.Start, true
}

// placeKnown reports whether the place on record is that of the run that Slurm shows. A
// slurmctld that forgot its last minutes counts restarts a second time, so that each life
// of the daemon's asks once where each run is, too.
func (js *jobState) placeKnown() bool {
	return js.rec.Restarts == js.shown.slurm.Restarts && js.shown.placed.Equal(js.shown.slurm.Start) && fits(js.rec.Place, js.shown.slurm)
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
func (js *jobState) unplaced() bool {
	return js.shown.seen && js.shown.slurm.State == slurm.Running && !js.shown.slurm.Completing && !js.placeKnown()
}

// unread reports whether the released job runs and where is not known yet. It is asked
// again next cycle; how the move ended is not known before.
func (st *State) unread(in elastic.Intent, now time.Time) bool {
	js := st.byID[in.Job]
	return js != nil && in.Step == elastic.Released && js.unplaced() && now.Sub(js.shown.placeless) < st.Rules.Limits.Confirm
}
