package engine

import (
	"context"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// readSplits learns where each run really is. One node needs no question; a run
// over several is asked about once.
func (e *Engine) readSplits(ctx context.Context, now time.Time) {
	lookups := 0
	for _, js := range e.ordered() {
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
			js.rec.Place = nodes.Placement{{Node: sj.Nodes[0], GPUs: sj.GPUs}}
			js.rec.Restarts, js.shown.placed, js.dirty = sj.Restarts, sj.Start, true
			continue
		}
		if lookups++; lookups > maxLookups {
			return
		}
		detail, err := e.cfg.Slurm.Job(ctx, sj.ID)
		if err != nil || len(detail.Split) == 0 {
			continue // asked again next cycle; until then the last known place stands
		}
		js.rec.Place = js.rec.Place[:0:0]
		for _, share := range detail.Split {
			js.rec.Place = append(js.rec.Place, nodes.Share{Node: share.Node, GPUs: share.GPUs})
		}
		js.rec.Restarts, js.shown.placed, js.dirty = sj.Restarts, sj.Start, true
	}
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
func (e *Engine) unread(in elastic.Intent, now time.Time) bool {
	js := e.byID[in.Job]
	return js != nil && in.Step == elastic.Released && js.unplaced() && now.Sub(js.shown.placeless) < e.cfg.Limits.Confirm
}
