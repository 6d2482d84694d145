package controltest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/feed"
	"github.com/sluice-hpc/sluice/elastic/forecast"
	"github.com/sluice-hpc/sluice/elastic/past"
)

// Service is a control.Service with canned values. Once it is served, its fields MUST be
// changed through Set only.
type Service struct {
	Last   *publish.Report // nil: no cycle yet
	Err    error           // error of Plan, Direct and Segments
	Refuse func(elastic.JobID, wire.Change) error

	mu    sync.Mutex
	asked []string
	feed  *feed.Feed
}

// New returns a service over the canned report.
func New() *Service {
	Speeds() // MUST run BEFORE a request: on a busy machine it takes longer than a client waits
	return &Service{Last: Report(), feed: feed.New("test")}
}

var _ control.Service = (*Service)(nil)

// Asked returns the calls of the service in order: "wake", "direct 1001 41 pin to 4 GPUs" or
// "trust 0 gpu1" (with the caller's uid).
func (s *Service) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// Set changes the service while it is served. A published report MUST NOT be changed: publish a
// new one.
func (s *Service) Set(change func(*Service)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s)
}

// fault returns the error of the methods.
func (s *Service) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Err
}

func (s *Service) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, fmt.Sprintf(format, args...))
}

// Report returns Last.
func (s *Service) Report() *publish.Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Last
}

// Plan returns the canned plan.
func (s *Service) Plan(context.Context) (engine.Forecast, error) { return Plan(), s.fault() }

// Direct records the order.
func (s *Service) Direct(_ context.Context, c control.Caller, job elastic.JobID, change wire.Change) error {
	s.note("direct %d %d %s", c.UID, job, change)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Refuse != nil {
		return errors.Join(s.Err, s.Refuse(job, change))
	}
	return s.Err
}

// Trust records the order.
func (s *Service) Trust(_ context.Context, c control.Caller, node string) error {
	s.note("trust %d %s", c.UID, node)
	return s.fault()
}

// Segments returns the canned history for the token of its job.
func (s *Service) Segments(_ context.Context, token string) ([]journal.Segment, error) {
	if all := Segments(); token == all[0].Token {
		return all, s.fault()
	}
	return nil, s.fault()
}

// Past passes the jobs of Last, with the canned history of its job.
func (s *Service) Past(ctx context.Context, since time.Time, wanted func(journal.JobRecord) bool, each func(journal.JobRecord, []journal.Segment) error) error {
	for _, jr := range s.Report().Jobs {
		if !jr.Record.Ended.IsZero() && jr.Record.Ended.Before(since) || !wanted(jr.Record) {
			continue
		}
		runs, err := s.Segments(ctx, jr.Record.Token)
		if err == nil {
			err = each(jr.Record, runs)
		}
		if err != nil {
			return err
		}
	}
	return s.fault()
}

// Page passes the jobs of Last as Past does, at most scan a page.
func (s *Service) Page(ctx context.Context, since time.Time, at journal.Position, scan int, wanted func(journal.JobRecord) bool, each func(journal.JobRecord, []journal.Segment) error) (next journal.Position, more bool, err error) {
	all := slices.Clone(s.Report().Jobs)
	key := func(jr publish.JobReport) journal.Position {
		return journal.Position{Past: !jr.Record.Ended.IsZero(), Ended: jr.Record.Ended, Token: jr.Record.Token}
	}
	slices.SortFunc(all, func(a, b publish.JobReport) int { return compare(key(a), key(b)) })
	for _, jr := range all {
		if compare(key(jr), at) <= 0 || key(jr).Past && jr.Record.Ended.Before(since) {
			continue
		}
		if scan--; scan < 0 {
			return next, true, nil
		}
		next = key(jr)
		if !wanted(jr.Record) {
			continue
		}
		runs, err := s.Segments(ctx, jr.Record.Token)
		if err == nil {
			err = each(jr.Record, runs)
		}
		if errors.Is(err, journal.ErrPageFull) {
			return next, true, nil
		}
		if err != nil {
			return next, false, err
		}
	}
	return next, false, s.fault()
}

func compare(a, b journal.Position) int {
	if a.Past != b.Past {
		if b.Past {
			return -1
		}
		return 1
	}
	return cmp.Or(a.Ended.Compare(b.Ended), cmp.Compare(a.Token, b.Token))
}

