package journal

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestEndingSays: how a job ended, for its user: the reason that decides, in one line.
func TestEndingSays(t *testing.T) {
	words := &checkpoint.LastWords{Why: "out of GPU memory", Lines: []string{"step 1", "OOM on cuda:0"}}
	for _, c := range []struct {
		e    Ending
		want string
	}{
		{Ending{}, ""},
		{Ending{How: Completed}, "completed: exit code 0"},
		{Ending{How: Failed, Code: 3}, "failed: exit code 3"},
		{Ending{How: Failed, Code: 1, Words: words}, "failed: out of GPU memory; last line: OOM on cuda:0"},
		{Ending{How: Failed, Code: 1, Words: &checkpoint.LastWords{Lines: []string{"bye"}}}, "failed: exit code 1; last line: bye"},
		{Ending{How: Failed, Code: 1, Words: &checkpoint.LastWords{Why: "ValueError: bye", Lines: []string{"bye"}}}, "failed: ValueError: bye"},
		{Ending{How: Killed, Signal: "9"}, "failed: killed by signal 9"},
		{Ending{How: Killed, Signal: "9", Words: words}, "failed: out of GPU memory; last line: OOM on cuda:0"},
		{Ending{How: Cancelled}, "cancelled before it started"},
		{Ending{How: Cancelled, Ran: true}, "cancelled"},
		{Ending{How: OutOfTime}, "ended at its time limit"},
		{Ending{How: OutOfTime, Limit: 36 * time.Hour}, "ended at its time limit of 36 h"},
		{Ending{How: OutOfTime, Limit: 90 * time.Minute}, "ended at its time limit of 90 min"},
		{Ending{How: OutOfTime, Limit: 90 * time.Second}, "ended at its time limit of 90 s"},
		{Ending{How: NodeFailed, Nodes: []string{"g1", "g2"}}, "failed: node failure on g1+g2"},
		{Ending{How: NodeFailed}, "failed: node failure on (unknown)"},
		{Ending{How: NoOutput, Output: "/x/out"}, "failed: Slurm could not open its output file /x/out; create its folder or submit with another --output"},
		{Ending{How: Silent, Code: 1}, "failed: exit code 1 before its script said anything; see whether its output file (unknown) can be created"},
		{Ending{How: Forgotten}, "ended; Slurm no longer knows how"},
		{Ending{How: Forgotten, Words: words}, "ended; Slurm no longer knows how; its runner said: out of GPU memory"},
		{Ending{How: Forgotten, Words: &checkpoint.LastWords{Lines: []string{"bye"}}}, "ended; Slurm no longer knows how"},
	} {
		if got := c.e.String(); got != c.want {
			t.Errorf("%+v:\n%s, want\n%s", c.e, got, c.want)
		}
	}
}

// TestHeld: a run uses its GPUs from its start to its end, or until now.
func TestHeld(t *testing.T) {
	start := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	minute, zero := start.Add(time.Minute), time.Time{}
	for _, c := range []struct {
		name       string
		gpus       int
		ended, now time.Time
		want       float64
	}{
		{"it runs", 2, zero, minute, 120},
		{"it ended", 2, minute, minute.Add(time.Hour), 120},
		{"its end is not known", 2, zero, zero, 0},
		{"the clock was set back", 2, zero, start.Add(-time.Hour), 0},
		{"it ended before it started", 2, start.Add(-time.Hour), minute, 0},
		{"its place is not known", 0, minute, minute, 0},
	} {
		s := Segment{Started: start, Ended: c.ended}
		if c.gpus > 0 {
			s.Place = nodes.Placement{{Node: "g1", GPUs: c.gpus}}
		}
		if got := s.Held(c.now); got != c.want {
			t.Errorf("%s: %g GPU-seconds, want %g", c.name, got, c.want)
		}
	}
}

// TestBeyond: the part of a run's work that lies beyond an amount.
func TestBeyond(t *testing.T) {
	for _, c := range []struct {
		name          string
		from, to, end float64
		want          float64
	}{
		{"half", 5, 15, 10, .5}, {"all", 10, 20, 10, 1}, {"all, and it began beyond", 12, 20, 10, 1}, {"none", 5, 10, 10, 0},
		{"none yet", 0, 5, 10, 0}, {"no work", 12, 12, 10, 0}, {"it went back", 15, 12, 10, 0},
	} {
		if got := (Segment{DoneFrom: c.from, DoneTo: c.to}).Beyond(c.end); got != c.want {
			t.Errorf("%s: %g, want %g", c.name, got, c.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Float64Range(0, 1e15)
		s := Segment{DoneFrom: amount.Draw(t, "from"), DoneTo: amount.Draw(t, "to")}
		a, b := amount.Draw(t, "a"), amount.Draw(t, "b")
		if x, y := s.Beyond(min(a, b)), s.Beyond(max(a, b)); y > x || y < 0 || x > 1 || math.IsNaN(x+y) {
			t.Fatalf("%g of it beyond %g, and %g beyond %g", x, min(a, b), y, max(a, b))
		}
	})
}
