package offcycle_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/offcycle"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// TestSweepsDigest: the trials of a sweep are those that were read of its lanes, with the lane of each start,
// for its user alone; a daemon that restarts knows the same. A sweep that cannot be read any more has none.
func TestSweepsDigest(t *testing.T) {
	x := newSweepSite(t)
	me := uint32(os.Geteuid())
	ask := func(token string, uid uint32) (digest.Digest, error) {
		return x.s.Digest(t.Context(), token, uid, digest.Query{Sort: digest.ByNumber})
	}
	if _, err := ask(x.sweep.Token, me); !errors.Is(err, offcycle.ErrNotKept) {
		t.Errorf("not read yet: %v", err)
	}
	for i, value := range []float64{.5, .9} {
		x.look()
		tell, ok := x.told()
		if !ok {
			t.Fatalf("trial %d: not told", i)
		}
		at := x.now
		x.writes(sweep.Event{Kind: sweep.Began, At: at, Trial: tell.Trial, Start: tell.Start, Ask: x.ask.ID, Point: tell.Point})
		x.writes(sweep.Event{Kind: sweep.Reported, At: at.Add(time.Minute), Trial: tell.Trial, Start: 1, Epoch: 1, Value: value})
		x.writes(sweep.Event{Kind: sweep.EndedAs, At: at.Add(time.Minute), Trial: tell.Trial, Start: 1, How: sweep.Done})
		x.asks()
	}
	x.look()
	for range 2 {
		d, err := ask(x.sweep.Token, me)
		if err != nil || d.All != 3 || d.Top != 2 || d.Trials[0].Point != "x=1" || d.Trials[1].State != "done" || *d.Trials[1].Best != .9 || d.Trials[2].State != "running" || d.Trials[0].Job != 7 {
			t.Fatalf("%+v, %v", d, err)
		}
		if c := d.Curves; len(c) != 2 || c[0].Number != 2 || c[0].Marks[0].Job != 7 || c[0].Marks[0].At == 0 {
			t.Errorf("%+v", c)
		}
		if len(d.Dots) != 2 || d.Dots[0].Values[0] != "2" || d.Params[0] != (digest.Param{Name: "x", Kind: "int"}) {
			t.Errorf("%+v, %+v", d.Dots, d.Params)
		}
		x.restart()
		x.look()
	}
	for _, other := range []struct {
		token string
		uid   uint32
	}{{x.sweep.Token, me + 1}, {laneOfSweep, me}, {"", me}} {
		if d, err := ask(other.token, other.uid); !errors.Is(err, offcycle.ErrNotKept) || d.All > 0 {
			t.Errorf("%+v: %+v, %v", other, d, err)
		}
	}
	x.live.Lanes = append(x.live.Lanes, offcycle.LaneJob{Sweep: x.sweep.Token, Lane: laneOfSweep, Owner: me + 1, SlurmUID: me + 1, Job: 8})
	x.look()
	if d, err := ask(x.sweep.Token, me+1); err == nil || d.All > 0 {
		t.Errorf("a job of another user that names the sweep: %+v, %v", d, err)
	}
	file := filepath.Join(x.folder(), sweep.File)
	x.must(os.WriteFile(file, []byte("{"), 0o644))
	x.look()
	if d, err := ask(x.sweep.Token, me); err == nil || d.All > 0 {
		t.Errorf("a sweep that cannot be read: %+v, %v", d, err)
	}
}

// TestSweepsDigestBeside: any number may ask while steps go on, and all get an answer.
func TestSweepsDigestBeside(t *testing.T) {
	x := newSweepSite(t)
	began := time.Now()
	fast := func() time.Time { return began.Add(200 * time.Since(began)) } // a step is due each 2.5 ms
	x.s = offcycle.NewSweeps(x.paths, func() offcycle.Live { return x.live }, fast, nil)
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	x.s.Look()
	x.s.Settle(ctx)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 50 {
				if d, err := x.s.Digest(ctx, x.sweep.Token, uint32(os.Geteuid()), digest.Query{}); err != nil || d.All != 1 {
					t.Errorf("%+v, %v", d, err)
				}
			}
		})
	}
	for range 50 {
		x.s.Look()
		time.Sleep(time.Millisecond)
	}
	all.Wait()
	if tell, ok := x.told(); !x.s.Settle(ctx) || !ok || tell.Trial != 1 {
		t.Errorf("%+v, %v", tell, ok)
	}
}
