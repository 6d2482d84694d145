package webtest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
)

// SweepToken is the token of Ann's sweep, whose lanes are her jobs. Bob has one of the token after it.
const (
	SweepToken = "5555555555555555555555555555555a"
	BobsSweep  = "5555555555555555555555555555555b"
)

// sweepOf is the token of the sweep of the i-th job; each third job of a user is a lane.
func (d *Daemon) sweepOf(i int) string {
	switch {
	case d.NoSweeps || i%6 > 1:
		return ""
	case i%2 == 1:
		return BobsSweep
	}
	return SweepToken
}

// Sweeps returns a sweep of each user.
func (d *Daemon) Sweeps(context.Context) (wire.Sweeps, error) {
	out := wire.Sweeps{Version: 1, At: Now, Own: d.Private}
	if err := d.newer(); err != nil {
		return out, err
	}
	goal := .93
	for i, token := range []string{SweepToken, BobsSweep} {
		s := wire.Sweep{Number: int64(FirstJob + i), Token: token, Name: cmp.Or(d.Name, "lr-search"), User: Ann, UID: AnnUID, Account: "phys", State: "running", Algorithm: "asha", Metric: "val_acc", Max: true, Goal: &goal,
			Trials: 200, Begun: 40, Running: 2, Paused: 18, Failed: 2, Done: 18, Parallel: 12, Wants: 12, Level: 2, Gap: .0021, Counted: 18, Bid: .00031, Created: Now.Add(-2 * time.Hour), Began: Now.Add(-110 * time.Minute)}
		if d.Trials != nil {
			s.Begun = d.Trials.Trials
		}
		if i == 1 {
			s.Name, s.User, s.UID = "warmup", Bob, BobUID
		}
		for k, j := range d.all() {
			if j.Sweep == token {
				s.Lanes = append(s.Lanes, wire.SweepLane{JobID: j.JobID, GPUs: j.GPUs, Trial: k + 1, Beside: []int{k + 21}})
				s.GPUs += j.GPUs
			}
		}
		if len(s.Lanes) == 0 {
			continue
		}
		for k, value := range []float64{.31, .55, .72, .84, .88, .902, .911} {
			s.Bests = append(s.Bests, wire.SweepBest{At: s.Began.Add(time.Duration(4+13*k) * time.Minute), Value: value, Trial: 3*k + 1, Epoch: 12})
		}
		for k := range 3 {
			s.Levels = append(s.Levels, wire.SweepLevel{At: s.Began.Add(time.Duration(40+20*k) * time.Minute), Level: []int{1, 2, 1}[k], Gap: .003, Counted: 21 + k})
		}
		s.Best, s.Open = &s.Bests[len(s.Bests)-1], d.Trials != nil && (i == 0 || d.Operator)
		out.Sweeps = append(out.Sweeps, s)
	}
	return out, nil
}

// Sweep returns trials of a sweep that Sweeps says are open: those of Trials.
func (d *Daemon) Sweep(ctx context.Context, number int64, q digest.Query) (wire.SweepTrials, error) {
	all, err := d.Sweeps(ctx)
	if err != nil {
		return wire.SweepTrials{}, err
	}
	for _, s := range all.Sweeps {
		if s.Number != number || !s.Open {
			continue
		}
		if d.Trials.Err != nil {
			return wire.SweepTrials{}, wire.Fail(wire.Unavailable, "", "%v", d.Trials.Err)
		}
		return wire.SweepTrials{Version: 1, At: Now, Number: number, Token: s.Token, User: s.User, Digest: digest.Of(d.Trials.build().Source(), q)}, nil
	}
	return wire.SweepTrials{}, wire.Fail(wire.Denied, "", "sweep %d is not yours", number)
}

// Sweeps are Ann's own folders: the sweep whose lanes run, and one that is over.
type Sweeps struct {
	Trials int    // of the first
	Epochs int    // of a whole trial
	Name   string // of it, of its metric and in the words of trials; "" = ordinary ones
	Err    error

	mu   sync.Mutex
	view *own.View
}

