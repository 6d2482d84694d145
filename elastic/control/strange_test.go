package control

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// Who a caller is to a job hangs on his account alone: no number of a group, no
// process and no node makes him its owner, an operator or root.
func TestOnlyTheAccountCounts(t *testing.T) {
	const ann, bob, daemon = 5001, 5002, 5003
	for _, mode := range []bool{false, true} {
		o := Options{UID: daemon, UserMode: mode, Operators: []string{"oscar"}}
		for _, gid := range []uint32{0, ann, bob, daemon} {
			c := Caller{UID: bob, GID: gid, PID: int32(gid), Name: "bob", Host: "oscar"}
			if r := o.role(c, ann); r != other {
				t.Errorf("group %d: role %d to another's job", gid, r)
			}
			if r := o.standing(c); r != other {
				t.Errorf("group %d: role %d where no job is concerned", gid, r)
			}
			if o.admits(c) != !mode {
				t.Errorf("group %d, user mode %t: admitted %t", gid, mode, !mode)
			}
		}
	}
}

// One who leaves and is called before he has left the line hands his place on.
func TestTurnsCalledJustAfterLeaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		for n := range 200 {
			if err := turns.take(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if turns.take(ctx, "b") == nil {
					turns.give()
				}
			}()
			synctest.Wait()
			turns.mu.Lock() // he wakes, and waits here to leave the line
			cancel()
			called := turns.lines["b"][0] // as give does, by one who was quicker
			delete(turns.lines, "b")
			turns.order = nil
			called.in = true
			close(called.called)
			turns.mu.Unlock()
			synctest.Wait()
			if turns.free != 1 {
				t.Fatalf("round %d: %d places, had 1", n, turns.free)
			}
		}
	})
}

// Readers who come together, before and after a cycle, are sent a report that is
// whole. What it needs to be seen is the race detector.
func TestReadersShareAReport(t *testing.T) {
	var s seen
	var all sync.WaitGroup
	reports := []*publish.Report{{Policy: "one"}, {Policy: "two"}}
	for n := range 16 {
		all.Go(func() {
			for k := range 50 {
				if raw, ok := s.report(reports[(n+k)%2], request{}).(ready); !ok || len(raw) == 0 {
					t.Errorf("no report: %T", raw)
				}
			}
		})
	}
	all.Wait()
}
