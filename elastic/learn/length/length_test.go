package length_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/learn/length"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// past returns a history of jobs that ended an hour apart, the last an hour ago.
func past(jobs ...length.Ended) (h length.History) {
	for i, e := range jobs {
		e.At = noon.Add(time.Duration(i-len(jobs)) * time.Hour)
		h = h.With(e)
	}
	return h
}

// took returns a job of a script that took this many times what it declared.
func took(script string, declared, times float64) length.Ended {
	return length.Ended{Script: script, Declared: declared, Had: declared * times}
}

func a(times float64) length.Ended { return took("a", 1000, times) }
func b(times float64) length.Ended { return took("b", 1000, times) }

func TestFactor(t *testing.T) {
	large := took("b", 50_000, 2)
	for _, c := range []struct {
		name   string
		h      length.History
		script string
		want   float64
		jobs   int
	}{
		{"nothing is known", nil, "a", 0, 0},
		{"one job hung", past(a(1), a(1), a(1), a(9)), "a", 0, 0},
		{"one job took twice as long", past(a(2)), "a", 0, 0},
		{"three did", past(a(2), a(2), a(2)), "a", 2, 3},
		{"all ended early", past(a(0.2), a(0.9), a(0.5)), "a", 0, 0},
		{"they vary about what was declared", past(a(1.3), a(0.7), a(1), a(1.4), a(0.9)), "a", 0, 0},
		{"a few per cent", past(a(1.05), a(1.05), a(1.05), a(1.05)), "a", 0, 0},
		{"small honest jobs do not hide large ones", past(large, large, large, a(1), a(1), a(1), a(1), a(1)), "c", 2, 8},
		{"one script of two", past(a(2), a(2), a(2), a(2), b(1), b(1), b(1), b(1)), "a", 2, 8},
		{"the other of the two", past(a(2), a(2), a(2), a(2), b(1), b(1), b(1), b(1)), "b", 0, 0},
		{"a bound", past(a(1e9), a(1e9), a(1e9)), "a", 10, 3},
		{"jobs that say nothing", past(length.Ended{}, length.Ended{Had: 9}, a(2), a(2), a(2)), "a", 2, 3},
	} {
		if got, jobs := c.h.Factor(c.script, noon); got != c.want || jobs != c.jobs {
			t.Errorf("%s: %v from %d jobs, want %v from %d", c.name, got, jobs, c.want, c.jobs)
		}
	}
}

// Old jobs are dropped, and the number of jobs kept is bounded.
func TestHistoryForgets(t *testing.T) {
	h := past(a(2), a(2), a(2))
	if f, _ := h.Factor("a", noon.AddDate(0, 2, 0)); f != 0 {
		t.Errorf("after two months: %v", f)
	}
	for range 100 {
		h = h.With(length.Ended{At: noon, Declared: 1, Had: 1})
	}
	if f, _ := h.Factor("a", noon); len(h) > 16 || f != 0 {
		t.Errorf("%d jobs are kept, factor %v", len(h), f)
	}
}

// A job that saves at its declared end has little left. One that trains on has more left the
// more it uses, at most what it has used in all.
func TestBeyond(t *testing.T) {
	if got := length.Beyond(100, 0, 50, 1); got != 1 {
		t.Errorf("no declared end was passed: %v", got)
	}
	if got := length.Beyond(100, 1000, 1015, 10); got != 1 || length.Past(1000, 1015) {
		t.Errorf("it saves: %v", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		total, reached := rapid.Float64Range(1, 1e6).Draw(t, "total"), rapid.Float64Range(1, 1e9).Draw(t, "reached")
		at := rapid.Float64Range(1, 20).Draw(t, "at")
		later := at + rapid.Float64Range(0, 5).Draw(t, "more")
		alone := reached / total
		less, more := length.Beyond(total, reached, at*reached, alone), length.Beyond(total, reached, later*reached, alone)
		if less > more*(1+1e-9) {
			t.Fatalf("at %v it has %v left, at %v %v", at, less, later, more)
		}
		if most := later * total; more > most*(1+1e-9) || later > 1.3 && more < most*(1-1e-9) {
			t.Fatalf("at %v it has %v left, want what it has had, %v", later, more, most)
		}
		if left := length.Beyond(total, 1, later, 1); left > max(later, 0.01*total)*(1+1e-9) {
			t.Fatalf("done at its start: %v units left", left)
		}
	})
}
