package controltest

import (
	"context"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// Sweep is the token of ann's sweep, whose lanes are Growing and Waiting.
var Sweep = strings.Repeat("5", 32)

// Sweeps returns the canned sweep.
func (s *Service) Sweeps() map[string]control.SweepReport {
	goal, best := 0.93, wire.SweepBest{At: Now.Add(-2 * time.Minute), Value: 0.912, Trial: 4, Epoch: 12}
	return map[string]control.SweepReport{Sweep: {Running: map[string][]int{growing().Record.Token: {7, 9}}, Sweep: wire.Sweep{
		Number: int64(Growing), Token: Sweep, Name: "resnet", UID: AnnUID, State: "running", Algorithm: "asha", Metric: "val_acc", Max: true, Goal: &goal,
		Trials: 200, Begun: 7, Running: 1, Paused: 3, Failed: 1, Done: 2, Parallel: 12, Wants: 12, Level: 1, Gap: 0.002, Counted: 5, Bid: 0.0001,
		Best: &best, Bests: []wire.SweepBest{{At: Now.Add(-50 * time.Minute), Value: 0.5, Trial: 1, Epoch: 1}, best},
		Levels:  []wire.SweepLevel{{At: Now.Add(-5 * time.Minute), Level: 1, Gap: 0.002, Counted: 5}},
		Created: Now.Add(-80 * time.Minute), Began: Now.Add(-78 * time.Minute),
	}}}
}

// SweepTrials returns four trials of the canned sweep, and notes the call.
func (s *Service) SweepTrials(_ context.Context, token string, uid uint32, q digest.Query) (digest.Digest, error) {
	s.note("trials %d %s %s %d", uid, token[:4], q.Sort, q.From)
	b := book.New()
	for i, value := range []float64{0.5, 0.8, 0.7, 0.912} {
		at, n := Now.Add(time.Duration(i-78)*time.Minute), i+1
		b.Apply(book.Entry{At: at, Tell: &book.Telling{Lane: growing().Record.Token, Ask: "a", Trial: n, Start: 1, Point: []string{"lr=0.1", "lr=0.01", "lr=0.03", "lr=0.02"}[i]}})
		for e := range 12 {
			b.Take(growing().Record.Token, sweep.Event{Kind: sweep.Reported, At: at.Add(time.Duration(e+1) * time.Second), Trial: n, Start: 1, Epoch: float64(e + 1), Value: value * float64(e+1) / 12})
		}
		end := sweep.Event{Kind: sweep.EndedAs, At: at.Add(time.Minute), Trial: n, Start: 1, How: sweep.Done}
		if i == 2 {
			end.How, end.Words = sweep.Failed, "exit code 1"
		}
		b.Take(growing().Record.Token, end)
	}
	src := digest.Source{Sweep: sweep.Sweep{Metric: sweep.Metric{Name: "val_acc", Max: true}, Params: []string{"lr=log:1e-5:1e-1"}}, Book: b, Jobs: map[string]int64{growing().Record.Token: int64(Growing)}, Starts: map[int][]digest.Start{}}
	for _, t := range b.Trials {
		src.States = append(src.States, t.State)
		src.Starts[t.Number] = []digest.Start{{Number: 1, Lane: growing().Record.Token}}
	}
	return digest.Of(src, q), s.fault()
}
