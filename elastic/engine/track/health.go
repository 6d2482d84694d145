package track

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/slurm"
)

// speechless is the age of a runner's heartbeat from which its report about GPUs is ignored.
const speechless = 5 * time.Minute

// HearGPUs applies the runners' reports about their GPUs. It MUST be called once a cycle, AFTER Fold,
// so that the report of a run that has just failed still counts: a bad GPU may be why. What a report
// can cause is bounded by Rules.Health (decision 16).
func (st *State) HearGPUs(now time.Time) {
	before := st.Health.Findings(st.Rules.Health)
	var seen []elastic.Sighting
	own := map[*Job][]elastic.Sighting{}
	for _, js := range st.Ordered() {
		js.Learnt.Gauged.Known = false
		if devices := js.devices(now); len(devices) > 0 {
			own[js] = js.sightings(devices)
			seen = append(seen, own[js]...)
			js.notice(devices, now)
		}
		js.noteUnfit()
	}
	st.Health = st.Health.Hear(seen, now, st.Rules.Health)
	out := st.excluded()
	for _, js := range st.Jobs {
		js.Learnt.onUnfitGPU = slices.ContainsFunc(own[js], func(s elastic.Sighting) bool { return s.Unfit != "" && out[s.Node] })
	}
	st.TellHealth(before, now)
}

// devices returns the report of the runner of the present run, or of one that has just ended,
// about GPUs on nodes that Slurm allocated to the job. It is empty if the last heartbeat is
// older than speechless or the job's placement is not known.
func (js *Job) devices(now time.Time) []checkpoint.Devices {
	ended := js.Shown.Slurm.State.Ended() && (js.Rec.Ended.IsZero() || js.Over.noticed.Equal(now)) // of what failed it, perhaps
	if !js.Shown.Seen || js.Shown.Disown || js.Shown.Slurm.State != slurm.Running && !ended || !js.Mail.runner.ok ||
		js.Rec.Restarts != js.Shown.Slurm.Restarts || now.Sub(js.Mail.runner.word.Beat) > speechless {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(js.Mail.runner.word.Devices), func(d checkpoint.Devices) bool {
		return js.Rec.Place.On(d.Node) == 0
	})
}

// sightings returns the report on each GPU, fit or unfit: a fit one ends complaints (elastic.Health,
// Hear).
func (js *Job) sightings(devices []checkpoint.Devices) []elastic.Sighting {
	var out []elastic.Sighting
	for _, d := range devices {
		for _, g := range d.GPUs {
			out = append(out, elastic.Sighting{Node: d.Node, GPU: g.Key(), Label: g.Label(),
				Job: js.Rec.ID, UID: js.Rec.Owner.UID, User: js.Rec.Owner.User, Unfit: g.Unfit})
		}
	}
	return out
}

// noteUnfit sets or clears the job's problem about unfit GPUs.
func (js *Job) noteUnfit() {
	delete(js.Tells.Problem, "gpus")
	if !js.Mail.runner.ok || js.Shown.Slurm.State != slurm.Running {
		return
	}
	for _, d := range js.Mail.runner.word.Devices {
		for _, g := range d.GPUs {
			if g.Unfit != "" {
				js.Tells.Problem["gpus"] = fmt.Sprintf("%s on %s is unfit: %s; tell the operators. 'sluice nodes' shows what follows", g.Label(), d.Node, g.Unfit)
				return
			}
		}
	}
}

// excluded returns the nodes that are excluded because of unfit GPUs.
func (st *State) excluded() map[string]bool {
	out := map[string]bool{}
	for _, f := range st.Health.Findings(st.Rules.Health) {
		out[f.Node] = f.Excluded
	}
	return out
}

// TellHealth logs the nodes that became excluded or usable since before.
func (st *State) TellHealth(before []elastic.Finding, now time.Time) {
	was := map[string]bool{}
	for _, f := range before {
		was[f.Node] = f.Excluded
	}
	for _, f := range st.Health.Findings(st.Rules.Health) {
		if f.Excluded && !was[f.Node] {
			st.Tell(now, 0, "health", fmt.Sprintf("nothing new is placed on %s: %s", f.Node, f.Why))
		}
		if f.Excluded {
			delete(was, f.Node)
		}
	}
	for _, f := range before {
		if was[f.Node] {
			st.Tell(now, 0, "health", f.Node+" is used again")
		}
	}
}

// repeated is by how much the time of a complaint may be newer than in the journal, so that an
// unchanged complaint is not written in every cycle.
const repeated = time.Minute

// HealthUnsaved reports whether the journal lacks a complaint about GPUs.
func (c *Cluster) HealthUnsaved() bool {
	return !slices.EqualFunc(c.Health, c.Kept, func(now, kept elastic.Complaint) bool {
		fresh := now.Last.Sub(kept.Last).Abs() < repeated
		now.First, now.Last = kept.First, kept.Last
		return fresh && now == kept
	})
}

// gauged is the measured utilisation of a job's GPUs.
type gauged struct {
	Known bool
	Share float64 // mean of the last minutes, from 0 to 1
	mig   bool    // slices, of a fixed number

	// idle is the share of time without work, from 0 to 1, of a run that had settled, in the
	// shape at. It is kept until there is a newer measurement.
	idle float64
	at   speed.Shape
}

const (
	// settled is how long a run must have trained before its utilisation counts: GPUs are
	// idle while data is loaded.
	settled = 10 * time.Minute
	// lazy is the idle share from which on it lowers the expected speed at larger sizes.
	lazy = 0.5
	// grain is the step to which the idle share is rounded, so that a decision does not
	// change with every hundredth.
	grain = 0.1
)

// notice updates the measured utilisation of the job's GPUs. A measurement counts only for a run that
// has settled. A smaller size that shows busy GPUs says nothing of the larger one at which they were
// idle, so that the doubt stays.
func (js *Job) notice(devices []checkpoint.Devices, now time.Time) {
	g := &js.Learnt.Gauged
	g.mig = checkpoint.Sliced(devices)
	count := 0
	for _, d := range devices {
		count += len(d.GPUs)
	}
	share, known := checkpoint.Utilisation(devices)
	g.Known, g.Share = known && count == js.Rec.Place.GPUs(), share
	steady := js.Runs.Seg != nil && js.Runs.Seg.Restarts == js.Restarts() && js.Runs.Seg.Seconds > 0 && now.Sub(js.Mail.runner.word.FirstLine) >= settled
	if !g.Known || !steady {
		return
	}
	shape := speed.Shape{GPUs: count, Nodes: len(js.Rec.Place)}
	seen := math.Round((1-share)/grain) * grain
	switch {
	case shape == g.at && math.Abs(1-share-g.idle) < grain: // as it was, but for a grain
	case seen >= lazy:
		g.idle, g.at = seen, shape
	case shape.GPUs >= g.at.GPUs:
		g.idle, g.at = 0, shape
	}
}

// Doubted returns the job's curve, lowered at larger sizes if its GPUs were idle. fresh: the
// curve is new, and the caller stores it in Lazy.
func (l *learnt) Doubted(c *speed.Curve) (_ lazyCurve, fresh bool) {
	g, kept := &l.Gauged, l.Lazy
	switch {
	case g.idle < lazy:
		return lazyCurve{Curve: c}, false
	case kept.Curve == nil || kept.from != c || kept.idle != g.idle || kept.at != g.at:
		return lazyCurve{from: c, idle: g.idle, at: g.at, Curve: c.Idle(g.at, g.idle)}, true
	}
	return kept, false
}
