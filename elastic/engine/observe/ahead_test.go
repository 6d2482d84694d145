package observe

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// early is a Limiter whose queries can begin before their answer is needed.
type early struct {
	site
	busy  bool // an earlier query is under way
	begun int
}

func (e *early) Ask() bool {
	if !e.busy {
		e.begun++
	}
	return !e.busy
}

// TestLimitsAskedAhead: an answer that was asked for ahead is used with the age of its query, and dropped
// once that is LimitsFresh, so that no move is opened on limits that are older. A site that fails
// or is late is not asked ahead.
func TestLimitsAskedAhead(t *testing.T) {
	const second, minute = time.Second, time.Minute
	at := func(d time.Duration) time.Time { return noon.Add(minute + d) }
	for _, c := range []struct {
		name   string
		before func(*early, *Observer)
		ahead  []time.Duration // when it is asked ahead
		take   time.Duration   // when the limits are needed
		begun  int             // queries that begin ahead
		asked  int             // calls of Limits then
		age    time.Duration   // of what is known then
	}{
		{"not ahead", nil, nil, 0, 0, 1, 0},
		{"just before", nil, []time.Duration{0}, second, 1, 1, second},
		{"too long before", nil, []time.Duration{0}, LimitsFresh, 1, 2, 0},
		{"twice", nil, []time.Duration{0, LimitsFresh}, LimitsFresh + second, 2, 1, second},
		{"while it is asked", func(e *early, _ *Observer) { e.busy = true }, []time.Duration{0}, second, 0, 1, 0},
		{"after it failed", func(e *early, o *Observer) { e.fails(t, o, slurm.ErrControllerDown) }, []time.Duration{0}, second, 0, 1, 0},
		{"while it is late", func(e *early, o *Observer) { e.fails(t, o, ErrAsking) }, []time.Duration{0}, second, 0, 1, minute + second},
	} {
		e := &early{}
		o := Observer{Limiter: e}
		if c.before != nil {
			c.before(e, &o)
		}
		for _, d := range c.ahead {
			o.AskAhead(at(d))
		}
		e.asked, e.err = 0, nil
		_, read, err := o.SiteLimits(t.Context(), LimitsFresh, minute, at(c.take))
		if !read || err != nil || e.begun != c.begun || e.asked != c.asked || at(c.take).Sub(o.limits.asked) != c.age {
			t.Errorf("%s: read %v, %v, begun %d, asked %d, %v old; want %+v", c.name, read, err, e.begun, e.asked, at(c.take).Sub(o.limits.asked), c)
		}
	}
}

// fails makes a query whose answer is an error.
func (e *early) fails(t *testing.T, o *Observer, err error) {
	e.err = err
	_, _, _ = o.SiteLimits(t.Context(), time.Minute, time.Minute, noon)
}

// TestAskedAheadAndLate: a query that began ahead and is not answered in time is as old as its beginning.
func TestAskedAheadAndLate(t *testing.T) {
	e := &early{}
	o := Observer{Limiter: e}
	o.AskAhead(noon)
	e.err = ErrAsking
	if _, read, err := o.SiteLimits(t.Context(), LimitsFresh, time.Minute, noon.Add(time.Second)); read || err != nil {
		t.Errorf("read %v, %v", read, err)
	}
	if late, _ := o.LimitsLate(); !late || !o.limits.late.Equal(noon) {
		t.Errorf("late %v, since %s", late, o.limits.late)
	}
}

// TestNotAnAsker: a Limiter that cannot be asked ahead is asked when its limits are needed.
func TestNotAnAsker(t *testing.T) {
	s := &site{}
	o := Observer{Limiter: s}
	o.AskAhead(noon)
	if _, read, _ := o.SiteLimits(context.Background(), LimitsFresh, time.Minute, noon.Add(time.Second)); !read || s.asked != 1 {
		t.Errorf("read %v, asked %d times", read, s.asked)
	}
}
