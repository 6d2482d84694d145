package report

import (
	"math"
	"pgregory.net/rapid"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestSeries: whatever is added, the mean over steps of time is that of the plain
// sum of spans.
func TestSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSeries(16)
		type piece struct {
			from, to time.Duration
			amount   float64
		}
		var all []piece
		for range rapid.IntRange(0, 12).Draw(t, "spans") {
			from := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "from"))
			p := piece{from, from + time.Duration(rapid.Int64Range(0, int64(2*time.Hour)).Draw(t, "long")), float64(rapid.IntRange(1, 64).Draw(t, "amount"))}
			all = append(all, p)
			s.add(p.from, p.to, p.amount)
		}
		total, want := 0.0, 0.0
		for _, v := range s.integrals() {
			total += v
		}
		for _, p := range all {
			want += p.amount * (p.to - p.from).Seconds()
		}
		if math.Abs(total-want) > 1e-6*max(1, want) {
			t.Fatalf("%v amount-seconds, want %v", total, want)
		}
		// Steps as wide as the slots are exact.
		n := len(s.part)
		means := s.means(time.Duration(n)*s.width, n)
		for i, got := range means {
			lo, hi, want := time.Duration(i)*s.width, time.Duration(i+1)*s.width, 0.0
			for _, p := range all {
				if both := min(hi, p.to) - max(lo, p.from); both > 0 {
					want += p.amount * both.Seconds() / s.width.Seconds()
				}
			}
			if math.Abs(got-want) > 1e-6*max(1, want) {
				t.Fatalf("step %d: %v, want %v", i, got, want)
			}
		}
	})
}

func place(gpus int) nodes.Placement { return nodes.Placement{{Node: "n1", GPUs: gpus}} }

func at(s int) time.Duration { return time.Duration(s) * time.Second }

// story is the events of a job that waits 10 s, starts on 2 GPUs, grows, is stopped, starts
// again and ends.
func story(t *Track, job int, from int) {
	for _, e := range []replay.Event{
		{At: at(from), Kind: "submit"}, {At: at(from + 10), Kind: "start", To: place(2)},
		{At: at(from + 100), Kind: "resize", From: place(2), To: place(4)}, {At: at(from + 105), Kind: "stop", From: place(4)},
		{At: at(from + 120), Kind: "start", To: place(1)}, {At: at(from + 200), Kind: "end", From: place(1)},
	} {
		e.Job, e.Name = job, "<b>&\"'\x00"
		t.Event(e)
	}
}

func thirty(int) time.Duration { return 30 * time.Second }

func TestTrack(t *testing.T) {
	track := NewTrack(1, thirty)
	story(track, 0, 0)
	sum := func(s *series) (total float64) {
		for _, v := range s.integrals() {
			total += v
		}
		return math.Round(total)
	}
	// 90 s on 2 with 30 s restart, 5 s on 4 all of it restart, 80 s on 1 with 30 s.
	if u, r, w := sum(track.useful), sum(track.restarting), sum(track.waiting); u != 60*2+50 || r != 30*2+5*4+30 || w != 10+15 {
		t.Errorf("useful %v, restarting %v, waiting %v", u, r, w)
	}
	want := "job 1, x: came after 0 s, waited 25 s, ran 2 min 55 s; GPUs 2 → 4 → 1; 3 restarts"
	track.lanes[0].name = "x"
	if got := track.lanes[0].story(0); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if len(track.active) != 0 || track.end != at(200) {
		t.Errorf("%d active, end %v", len(track.active), track.end)
	}
}

// TestTrackIgnoresStrangers: a job beyond the count does no harm.
func TestTrackIgnoresStrangers(t *testing.T) {
	track := NewTrack(1, thirty)
	story(track, 7, 0)
	if track.end != 0 {
		t.Error("counted")
	}
}

// TestTrackIsBounded: spans of a restless job and jobs without number.
func TestTrackIsBounded(t *testing.T) {
	track := NewTrack(1, thirty)
	track.Event(replay.Event{Kind: "submit"})
	for i := range 10 * maxSpans {
		track.Event(replay.Event{At: at(i), Kind: "resize", To: place(1 + i%2)})
	}
	if n := len(track.lanes[0].spans); n > maxSpans {
		t.Errorf("%d spans", n)
	}
	if n := len(NewTrack(1_000_000, thirty).lanes); n != fewLanes {
		t.Errorf("%d lanes", n)
	}
}
