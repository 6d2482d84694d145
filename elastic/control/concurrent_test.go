package control

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// A caller's relation to a job depends on its account only: no group id, process or node makes
// it its owner, an operator or root.
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

// A waiter that gives up, and is called before it has left the queue, passes its place on.
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
			turns.mu.Lock() // it wakes, and waits here to leave the queue
			cancel()
			called := turns.lines["b"][0] // as give does in another goroutine that was faster
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

// Concurrent readers, before and after a cycle, get a complete report. This test is for the
// race detector.
func TestReadersShareAReport(t *testing.T) {
	var s seen
	var all sync.WaitGroup
	reports := []*publish.Report{{Policy: "one"}, {Policy: "two"}}
	for n := range 16 {
		all.Go(func() {
			for k := range 50 {
				if raw, ok := s.report(reports[(n+k)%2], request{}, k%3 == 0).(ready); !ok || len(raw) == 0 {
					t.Errorf("no report: %T", raw)
				}
			}
		})
	}
	all.Wait()
}
