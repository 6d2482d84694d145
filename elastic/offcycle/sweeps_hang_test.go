package offcycle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// TestDigestOfAHangingFolder: who asks for the trials of a sweep whose step hangs gets an error in time, or the
// trials once the step has ended; other sweeps of any user answer meanwhile.
func TestDigestOfAHangingFolder(t *testing.T) {
	s := NewSweeps(SweepPaths{}, func() Live { return Live{} }, time.Now, nil)
	add := func(token string, busy bool) (owned, *kept) {
		f := newFiles(SweepPaths{}, token, 7)
		f.book = book.New()
		f.plan.Sweep = sweep.Sweep{Token: token, Metric: sweep.Metric{Name: "acc"}}
		k := &kept{owned: owned{token, 7, 7}, busy: busy, files: f, standing: Standing{Metric: "acc"}}
		s.known[owned{token, 7, 7}] = k
		return owned{token, 7, 7}, k
	}
	hangs, k := add(strings.Repeat("a", 32), true)
	works, _ := add(strings.Repeat("b", 32), false)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := s.Digest(ctx, hangs.token, 7, digest.Query{}); !errors.Is(err, ErrHangs) {
		t.Fatalf("it hangs: %v", err)
	}
	if _, err := s.Digest(ctx, works.token, 7, digest.Query{}); err != nil {
		t.Errorf("another sweep: %v", err)
	}
	answers := make(chan error)
	for range 3 {
		go func() {
			_, err := s.Digest(t.Context(), hangs.token, 7, digest.Query{})
			answers <- err
		}()
	}
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		waits = k.rested != nil
		s.mu.Unlock()
	}
	s.mu.Lock()
	k.rest()
	s.mu.Unlock()
	for range 3 {
		if err := <-answers; err != nil {
			t.Errorf("its step has ended: %v", err)
		}
	}
}

// TestDigestsHaveAShare: who asks for the trials of large sweeps again and again waits for nine tenths of the
// time; other users do not.
func TestDigestsHaveAShare(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	s := NewSweeps(SweepPaths{}, func() Live { return Live{} }, func() time.Time { return now }, nil)
	ended, stop := context.WithCancel(t.Context())
	stop()
	waits := func(uid uint32) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.digests[uid].After(now)
	}
	for range 3 { // as of three sweeps at the same time
		s.spend(7, now.Add(-200*time.Millisecond))
	}
	if err := s.share(ended, 7); !errors.Is(err, ErrOften) || !waits(7) {
		t.Errorf("at once: %v", err)
	}
	if err := s.share(ended, 8); err != nil {
		t.Errorf("another user: %v", err)
	}
	if now = now.Add(5400*time.Millisecond - 1); !waits(7) {
		t.Error("after less than its share")
	}
	now = now.Add(1)
	if err := s.share(ended, 7); err != nil {
		t.Errorf("after its share: %v", err)
	}
	for range 100 {
		s.spend(7, now.Add(-time.Second))
	}
	if now = now.Add(mostWait); waits(7) {
		t.Error("it never ends")
	}
	s.spend(7, now.Add(-time.Second))
	now = now.Add(-time.Hour) // the clock was set back
	if err := s.share(ended, 7); err != nil {
		t.Errorf("after the clock was set back: %v", err)
	}
}

// TestStartsAreBounded: a user may write any number of starts; the lanes of few of them are kept.
func TestStartsAreBounded(t *testing.T) {
	f := newFiles(SweepPaths{}, "", 0)
	for n := range mostStarts + 100 {
		f.began("a", 1, n+1)
	}
	if len(f.starts[1]) != mostStarts {
		t.Errorf("%d", len(f.starts[1]))
	}
}