// old is a sweep that is over, of which sluiced knows nothing any more.
func old() *own.View {
	v := &own.View{Sweep: sweep.Sweep{Version: 1, Token: strings.Repeat("4", 32), Number: 3500, Name: "first-try", Algorithm: "random", Metric: sweep.Metric{Name: "loss"}, Trials: 3, Parallel: 1,
		Params: []string{"lr=log:1e-5:1e-1"}, State: sweep.Stopped, Created: Now.AddDate(0, -1, 0)}, Book: book.New(), Starts: map[int][]digest.Start{}}
	v.Book.Apply(book.Entry{At: v.Created, Tell: &book.Telling{Lane: "a", Ask: "x", Trial: 1, Start: 1, Point: "lr=0.01"}})
	v.Book.Take("a", sweep.Event{Kind: sweep.Reported, At: v.Created, Trial: 1, Start: 1, Epoch: 1, Value: 2.5})
	return v
}

// build makes the sweep: trials that learn the faster the nearer lr is to 0.01, half of them paused early.
func (s *Sweeps) build() *own.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.view != nil {
		return s.view
	}
	goal := .93
	v := &own.View{Sweep: sweep.Sweep{Version: 1, Token: SweepToken, Number: FirstJob, Name: cmp.Or(s.Name, "lr-search"), Algorithm: "asha", Metric: sweep.Metric{Name: cmp.Or(s.Name, "val_acc"), Max: true}, Goal: &goal,
		Trials: max(200, s.Trials), Parallel: 12, Params: []string{"lr=log:1e-5:1e-1", "depth=int:2:8", "opt=choice:sgd,adamw", "size=fixed:32", "momentum=float:0:1 if opt=sgd"}, Created: Now.Add(-2 * time.Hour)},
		Folder: "/jobs/" + SweepToken, Book: book.New(), Starts: map[int][]digest.Start{}, Standing: sweep.Standing{Level: 2, Gap: .0021, Counted: 18, Wants: 12},
		Lanes: []own.Lane{{Token: "a", Job: FirstJob, Runs: true}, {Token: "b", Job: FirstJob + 6, Runs: true}, {Token: "c", Job: FirstJob + 4, Left: true}}}
	began := Now.Add(-24 * time.Minute)
	step := 22 * time.Minute / time.Duration(max(1, s.Trials))
	for n := 1; n <= s.Trials; n++ {
		lane, lr, depth := []string{"a", "b"}[n%2], math.Pow(10, -5+4*float64(n*7919%1000)/1000), 2+n%7
		point := fmt.Sprintf("lr=%.6g,depth=%d,opt=%s,size=32", lr, depth, []string{"sgd", "adamw"}[n/3%2])
		if n/3%2 == 0 {
			point += fmt.Sprintf(",momentum=%.2f", float64(n%10)/10)
		}
		at := began.Add(time.Duration(n-1) * step)
		v.Book.Apply(book.Entry{At: at, Tell: &book.Telling{Lane: lane, Ask: fmt.Sprint(n), Trial: n, Start: 1, Point: point}})
		v.Starts[n] = []digest.Start{{Number: 1, Lane: lane}}
		far := math.Abs(math.Log10(lr) + 2)
		epochs := s.Epochs
		if far > 1 {
			epochs = max(1, s.Epochs/5)
		}
		for e := 1; e <= epochs; e++ {
			value := (.92 - .1*far - .01*math.Abs(float64(depth)-5)) * (1 - math.Exp(-float64(e)/8))
			v.Book.Take(lane, sweep.Event{Kind: sweep.Reported, At: at.Add(time.Duration(e) * 4 * time.Second), Trial: n, Start: 1, Epoch: float64(e), Value: value})
		}
		end := sweep.Event{Kind: sweep.EndedAs, At: at.Add(step), Trial: n, Start: 1, How: sweep.Done}
		switch {
		case n > s.Trials-2:
			continue // these run
		case n%19 == 4:
			end.How, end.Words = sweep.Failed, cmp.Or(s.Name, "RuntimeError: CUDA out of memory")
		case far > 1:
			end.How, end.Lost = sweep.Yielded, sweep.Lost{Rung: 10, Rank: 9, Of: 12}
		}
		v.Book.Take(lane, end)
	}
	s.view = v
	return v
}

// List returns both sweeps.
func (s *Sweeps) List(context.Context) ([]own.Summary, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	return []own.Summary{s.build().Summary(), old().Summary()}, nil
}

// Look passes a sweep.
func (s *Sweeps) Look(_ context.Context, number int64, f func(*own.View)) error {
	for _, v := range []*own.View{s.build(), old()} {
		if v.Number == number && s.Err == nil {
			f(v)
			return nil
		}
	}
	return cmp.Or(s.Err, own.ErrNotFound)
}
