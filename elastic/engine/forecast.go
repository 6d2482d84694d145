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

// Forecast is what the next cycle would do if nothing changed until then.
type Forecast struct {
	At    time.Time // when the next cycle is due, or now if later; the plan was made for this time
	Plan  elastic.Plan
	Later []Postponed // moves that wait only for the end of a cooldown
}

// Postponed is a move that would be opened if the job's cooldown were over.
type Postponed struct {
	Intent elastic.Intent
	From   nodes.Placement
	Until  time.Time // the end of the job's cooldown
}

// Plan returns the last snapshot, and what the next cycle would do with it. It has no effects. It
// returns false before the first complete cycle.
func (e *Engine) Plan(now time.Time) (elastic.Snapshot, Forecast, bool) {
	if !e.sealed {
		return elastic.Snapshot{}, Forecast{}, false
	}
	s := e.Last.At(track.Later(e.next, now))
	if f := e.foretold; f.by == e.report.Report.Load() && f.by != nil && s.Now.Sub(f.At).Abs() < planFresh {
		return e.Last, f.Forecast, true
	}
	s.Jobs = slices.Clone(s.Jobs)
	e.LookFor(&s, observe.Look{Jobs: e.Seen.Jobs, Nodes: e.Seen.Nodes}).Bar(&s) // a begin time may be past by then
	f := Forecast{At: s.Now, Plan: decide(e.cfg.Policy, s)}
	f.Later = postponed(e.cfg.Policy, s, f.Plan)
	e.foretold = foretold{f, e.report.Report.Load()}
	return e.Last, f, true
}

// planFresh is for how long a forecast is reused. It costs as much as a decision, and any user may
// request one.
const planFresh = time.Second

// foretold is a forecast and the report it belongs to. Every cycle and every change of the report
// replaces the report, and so invalidates the forecast.
type foretold struct {
	Forecast
	by *publish.Report
}

// postponed returns the moves that a decision without cooldowns would open, for running jobs in
// their cooldown.
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

// due records when the next cycle is due.
func (e *Engine) due(wake time.Time) {
	e.next = wake
	e.report.Change(func(r *publish.Report) { r.Next = wake })
}