// Entries selects from the canned entries.
func (s *Service) Entries(_ context.Context, q past.Query) (out []past.Entry, err error) {
	for _, e := range Entries() {
		after := q.AfterAt.IsZero() || e.At.After(q.AfterAt) || e.At.Equal(q.AfterAt) && e.ID > q.AfterID
		if e.Kind == q.Kind && !e.At.Before(q.From) && e.At.Before(q.To) && after && (q.Job == 0 || q.Job == e.Job) && len(out) < q.Most {
			out = append(out, e)
		}
	}
	return out, s.fault()
}

// Samples selects from the canned samples.
func (s *Service) Samples(_ context.Context, q past.Query) (out []past.Sample, err error) {
	for _, e := range Samples() {
		if e.Kind == q.Kind && !e.At.Before(q.From) && e.At.Before(q.To) && (q.AfterAt.IsZero() || e.At.After(q.AfterAt)) && len(out) < q.Most {
			out = append(out, e)
		}
	}
	return out, s.fault()
}

// Forecast projects the running jobs of Last: each ends at its ETA.
func (s *Service) Forecast(context.Context) (forecast.Projection, error) {
	r := s.Report()
	out := forecast.Projection{At: r.At, Until: r.At.Add(time.Hour), Steps: 3}
	for _, jr := range r.Jobs {
		if jr.Ended {
			continue
		}
		j := forecast.Job{ID: jr.Record.ID, Unknown: forecast.Waits, Segments: []forecast.Segment{{From: r.At, GPUs: jr.Job.GPUs(), Nodes: len(jr.Job.Place), Sure: 1}}}
		if !jr.ETA.IsZero() {
			j.Unknown, j.Ends, j.Low, j.High, j.Sure = forecast.Known, jr.ETA, jr.ETA.Add(-time.Second), jr.ETA.Add(2*time.Second), 0.75
			j.Segments[0].To = jr.ETA
		}
		out.Jobs = append(out.Jobs, j)
	}
	return out, s.fault()
}

// WhatIf returns the forecast twice, the second time a minute later for every other job.
func (s *Service) WhatIf(ctx context.Context, _ control.Caller, change wire.WhatIf) (before, after forecast.Projection, err error) {
	before, err = s.Forecast(ctx)
	after = before
	after.Jobs = slices.Clone(before.Jobs)
	for i := range after.Jobs {
		if j := &after.Jobs[i]; int64(j.ID) != change.JobID && !j.Ends.IsZero() {
			j.Ends = j.Ends.Add(time.Minute)
		}
	}
	if change.Submit != nil {
		for k := range change.Submit.Lanes {
			starts, ends := Now.Add(time.Duration(k)*time.Minute), Now.Add(time.Hour)
			after.Jobs = append(after.Jobs, forecast.Job{ID: elastic.JobID(9000 + k), Starts: starts, Ends: ends, Low: Now.Add(50 * time.Minute), High: Now.Add(2 * time.Hour), Sure: 0.25})
		}
	}
	return before, after, err
}

// Deadline records the order, and admits the job.
func (s *Service) Deadline(ctx context.Context, c control.Caller, job elastic.JobID, change wire.Change) (*elastic.JobReason, error) {
	if err := s.Direct(ctx, c, job, change); err != nil {
		return nil, err
	}
	return &elastic.JobReason{Job: job, Promised: true, Due: elastic.DuePromised, Ends: Now.Add(5 * time.Minute)}, nil
}

// Events returns a feed, to which tests may add.
func (s *Service) Events() *feed.Feed { return s.feed }

// Speeds returns the canned speeds of Model for ann, and none for others.
func (s *Service) Speeds(_ context.Context, uid uint32, model string) (engine.Speeds, error) {
	if err := s.fault(); err != nil || model != Model || !s.anns(uid) {
		return engine.Speeds{}, err
	}
	return Speeds(), nil
}

// anns reports whether the uid is that of Growing's user.
func (s *Service) anns(uid uint32) bool {
	r := s.Report()
	return r != nil && slices.ContainsFunc(r.Jobs, func(jr publish.JobReport) bool { return jr.Record.ID == Growing && jr.Record.Owner.UID == uid })
}

// Refresh does nothing: the canned report is fresh.
func (s *Service) Refresh(context.Context) {}

// Meet finds no job.
func (s *Service) Meet(context.Context, elastic.JobID) {}

// Wake records the call.
func (s *Service) Wake() { s.note("wake") }
