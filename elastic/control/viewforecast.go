package control

import (
	"context"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/forecast"
)

// forecastWithin is the longest that a request waits for a forecast, its turn included. It MUST be shorter
// than the client's own deadline.
const forecastWithin = 30 * time.Second

// forecast answers with what is expected of the jobs that the caller may see. It is computed once a cycle
// for all callers.
func (s *Server) forecast(q request) (any, error) {
	if _, err := s.published(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(q.Context(), forecastWithin)
	defer cancel()
	p, err := s.service.Forecast(ctx)
	if err != nil {
		return nil, lateForecast(ctx, err)
	}
	r, err := s.published()
	if err != nil {
		return nil, err
	}
	return viewForecast(r, p, q.sees), nil
}

func lateForecast(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return wire.Fail(wire.Unavailable, "try again in a minute", "the forecast was not ready within %v", forecastWithin)
	}
	return err
}

// whatIf answers with the expected ends with and without a change of one job, or a new sweep. It orders
// nothing, so it is allowed to every caller that may see the job, and a sweep to every caller.
func (s *Server) whatIf(q request) (any, error) {
	var change wire.WhatIf
	if err := q.read(&change); err != nil {
		return nil, err
	}
	if err := change.Validate(); err != nil {
		return nil, wire.Fail(wire.BadRequest, "", "%v", err)
	}
	if change.Submit == nil { // a sweep that is tried concerns no job
		q.SetPathValue("job", strconv.FormatInt(change.JobID, 10))
		r, jr, err := s.about(q, verbWhatIf)
		if err != nil {
			return nil, err
		}
		if err := fits(r, jr, ordered(change)); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(q.Context(), forecastWithin)
	defer cancel()
	if err := s.guesses.take(ctx, strconv.FormatUint(uint64(q.caller.UID), 10)); err != nil {
		return nil, lateForecast(ctx, err)
	}
	defer s.guesses.give()
	before, after, err := s.service.WhatIf(ctx, q.caller, change)
	if err != nil {
		return nil, lateForecast(ctx, err)
	}
	r, err := s.published()
	if err != nil {
		return nil, err
	}
	out := viewWhatIf(r, change, viewForecast(r, before, q.sees), viewForecast(r, after, q.sees))
	if change.Submit != nil {
		out.Added = viewAdded(*change.Submit, q.caller.Name, before, after)
	}
	return out, nil
}

// viewAdded is the jobs that only the second projection has.
func viewAdded(sub wire.Submission, user string, before, after forecast.Projection) (out []wire.Expected) {
	had := make(map[elastic.JobID]bool, len(before.Jobs))
	for i := range before.Jobs {
		had[before.Jobs[i].ID] = true
	}
	for i := range after.Jobs {
		if j := &after.Jobs[i]; !had[j.ID] {
			lane := wire.Expected{JobID: int64(j.ID), Name: sub.Name, User: user}
			out = append(out, expected(lane, j))
		}
	}
	return out
}

// ordered is the order that a what-if tries, for the checks of an order.
func ordered(w wire.WhatIf) wire.Change {
	switch {
	case w.GPUs != 0:
		return wire.Change{Order: wire.Pin, GPUs: w.GPUs}
	case w.Hold:
		return wire.Change{Order: wire.Hold}
	case w.End:
		return wire.Change{}
	}
	return wire.Change{Order: wire.NewDeadline, Deadline: w.Deadline, Soft: w.Soft}
}

// viewForecast is the projection of the jobs that the caller may see.
func viewForecast(r *publish.Report, p forecast.Projection, sees func(publish.JobReport) bool) wire.Forecast {
	out := wire.Forecast{Version: wire.Version, At: p.At, Until: p.Until, Policy: r.Policy, Blind: r.Blind, Complete: p.Stop == forecast.Complete,
		Stopped: string(p.Stop), Steps: p.Steps, Jobs: []wire.Expected{}}
	known := make(map[elastic.JobID]*forecast.Job, len(p.Jobs))
	for i := range p.Jobs {
		known[p.Jobs[i].ID] = &p.Jobs[i]
	}
	for _, jr := range r.Jobs {
		if j := known[jr.Record.ID]; j != nil && !jr.Ended && sees(jr) {
			out.Jobs = append(out.Jobs, viewExpected(jr, j))
		}
	}
	return out
}

func viewExpected(jr publish.JobReport, j *forecast.Job) wire.Expected {
	out := expected(wire.Expected{JobID: int64(j.ID), Name: jr.Record.Name, User: jr.Record.Owner.User, GPUs: jr.Job.GPUs(), Deadline: jr.Record.Tag.Spec.Deadline}, j)
	if due := out.Deadline; !due.IsZero() && !j.Ends.IsZero() && !j.Limit {
		meets := !j.Ends.After(due)
		out.Meets = &meets
	}
	return out
}

// expected adds what is expected of a job.
func expected(out wire.Expected, j *forecast.Job) wire.Expected {
	out.Starts, out.Ends, out.Low, out.High, out.Sure = j.Starts, j.Ends, j.Low, j.High, finite(j.Sure)
	out.Limit, out.Unknown, out.Sizes = j.Limit, string(j.Unknown), []wire.Expecting{}
	for _, g := range j.Segments {
		out.Sizes = append(out.Sizes, wire.Expecting{From: g.From, To: g.To, GPUs: g.GPUs, Nodes: g.Nodes, Moves: g.Moves, Sure: finite(g.Sure)})
	}
	return out
}

// viewWhatIf compares two forecasts of the same jobs.
func viewWhatIf(r *publish.Report, change wire.WhatIf, before, after wire.Forecast) wire.WhatIfAnswer {
	out := wire.WhatIfAnswer{Version: wire.Version, At: before.At, Policy: r.Policy, Change: change, Jobs: []wire.Difference{}}
	then := make(map[int64]wire.Expected, len(after.Jobs))
	for _, j := range after.Jobs {
		then[j.JobID] = j
	}
	for _, b := range before.Jobs {
		a, stays := then[b.JobID]
		if !stays {
			a = wire.Expected{JobID: b.JobID, Name: b.Name, User: b.User, Ends: before.At, Low: before.At, High: before.At, Sure: 1, Sizes: []wire.Expecting{}}
		}
		d := wire.Difference{JobID: b.JobID, Name: b.Name, User: b.User, Before: b, After: a}
		if !b.Ends.IsZero() && !a.Ends.IsZero() {
			later := a.Ends.Sub(b.Ends).Seconds()
			d.Later = &later
			out.Before += b.Ends.Sub(before.At).Seconds()
			out.After += a.Ends.Sub(before.At).Seconds()
		}
		out.Jobs = append(out.Jobs, d)
	}
	return out
}
