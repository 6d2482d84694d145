package seats

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
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
		c := Seats[int]{Each: each, All: all}
		type sitting struct {
			s    *Seat[int]
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
				s := c.Enter(key, conn)
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
					in[n].s.Work(in[n].busy)
				}
			case 3:
				if len(in) > 0 {
					n := rapid.IntRange(0, len(in)-1).Draw(t, "who")
					in[n].s.Leave()
					in[n].s.Leave()
					in = slices.Delete(in, n, n+1)
				}
			}
			if c.total != len(in) || c.total > all {
				t.Fatalf("%d seats counted, %d taken, of %d", c.total, len(in), all)
			}
			for k := range 5 {
				if c.Count(k) != count(k, false) || c.Count(k) > each {
					t.Fatalf("%d has %d seats, counted %d", k, count(k, false), c.Count(k))
				}
			}
		}
	})
}

// A thousand users with one idle connection each do not keep the next user out.
func TestThousandIdleConnections(t *testing.T) {
	c := Seats[int]{Each: 32, All: 1000}
	for n := range 5000 {
		if s := c.Enter(n, &chair{}); s == nil {
			t.Fatalf("the %d. was turned away", n+1)
		}
	}
	served := c.Enter(-1, &chair{})
	served.Work(true)
	for n := range 5000 {
		c.Enter(n%10, &chair{})
	}
	if served.gone || c.total != 1000 {
		t.Errorf("gone: %v, %d seats", served.gone, c.total)
	}
}
