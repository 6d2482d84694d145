package control

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Nodes take turns, however long the queue of one node is.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		if err := turns.take(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var order []string
		var all sync.WaitGroup
		for _, key := range []string{"a", "a", "a", "a", "b", "c", "b"} {
			all.Go(func() {
				if err := turns.take(t.Context(), key); err != nil {
					t.Error(err)
				}
				mu.Lock()
				order = append(order, key)
				mu.Unlock()
				turns.give()
			})
			synctest.Wait()
		}
		left, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := turns.take(left, "d"); err == nil {
			t.Error("a place that was not there")
		}
		turns.give()
		all.Wait()
		if want := []string{"a", "b", "c", "a", "b", "a", "a"}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		if turns.free != 1 || len(turns.lines) != 0 || len(turns.order) != 0 {
			t.Errorf("left behind: %+v", turns)
		}
	})
}

// Within a node the newest is served first, and the oldest is refused when too many wait. When
// too many wait in all, one of the node with the most is refused.
func TestTurnsOfAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns(1)
		if err := turns.take(t.Context(), "flood"); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		var called, out []string
		var all sync.WaitGroup
		wait := func(key string, n int) {
			all.Go(func() {
				err := turns.take(t.Context(), key)
				mu.Lock()
				defer mu.Unlock()
				if name := fmt.Sprint(key, n); err == nil {
					called = append(called, name)
				} else if out = append(out, name); err != wire.ErrTooManyWait {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		for n := range mostOfNode + 2 {
			wait("flood", n)
		}
		if want := []string{"flood0", "flood1"}; !slices.Equal(out, want) {
			t.Errorf("sent away: %v, want %v", out, want)
		}
		for n := range mostInAll {
			wait("node"+string(rune('A'+n/20)), n)
		}
		if turns.wait != mostInAll || len(turns.lines["flood"]) > 20 || len(out) != 2+mostOfNode {
			t.Errorf("%d wait, %d of the flood; %d were sent away", turns.wait, len(turns.lines["flood"]), len(out))
		}
		turns.give()
		synctest.Wait()
		if want := []string{fmt.Sprint("flood", mostOfNode+1)}; !slices.Equal(called, want) {
			t.Errorf("called: %v, want %v", called, want)
		}
		for range mostInAll {
			turns.give()
		}
		all.Wait()
		if turns.free != 1 || turns.wait != 0 || len(turns.lines) != 0 || len(turns.order) != 0 {
			t.Errorf("left behind: %d free, %d wait, %v", turns.free, turns.wait, turns.order)
		}
	})
}

// In any order of arrivals, timeouts and departures, no place is lost or created.
func TestTurnsLoseNothing(t *testing.T) {
	turns := newTurns(3)
	var all sync.WaitGroup
	var mu sync.Mutex
	inside := 0
	for n := range 300 {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n%7)*time.Millisecond)
			defer cancel()
			if turns.take(ctx, string(rune('a'+n%5))) != nil {
				return
			}
			mu.Lock()
			if inside++; inside > 3 {
				t.Errorf("%d at a time", inside)
			}
			mu.Unlock()
			time.Sleep(time.Millisecond)
			mu.Lock()
			inside--
			mu.Unlock()
			turns.give()
		})
	}
	all.Wait()
	if turns.free != 3 {
		t.Errorf("%d places, had 3", turns.free)
	}
}

// A user that connects faster than a person types is refused on accept.
func TestArrivals(t *testing.T) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: t.TempDir() + "/s"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	g := newGate(l, func() time.Time { return now }, func(uint32) bool { return false }, func(error) {})
	g.arrivals.burst = 3
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := g.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	for n := range 6 {
		conn, err := net.Dial("unix", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if n < 3 {
			defer (<-accepted).Close()
			continue
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil || len(accepted) > 0 {
			t.Errorf("the %d. was let in", n+1)
		}
	}
}
