package offcycle_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/offcycle"
	"github.com/sluice-hpc/sluice/slurm"
)

// site returns its limits after some time, with the number of queries so far as the name of the
// only QOS.
type site struct {
	mu    sync.Mutex
	takes time.Duration
	asked int
}

func (s *site) Limits(ctx context.Context) (slurm.Limits, error) {
	s.mu.Lock()
	s.asked++
	l, takes := slurm.Limits{QOS: []slurm.QOS{{Name: strconv.Itoa(s.asked)}}}, s.takes
	s.mu.Unlock()
	select {
	case <-time.After(takes):
		return l, nil
	case <-ctx.Done():
		return slurm.Limits{}, ctx.Err()
	}
}

// A site that hangs delays one call by 2 s and none after it; its answer is returned once.
func TestLimiterWaitsBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{takes: time.Minute}
		l := offcycle.NewLimiter(t.Context(), s, time.Now)
		for i, want := range []time.Duration{2 * time.Second, 0, 0} {
			began := time.Now()
			if _, err := l.Limits(t.Context()); !errors.Is(err, observe.ErrAsking) || time.Since(began) != want {
				t.Errorf("call %d: %v after %v, want it asking after %v", i, err, time.Since(began), want)
			}
			time.Sleep(5 * time.Second)
		}
		time.Sleep(time.Minute)
		s.mu.Lock()
		s.takes = time.Millisecond
		s.mu.Unlock()
		if got, err := l.Limits(t.Context()); err != nil || got.QOS[0].Name != "1" {
			t.Errorf("%+v, %v, want the first answer", got.QOS, err)
		}
		_, _ = l.Limits(t.Context()) // not waited for, since the last was slow
		synctest.Wait()
		time.Sleep(time.Second)
		for want := 2; want <= 3; want++ {
			if got, err := l.Limits(t.Context()); err != nil || got.QOS[0].Name != strconv.Itoa(want) {
				t.Errorf("%+v, %v, want the %d. answer", got.QOS, err, want)
			}
		}
	})
}

// tree returns its accounts after some time.
type tree struct{ takes time.Duration }

func (s tree) Shares(ctx context.Context) ([]slurm.Share, error) {
	select {
	case <-time.After(s.takes):
		return []slurm.Share{{Account: "root"}}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// An sshare that hangs delays one call by 2 s and none after it; its answer is returned once.
func TestSharerWaitsBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := offcycle.NewSharer(t.Context(), tree{time.Minute}, time.Now)
		for i, want := range []time.Duration{2 * time.Second, 0, 0} {
			began := time.Now()
			if _, err := s.Shares(t.Context()); !errors.Is(err, observe.ErrAsking) || time.Since(began) != want {
				t.Errorf("call %d: %v after %v, want it asking after %v", i, err, time.Since(began), want)
			}
			time.Sleep(5 * time.Second)
		}
		time.Sleep(time.Minute)
		if got, err := s.Shares(t.Context()); err != nil || len(got) != 1 {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// TestLimiterAskedAhead: a query that began before its answer is needed is waited for until 2 s after it
// began, and its answer is returned once. Of two such queries the later one counts; none begins
// while another is under way.
func TestLimiterAskedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &site{takes: 300 * time.Millisecond}
		l := offcycle.NewLimiter(t.Context(), s, time.Now)
		for _, c := range []struct {
			asks  []bool        // Ask begins a query, each 200 ms after the last
			takes time.Duration // of each query
			rests time.Duration // between the last Ask and the call
			waits time.Duration
			want  string // the answer; "" = none yet
		}{
			{nil, 300 * time.Millisecond, 0, 300 * time.Millisecond, "1"},
			{[]bool{true}, 300 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, "2"},
			{[]bool{true}, 300 * time.Millisecond, time.Second, 0, "3"},
			{[]bool{true, false}, 300 * time.Millisecond, time.Second, 0, "4"},
			{[]bool{true, true}, 100 * time.Millisecond, time.Second, 0, "6"},
			{[]bool{true}, time.Minute, 500 * time.Millisecond, 1500 * time.Millisecond, ""},
			{[]bool{false}, time.Minute, 30 * time.Second, 0, ""},
			{[]bool{false}, time.Minute, time.Minute, 0, "7"},
			{[]bool{true}, 100 * time.Millisecond, time.Second, 0, "8"},
		} {
			s.mu.Lock()
			s.takes = c.takes
			s.mu.Unlock()
			for i, want := range c.asks {
				if i > 0 {
					time.Sleep(200 * time.Millisecond)
				}
				if got := l.Ask(); got != want {
					t.Errorf("%+v: Ask %d returns %v", c, i, got)
				}
			}
			time.Sleep(c.rests)
			synctest.Wait()
			began := time.Now()
			got, err := l.Limits(t.Context())
			name := ""
			if err == nil {
				name = got.QOS[0].Name
			}
			if name != c.want || (err != nil) != errors.Is(err, observe.ErrAsking) || time.Since(began) != c.waits {
				t.Errorf("%+v: %q, %v after %v", c, name, err, time.Since(began))
			}
		}
	})
}
