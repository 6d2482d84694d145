package offcycle_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/offcycle"
	"github.com/sluice-hpc/sluice/slurm"
)

// ledger answers after some time, with the number of queries so far.
type ledger struct {
	mu    sync.Mutex
	takes time.Duration
	err   error
	asked int
}

// will makes it answer like this from now on.
func (l *ledger) will(takes time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.takes, l.err = takes, err
}

func (l *ledger) Past(ctx context.Context, ids []slurm.JobID, _ time.Time) ([]slurm.PastRun, error) {
	l.mu.Lock()
	l.asked++
	runs, takes, err := []slurm.PastRun{{ID: ids[0], ExitCode: l.asked}}, l.takes, l.err
	l.mu.Unlock()
	select {
	case <-time.After(takes):
		return runs, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// An answer that comes in time is returned at once, and one that comes later by a later call.
// Meanwhile no second query is made and no call waits.
func TestAccountantWaitsBriefly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{takes: time.Second}
		a := offcycle.NewAccountant(t.Context(), l, time.Now)
		past := func() (int, time.Duration, error) {
			began := time.Now()
			runs, err := a.Past(t.Context(), []slurm.JobID{7}, began)
			if err != nil {
				return 0, time.Since(began), err
			}
			return runs[0].ExitCode, time.Since(began), nil
		}
		for i, step := range []struct {
			takes, after time.Duration
			answer       int // 0 = none yet
			waited       time.Duration
		}{
			{time.Second, 0, 1, time.Second},
			{time.Minute, 0, 0, 2 * time.Second},
			{0, 30 * time.Second, 0, 0},
			{0, 30 * time.Second, 2, 0},
			{time.Second, 0, 0, 0}, // the last one took long: this one is not waited for
			{0, 5 * time.Second, 3, 0},
			{time.Second, 0, 4, time.Second}, // and that one was quick
			{time.Minute, 0, 0, 2 * time.Second},
			{time.Second, time.Hour, 0, 0}, // the answer was not fetched in time: it is too old
			{0, time.Second, 6, 0},
		} {
			if step.takes > 0 {
				l.will(step.takes, nil)
			}
			time.Sleep(step.after)
			synctest.Wait()
			answer, waited, err := past()
			if answer != step.answer || waited != step.waited || (answer == 0) != errors.Is(err, observe.ErrAsking) {
				t.Fatalf("step %d: answer %d after %v (%v), want %d after %v", i, answer, waited, err, step.answer, step.waited)
			}
		}
		l.will(0, slurm.ErrDatabaseDown)
		if _, _, err := past(); !errors.Is(err, slurm.ErrDatabaseDown) {
			t.Error(err)
		}
	})
}

// A call ends with its context, and a query with the daemon's.
func TestAccountantEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		daemon, stop := context.WithCancel(t.Context())
		a := offcycle.NewAccountant(daemon, &ledger{takes: time.Hour}, time.Now)
		call, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := a.Past(call, []slurm.JobID{7}, time.Now()); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if _, err := a.Past(t.Context(), []slurm.JobID{7}, time.Now()); !errors.Is(err, observe.ErrAsking) {
			t.Error(err)
		}
		stop()
		synctest.Wait() // its goroutine has ended, or the bubble would report it
		if _, err := a.Past(t.Context(), []slurm.JobID{7}, time.Now()); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
