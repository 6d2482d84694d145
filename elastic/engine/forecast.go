package engine

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
)

// Forecast is what the next cycle would do about the world as last seen.
type Forecast struct {
	At    time.Time // when the next cycle is due, and what it was judged at
	Plan  elastic.Plan
	Later []Postponed // moves that only wait for a cooldown to end, in the order of jobs
}

// Postponed is a move that would be opened were the job not resting after its last one.
type Postponed struct {
	Intent elastic.Intent
	From   nodes.Placement
	Until  time.Time // the end of the job's cooldown
}

// Plan returns the last snapshot, and what the next cycle would do about it. Nothing is
// recorded or touched. It is false before the first good look.
func (e *Engine) Plan(now time.Time) (elastic.Snapshot, Forecast, bool) {
	if !e.sealed {
		return elastic.Snapshot{}, Forecast{}, false
	}
	s := e.Last.At(track.Later(e.next, now))
	if f := e.foretold; f.by == e.report.Report.Load() && f.by != nil && s.Now.Sub(f.At).Abs() < planFresh {
		return e.Last, f.Forecast, true
	}
	s.Jobs = slices.Clone(s.Jobs)
	e.LookFor(&s, observe.Look{Jobs: e.Seen.Jobs, Nodes: e.Seen.Nodes}).Bar(&s) // a begin time may have come
	f := Forecast{At: s.Now, Plan: decide(e.cfg.Policy, s)}
	f.Later = postponed(e.cfg.Policy, s, f.Plan)
	e.foretold = foretold{f, e.report.Report.Load()}
	return e.Last, f, true
}

// planFresh is for how long a forecast serves all who ask: it is as dear as a decision, and
// any user may ask.
const planFresh = time.Second

// foretold is a forecast and the report on which it was made: each look, order and change of
// the next cycle's time makes another.
type foretold struct {
	Forecast
	by *publish.Report
}

// postponed lists what waits for a cooldown only: what a decision without cooldowns opens
// for jobs that rest.
func postponed(p policy.Policy, s elastic.Snapshot, plan elastic.Plan) (out []Postponed) {
	until := map[elastic.JobID]Postponed{}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; s.Resting(j) && j.Phase == elastic.Running {
			until[j.ID] = Postponed{From: j.Place, Until: s.RestsUntil(j)}
		}
	}
	for _, in := range plan.Open {
		delete(until, in.Job)
	}
	if len(until) == 0 {
		return nil
	}
	s.Limits.Cooldown = 0
	for _, in := range decide(p, s).Open {
		if later, rests := until[in.Job]; rests {
			later.Intent = in
			out = append(out, later)
		}
	}
	return out
}

// due notes when the next cycle is.
func (e *Engine) due(wake time.Time) {
	e.next = wake
	e.report.Change(func(r *publish.Report) { r.Next = wake })
}
