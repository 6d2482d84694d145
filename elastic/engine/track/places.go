package track

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// Placeless returns at most MaxLookups jobs that run at an unknown placement, those queried longest
// ago first. The split of a run on one node is known without a query; one on several nodes is
// queried once. The caller MUST query the returned jobs and pass the answers to HeardSplits. Slurm's
// list of jobs has nodes and a number of GPUs, and no split.
func (ro *Roster) Placeless(now time.Time) (out []*Job) {
	for _, js := range ro.Ordered() {
		sj := js.Shown.Slurm
		// While a requeued job completes, Slurm already counts the next restart but still
		// shows the nodes of the last run.
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
		out = append(out, js)
	}
	slices.SortStableFunc(out, func(a, b *Job) int { return a.Shown.splitAsked.Compare(b.Shown.splitAsked) })
	out = out[:min(len(out), MaxLookups)]
	for _, js := range out {
		js.Shown.splitAsked = now
	}
	return out
}

// HeardSplits stores the splits that were queried. A job without an answer is queried again in the
// next cycle and keeps its last known placement until then.
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

// runsOn records the placement of the present run. Place and Restarts belong together; they
// are set only here and in hadRun.
func (js *Job) runsOn(place nodes.Placement) {
	js.Rec.Place = place
	js.Rec.Restarts, js.Shown.placed, js.Dirty = js.Shown.Slurm.Restarts, js.Shown.Slurm.Start, true
}

// placeKnown reports whether the recorded placement is that of the run that Slurm shows. A
// slurmctld that lost its last minutes may give two runs the same restart count, so the
// start time is compared too; it is not stored, so that each run is queried once more after
// a restart of the daemon.
func (js *Job) placeKnown() bool {
	return js.Rec.Restarts == js.Shown.Slurm.Restarts && js.Shown.placed.Equal(js.Shown.Slurm.Start) && fits(js.Rec.Place, js.Shown.Slurm)
}

// fits reports whether the placement agrees with the nodes and GPUs that Slurm shows.
func fits(place nodes.Placement, sj slurm.Job) bool {
	for _, n := range place.Nodes() {
		if !slices.Contains(sj.Nodes, n) {
			return false
		}
	}
	return place.GPUs() == sj.GPUs
}

// unplaced reports whether the job runs and its split is not known yet.
func (js *Job) unplaced() bool {
	return js.Shown.Seen && js.Shown.Slurm.State == slurm.Running && !js.Shown.Slurm.Completing && !js.placeKnown()
}

// Unread reports whether the job of a released move runs and its placement is not known yet. It is
// queried again in the next cycle; the move cannot be judged before. After Limits.Confirm it is
// judged by the last known placement.
func (st *State) Unread(in elastic.Intent, now time.Time) bool {
	js := st.ByID[in.Job]
	return js != nil && in.Step == elastic.Released && js.unplaced() && now.Sub(js.Shown.placeless) < st.Rules.Limits.Confirm
}
