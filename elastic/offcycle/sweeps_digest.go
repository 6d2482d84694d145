package offcycle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// Errors of Digest.
var (
	// ErrNotKept: no lane has named the sweep for 10 min, or none of this user.
	ErrNotKept = errors.New("the sweep is not looked after")
	// ErrHangs: a step is under way that does not end, as on a file system that hangs.
	ErrHangs = errors.New("the sweep's folders do not answer")
	// ErrOften: digests of this user's sweeps took more than their share of the time.
	ErrOften = errors.New("the user's sweeps were asked for too often")
)

// shareOfDigests bounds the part of the time in which digests of one user's sweeps are made, to one in so
// many. One of 2,000,000 reports takes about a fifth of a second.
const shareOfDigests = 10

// mostWait bounds how long a user's digests rest.
const mostWait = time.Minute

// mostStarts bounds the starts of trials of which the lanes are kept: a user can write any number of
// lines. A mark of a later start is one of an unknown lane.
const mostStarts = 100_000

// Digest sums up what was read of a user's sweep. It reads nothing. It waits for the user's share of the
// time, and for the step of this sweep that is under way, at most until ctx ends. While it sums up, no step of
// the sweep begins.
func (s *Sweeps) Digest(ctx context.Context, token string, uid uint32, q digest.Query) (digest.Digest, error) {
	if err := s.share(ctx, uid); err != nil {
		return digest.Digest{}, err
	}
	k, err := s.take(ctx, owned{token, uid, uid}) // confined jobs are no lanes
	if err != nil {
		return digest.Digest{}, err
	}
	began := s.now()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		k.rest()
		s.spend(uid, began)
	}()
	return digest.Of(k.files.source(), q), nil
}

// share waits until digests of a user's sweeps have had no more than their share of the time.
func (s *Sweeps) share(ctx context.Context, uid uint32) error {
	for {
		s.mu.Lock()
		wait := s.digests[uid].Sub(s.now())
		s.mu.Unlock()
		if wait <= 0 || wait > mostWait { // the clock was set back
			return nil
		}
		select {
		case <-time.After(min(wait, 50*time.Millisecond)): // others of this user may have gone first
		case <-ctx.Done():
			return ErrOften
		}
	}
}

// spend counts a digest that began then against its user's share. The lock is held.
func (s *Sweeps) spend(uid uint32, began time.Time) {
	now := s.now()
	from := s.digests[uid]
	if from.Before(now) {
		from = now
	}
	next := from.Add((shareOfDigests - 1) * max(0, now.Sub(began)))
	if most := now.Add(mostWait); next.After(most) {
		next = most
	}
	s.digests[uid] = next
	if len(s.digests) > 1024 {
		maps.DeleteFunc(s.digests, func(_ uint32, at time.Time) bool { return at.Before(now) })
	}
}

// take makes a sweep busy, of which a step has succeeded. Its files are the caller's until it calls rest.
func (s *Sweeps) take(ctx context.Context, name owned) (*kept, error) {
	for {
		s.mu.Lock()
		k := s.known[name]
		switch {
		case k == nil:
			s.mu.Unlock()
			return nil, ErrNotKept
		case !k.busy && k.files != nil && k.files.book != nil && k.standing.Metric != "":
			k.busy = true
			s.mu.Unlock()
			return k, nil
		case !k.busy:
			said := k.said
			s.mu.Unlock()
			if said == "" {
				return nil, ErrNotKept
			}
			return nil, fmt.Errorf("the sweep is not looked after: %s", said)
		}
		if k.rested == nil {
			k.rested = make(chan struct{})
		}
		rested := k.rested
		s.mu.Unlock()
		select {
		case <-rested:
		case <-ctx.Done():
			return nil, ErrHangs
		}
	}
}

// rest ends the work on a sweep, and wakes those that wait for that. The lock is held.
func (k *kept) rest() {
	k.busy = false
	if k.rested != nil {
		close(k.rested)
		k.rested = nil
	}
}

// source is what was read of the sweep. Nothing else may work on the files while it is used.
func (f *files) source() digest.Source {
	states := make([]book.State, len(f.book.Trials))
	for i, t := range f.book.Trials {
		states[i] = t.State
	}
	return digest.Source{Sweep: f.plan.Sweep, Book: f.book, States: states, Starts: f.starts, Jobs: f.jobs}
}

// began keeps which lane a start of a trial is in.
func (f *files) began(lane string, trial, start int) {
	if f.started < mostStarts {
		f.started++
		f.starts[trial] = append(f.starts[trial], digest.Start{Number: start, Lane: lane})
	}
}
