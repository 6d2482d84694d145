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

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// chair is a connection that records whether it was closed.
type chair struct{ closed bool }

func (c *chair) Close() error { c.closed = true; return nil }

// In any order of calls: there are never more seats than the bound, no busy connection is
// closed, and none is closed or refused while another key holds more seats with an idle one
// among them.
func TestSeatsAreFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const each, all = 5, 12
		c := seats[int]{each: each, all: all}
		type sitting struct {
			s    *seat[int]
			c    *chair
			busy bool
		}
		var in []sitting
		count := func(key int, idle bool) int {
			n := 0
			for _, x := range in {
				if x.s.key == key && (!idle || !x.busy) {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				key := rapid.IntRange(0, 4).Draw(t, "key")
				conn := &chair{}
				s := c.enter(key, conn)
				mine := count(key, false)
				pushed := slices.IndexFunc(in, func(x sitting) bool { return x.c.closed })
				if s == nil && mine < each {
					for k := range 5 {
						if k != key && count(k, true) > 0 && count(k, false) > mine+1 {
							t.Fatalf("%d with %d seats was turned away while %d sits idle with %d", key, mine, k, count(k, false))
						}
					}
				}
				if pushed >= 0 {
					out := in[pushed]
					if out.busy {
						t.Fatal("a busy connection was closed")
					}
					had := count(out.s.key, false)
					if out.s.key == key {
						had++
					}
					for k := range 5 {
						if mine < each && k != out.s.key && count(k, true) > 0 && count(k, false) > had {
							t.Fatalf("%d was pushed out with %d seats while %d had %d", out.s.key, had, k, count(k, false))
						}
					}
					in = slices.Delete(in, pushed, pushed+1)
				}
				if s != nil {
					in = append(in, sitting{s: s, c: conn})
				}
			case 2:
				if len(in) > 0 {
					n := rapid.IntRange(0, len(in)-1).Draw(t, "who")
					in[n].busy = !in[n].busy
					in[n].s.work(in[n].busy)
				}
			case 3:
				if len(in) > 0 {
					n := rapid.IntRange(0, len(in)-1).Draw(t, "who")
					in[n].s.leave()
					in[n].s.leave()
					in = slices.Delete(in, n, n+1)
				}
			}
			if c.total != len(in) || c.total > all {
				t.Fatalf("%d seats counted, %d taken, of %d", c.total, len(in), all)
			}
			for k := range 5 {
				if c.count(k) != count(k, false) || c.count(k) > each {
					t.Fatalf("%d has %d seats, counted %d", k, count(k, false), c.count(k))
				}
			}
		}
	})
}

// A thousand users with one idle connection each do not keep the next user out.
func TestThousandIdleConnections(t *testing.T) {
	c := seats[int]{each: perUserHard, all: 1000}
	for n := range 5000 {
		if s := c.enter(n, &chair{}); s == nil {
			t.Fatalf("the %d. was turned away", n+1)
		}
	}
	served := c.enter(-1, &chair{})
	served.work(true)
	for n := range 5000 {
		c.enter(n%10, &chair{})
	}
	if served.gone || c.total != 1000 {
		t.Errorf("gone: %v, %d seats", served.gone, c.total)
	}
}

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
