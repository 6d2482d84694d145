package offcycle

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// TestPace: a sweep is looked at often while one of its lanes is about to want a trial, and twice a second
// else; steps that take long take a quarter of the time at most.
func TestPace(t *testing.T) {
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	at := func(seconds float64) time.Time { return noon.Add(time.Duration(seconds * float64(time.Second))) }
	long := []sweep.Event{
		{Kind: sweep.Began, Trial: 1, Start: 1, Ask: "a", Point: "x=1", At: at(0)},
		{Kind: sweep.Reported, Trial: 1, Start: 1, Epoch: 1, At: at(100)},
		{Kind: sweep.Reported, Trial: 1, Start: 1, Epoch: 2, At: at(200)},
	}
	ended := sweep.Event{Kind: sweep.EndedAs, How: sweep.Done, Trial: 1, Start: 1, At: at(1000)}
	short := []sweep.Event{long[0], {Kind: sweep.EndedAs, How: sweep.Done, Trial: 1, Start: 1, At: at(10)}}
	for _, c := range []struct {
		name   string
		events []sweep.Event
		epochs float64
		lost   bool
		now    float64
		took   time.Duration
		sweeps int
		want   time.Duration
	}{
		{"nothing is known", nil, 10, false, 0, 0, 1, lookEvery},
		{"in the middle of a trial", long, 10, false, 500, 0, 1, lookEvery},
		{"shortly before its end", long, 10, false, 999.5, 0, 1, lookSoon},
		{"shortly after it", long, 10, false, 1004, 0, 1, lookSoon},
		{"long after it", long, 10, false, 1100, 0, 1, lookEvery},
		{"its length is not known", long, 0, false, 999.5, 0, 1, lookEvery},
		{"it lost, and saves", long, 10, true, 500, 0, 1, lookSoon},
		{"after the end of a long one", append(long, ended), 10, false, 1001, 0, 1, lookEvery},
		{"after the end of a short one", short, 0, false, 11, 0, 1, 100 * time.Millisecond},
		{"steps take long", long, 10, false, 999.5, 100 * time.Millisecond, 1, 400 * time.Millisecond},
		{"many sweeps", long, 10, false, 999.5, time.Millisecond, 50, 200 * time.Millisecond},
		{"very many sweeps", long, 10, false, 999.5, time.Millisecond, 500, lookEvery},
		{"steps take very long", long, 10, false, 500, time.Second, 1, 4 * time.Second},
	} {
		var p pace
		b := book.New()
		for _, e := range c.events {
			b.Take("lane", e)
			p.take("lane", e)
		}
		if c.lost {
			b.Apply(book.Entry{Pause: &book.Verdict{Trial: 1, Start: 1, Lost: sweep.Lost{Rung: 2, Rank: 2, Of: 2}}})
		}
		p.foresee(b, sweep.Sweep{Epochs: c.epochs})
		if got := p.next(at(c.now), c.took, c.sweeps); got != c.want {
			t.Errorf("%s: looked at again after %v, want %v", c.name, got, c.want)
		}
	}
}
