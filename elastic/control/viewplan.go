package control

import (
	"cmp"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
)

func viewHistory(r *engine.Report, jr engine.JobReport, segments []engine.Segment) History {
	out := History{Version: WireVersion, At: r.At, Job: viewJob(r, jr), Segments: []Segment{}}
	for _, g := range segments {
		out.Segments = append(out.Segments, Segment{Restarts: g.Restarts, Incarnation: g.Incarnation, Place: placement(g.Place),
			GPUs: g.Place.GPUs(), Started: g.Started, Ended: g.Ended, DoneFrom: finite(g.DoneFrom), DoneTo: finite(g.DoneTo),
			Seconds: finite(g.Seconds), Cause: g.Cause, Price: viewPrice(g.Price)})
	}
	return out
}

func viewPlan(r *engine.Report, p elastic.Plan, sees func(engine.JobReport) bool) Plan {
	out := Plan{Version: WireVersion, At: r.At, Policy: r.Policy, Moves: []Planned{}, Stays: []Planned{}}
	moves := map[elastic.JobID]elastic.Intent{}
	for _, in := range p.Open {
		moves[in.Job] = in
	}
	why := map[elastic.JobID]string{}
	for _, reason := range p.Reasons {
		why[reason.Job] = reason.Why
	}
	for _, jr := range r.Jobs {
		if jr.Ended || !sees(jr) {
			continue
		}
		row := Planned{JobID: int64(jr.Record.ID), Name: jr.Record.Name, User: jr.Record.User,
			From: placement(jr.Job.Place), To: placement(jr.Job.Place), Reason: why[jr.Record.ID]}
		in, moved := moves[jr.Record.ID]
		if !moved {
			out.Stays = append(out.Stays, row)
			continue
		}
		row.Kind, row.To, row.Reason = string(in.Kind), placement(in.Target), cmp.Or(row.Reason, in.Cause)
		out.Moves = append(out.Moves, row)
	}
	return out
}
