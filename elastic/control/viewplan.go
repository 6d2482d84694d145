package control

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
)

// viewHistory returns the runs, which MUST be oldest first: what a run repeats is the work
// between where it began and where the run before had ended.
func viewHistory(r *publish.Report, jr publish.JobReport, segments []journal.Segment) wire.History {
	return wire.History{Version: wire.Version, At: r.At, Job: viewJob(r, jr), Segments: viewSegments(segments, r.At)}
}

// viewSegments returns a job's runs, with their causes in words as of now.
func viewSegments(segments []journal.Segment, now time.Time) []wire.Segment {
	out := []wire.Segment{}
	for i, g := range segments {
		row := wire.Segment{Restarts: g.Restarts, Incarnation: g.Incarnation, Place: placement(g.Place),
			GPUs: g.Place.GPUs(), Started: g.Started, Ended: g.Ended, DoneFrom: finite(g.DoneFrom), DoneTo: finite(g.DoneTo),
			Seconds: finite(g.Seconds), Cause: say.Reason(g.Cause, now), Why: reason.Value{Reason: g.Cause}, Price: viewPrice(g.Price)}
		if i > 0 {
			row.Again = max(0, finite(segments[i-1].DoneTo-g.DoneFrom))
			row.AgainSeconds = row.Again * finite(segments[i-1].Seconds)
		}
		out = append(out, row)
	}
	return out
}

// viewPlan sorts the live jobs that the caller may see into moves, moves that wait for a cooldown,
// and jobs that stay.
func viewPlan(r *publish.Report, f engine.Forecast, sees func(publish.JobReport) bool) wire.Plan {
	out := wire.Plan{Version: wire.Version, At: r.At, Next: f.At, Policy: r.Policy, Moves: []wire.Planned{}, Later: []wire.Planned{}, Stays: []wire.Planned{}}
	moves, rests := map[elastic.JobID]elastic.Intent{}, map[elastic.JobID]engine.Postponed{}
	for _, in := range f.Plan.Open {
		moves[in.Job] = in
	}
	for _, p := range f.Later {
		rests[p.Intent.Job] = p
	}
	why := map[elastic.JobID]reason.Reason{}
	for _, said := range f.Plan.Reasons {
		why[said.Job] = said.Why
	}
	for _, jr := range r.Jobs {
		if jr.Ended || !sees(jr) {
			continue
		}
		row := wire.Planned{JobID: int64(jr.Record.ID), Name: jr.Record.Name, User: jr.Record.Owner.User,
			From: placement(jr.Job.Place), To: placement(jr.Job.Place)}
		because(&row, why[jr.Record.ID], r.At)
		in, moved := moves[jr.Record.ID]
		if p, later := rests[jr.Record.ID]; later && !moved {
			row.Kind, row.To, row.When = string(p.Intent.Kind), placement(p.Intent.Target), p.Until
			because(&row, p.Intent.Cause, r.At)
			out.Later = append(out.Later, row)
			continue
		}
		if !moved {
			out.Stays = append(out.Stays, row)
			continue
		}
		row.Kind, row.To, row.When = string(in.Kind), placement(in.Target), f.At
		if row.Why.Reason == nil {
			because(&row, in.Cause, r.At)
		}
		out.Moves = append(out.Moves, row)
	}
	return out
}

// because sets the reason in both forms, as text and as code with arguments.
func because(p *wire.Planned, why reason.Reason, now time.Time) {
	p.Reason, p.Why = say.Reason(why, now), reason.Value{Reason: why}
}
