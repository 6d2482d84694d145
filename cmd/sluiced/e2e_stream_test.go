package main_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// listening is a reader of the stream that comes back when it is cut off, as a page does.
type listening struct {
	mu   sync.Mutex
	got  []wire.Happening
	last string
}

func (l *listening) run(ctx context.Context, c *client.Client) {
	for ctx.Err() == nil {
		l.mu.Lock()
		after := l.last
		l.mu.Unlock()
		_ = c.Events(ctx, after, func(h wire.Happening) error {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.got, l.last = append(l.got, h), h.ID
			return nil
		})
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// of returns the kinds of events about a job, or about none if it is 0, in order.
func (l *listening) of(job int64) (kinds []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.got {
		if h.JobID == job {
			kinds = append(kinds, strings.TrimSpace(h.Kind+" "+h.Gap))
		}
	}
	return kinds
}

// On a real Slurm: a reader of the stream sees a job from its submission to its end, over a restart of
// sluiced, of which it is told; a new deadline is judged at once and reaches the job's comment; a forecast
// has the job's end; and the history has its runs, its moves with their cost, its decisions, and the nodes.
func TestStreamDeadlineHistoryForecast(t *testing.T) {
	s := play(t, withNodes(1, 4))
	reader := &listening{}
	ctx, stop := context.WithCancel(s.ctx)
	var done sync.WaitGroup
	done.Go(func() { reader.run(ctx, s.Control()) })
	defer done.Wait()
	defer stop()

	from := time.Now().Add(-time.Minute)
	j := s.submit("watched", "", 50, []string{"--max-gpus=4"})
	j.runsOn(4)
	// Its speed may not be known yet: then it is admitted once it is.
	out := s.as("", "sluice", "deadline", fmt.Sprint(j.id), "--at", "now+2hours")
	if !strings.Contains(out, ", admitted: it ends by") && !strings.Contains(out, "its speed is not known yet") {
		t.Errorf("printed %q", out)
	}
	j.until("to be admitted", func(v wire.Job) bool { return v.Promised })
	s.must(site.Until(s.ctx, 2*time.Minute, "the deadline to be in the comment", func() (bool, error) {
		out, err := s.Run(s.ctx, "", "scontrol", "show", "job", fmt.Sprint(j.id))
		return strings.Contains(out, " due="), err
	}))
	f, err := s.Control().Forecast(s.ctx)
	s.must(err)
	if i := slices.IndexFunc(f.Jobs, func(e wire.Expected) bool { return e.JobID == j.id }); i < 0 || f.Jobs[i].Ends.IsZero() || f.Jobs[i].Meets == nil || !*f.Jobs[i].Meets || f.Jobs[i].Sure <= 0 {
		t.Errorf("forecast %+v", f)
	} else {
		t.Logf("expected to end in %v (%v to %v), sure %.2f, %d decisions", time.Until(f.Jobs[i].Ends).Round(time.Second), time.Until(f.Jobs[i].Low).Round(time.Second), time.Until(f.Jobs[i].High).Round(time.Second), f.Jobs[i].Sure, f.Steps)
	}
	what, err := s.Control().WhatIf(s.ctx, wire.WhatIf{JobID: j.id, GPUs: 1})
	s.must(err)
	if len(what.Jobs) != 1 || what.Jobs[0].Later == nil || *what.Jobs[0].Later <= 0 {
		t.Errorf("on 1 GPU: %+v", what.Jobs)
	}
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "2")
	j.runsOn(2)
	s.must(s.Stop())
	s.must(s.Start(s.ctx))
	if v := j.runsOn(2); v.Deadline.IsZero() || !v.Promised {
		t.Errorf("after a restart: %+v", v)
	}
	j.completes()
	s.must(site.Until(s.ctx, 2*time.Minute, "the reader to hear of the end", func() (bool, error) { return slices.Contains(reader.of(j.id), "ended"), nil }))

	heard := reader.of(j.id)
	for _, kind := range []string{"adopted", "submitted", "decision", "open", "step", "close", "started", "order", "run", "ended"} {
		if !slices.Contains(heard, kind) {
			t.Errorf("no %s among %q", kind, heard)
		}
	}
	if all := reader.of(0); !slices.Contains(all, "gap restart") || !slices.Contains(all, "cycle") {
		t.Errorf("of no job: %q", all)
	}
	s.checkPast(from, j)
}

// checkPast checks what the history has of a job that was resized once by its user.
func (s *scene) checkPast(from time.Time, j *job) {
	s.t.Helper()
	page := func(of string) wire.Past {
		p, err := s.Control().Past(s.ctx, client.PastQuery{Of: of, From: from, Job: elastic.JobID(j.id)})
		s.must(err)
		return p
	}
	var err error
	s.must(site.Until(s.ctx, time.Minute, "what happened to be stored", func() (bool, error) { return len(page(wire.OfMoves).Moves) >= 2, nil }))
	if p := page(wire.OfJobs); len(p.Jobs) != 1 || len(p.Jobs[0].Runs) < 2 || p.Jobs[0].State != "COMPLETED" || !p.Jobs[0].Promised {
		err = errors.Join(err, fmt.Errorf("jobs: %+v", p.Jobs))
	}
	moves := page(wire.OfMoves).Moves
	last := moves[len(moves)-1]
	if last.Target.GPUs() != 2 || last.Outcome != "done" || last.Why.Reason == nil || last.Start <= 0 || last.Save <= 0 {
		err = errors.Join(err, fmt.Errorf("moves: %+v", moves))
	}
	s.t.Logf("the last move: save %.1f s, stop %.1f s, wait %.1f s, start %.1f s", last.Save, last.Stop, last.Wait, last.Start)
	if p := page(wire.OfDecisions); len(p.Decisions) < 2 || p.Decisions[0].Why.Reason == nil {
		err = errors.Join(err, fmt.Errorf("decisions: %+v", p.Decisions))
	}
	if p := page(wire.OfNodes); len(p.Clusters) < 1 || p.Clusters[0].GPUs != 4 || len(p.Clusters[0].Nodes) != 1 {
		err = errors.Join(err, fmt.Errorf("nodes: %+v", p.Clusters))
	}
	if err != nil {
		s.t.Error(err)
	}
}
