package speed

import (
	"fmt"
	"testing"
)

func TestSizesOfASpan(t *testing.T) {
	for _, c := range []struct {
		span Span
		want string
	}{
		{Span{Least: 2, Step: 1, Most: 5}, "[2 3 4 5]"},
		{Span{Least: 2, Step: 3, Most: 10}, "[2 5 8]"},
		{Span{Least: 62, Step: 1, Most: 1000}, "[62 63 64 128 256 512 1000]"},
		{Span{Least: 4, Step: 100, Most: 900}, "[4 104 204 404 804]"},
		{Span{Least: 9, Step: 1, Most: 8}, "[]"},
		{Span{Least: 64, Step: 100, Most: 600}, "[64 164 264 464 564]"}, // twice 64 is less than a step more
		{Span{Least: 200, Step: 1000, Most: 1300}, "[200 1200]"},
		{Span{Least: 64, Step: 100, Most: 100}, "[64]"},
	} {
		got := []int{}
		c.span.each(func(n int) {
			if got = append(got, n); len(got) > 100 {
				t.Fatalf("%+v has no end: %v", c.span, got)
			}
		})
		if fmt.Sprint(got) != c.want {
			t.Errorf("%+v: %v, want %s", c.span, got, c.want)
		}
	}
}

// TestFastestIsCached: the answer is the smallest of the fastest sizes, and the curve is asked once.
func TestFastestIsCached(t *testing.T) {
	asked := 0
	c := Known(func(split []int) float64 {
		asked++
		n := 0
		for _, g := range split {
			n += g
		}
		return 10 / float64(min(n, 6)) * float64(len(split)*len(split)) // no faster beyond 6; slower on 2 nodes
	})
	for range 3 {
		if got := c.Fastest(Span{Least: 1, Step: 1, Most: 40, PerNode: 4}); got != 4 {
			t.Errorf("the fastest size is %d, want 4", got)
		}
	}
	if asked != 40 {
		t.Errorf("the curve was asked %d times, want 40", asked)
	}
	if got := c.Fastest(Span{Least: 1, Step: 1, Most: 40, PerNode: 8}); got != 6 {
		t.Errorf("on nodes of 8 the fastest size is %d, want 6", got)
	}
	if got := (*Curve)(nil).Fastest(Span{Least: 3, Step: 2, Most: 2, PerNode: 8}); got != 0 {
		t.Errorf("an empty span has size %d", got)
	}
}
