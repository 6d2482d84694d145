package book

import (
	"math"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Rating is the level of a sweep from a time on. Before the first one it was 0.
type Rating struct {
	At    time.Time `json:"at"`
	Level int       `json:"level"`
	Gap   float64   `json:"gap"`    // mean gap among its best results, in the metric's unit
	Done  int       `json:"trials"` // that the level takes in; of repeats each point is one
}

// mostRatings bounds the ratings of a book; of more the newest are kept.
const mostRatings = 2000

// rate takes in a rating. One that says what the last one says has no effect.
func (b *Book) rate(r Rating) {
	if n := len(b.Ratings); n > 0 && b.Ratings[n-1].Level == r.Level {
		return
	}
	if b.Ratings = append(b.Ratings, r); len(b.Ratings) > mostRatings {
		b.Ratings = b.Ratings[len(b.Ratings)-mostRatings:]
	}
}

// Level is the last rated level; 0 = none was.
func (b *Book) Level() int {
	if len(b.Ratings) == 0 {
		return 0
	}
	return b.Ratings[len(b.Ratings)-1].Level
}

// Best is the best result of a sweep until a time.
type Best struct {
	At    time.Time
	Trial int
	Mark
}

// Result is the result by which the sweep is judged: the value of the best point, with the trial whose
// checkpoint is named. nil = there is none yet.
func (b *Book) Result(s sweep.Sweep) *Best {
	p, ok := b.Leader(s)
	if !ok {
		return nil
	}
	t, mark := p.Best(s.Metric)
	out := &Best{Trial: t.Number, Mark: mark}
	out.Value = p.Value
	if mark.At != 0 {
		out.At = time.UnixMilli(mark.At)
	}
	return out
}

// Bests returns the best result so far of a trial over time, oldest first: each better than the one before, the
// last one that of the book's Best. There are at most most: of results that came close together the
// best is in it. Marks of failed trials, and marks whose time is not known, do not count.
func (b *Book) Bests(m sweep.Metric, most int) []Best {
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	b.dated(func(_ *Trial, mark Mark) { first, last = min(first, mark.At), max(last, mark.At) })
	if first > last || most < 1 {
		return nil
	}
	slots := make([]Best, most) // parts of the time, as long as each other
	width := float64(last-first)/float64(most) + 1
	b.dated(func(t *Trial, mark Mark) {
		s := &slots[min(most-1, int(float64(mark.At-first)/width))]
		if s.Trial == 0 || m.Better(mark.Value, s.Value) || mark.Value == s.Value && mark.At < s.Mark.At {
			*s = Best{Trial: t.Number, Mark: mark}
		}
	})
	var out []Best
	for _, s := range slots {
		if s.Trial == 0 || len(out) > 0 && !m.Better(s.Value, out[len(out)-1].Value) {
			continue
		}
		s.At = time.UnixMilli(s.Mark.At)
		out = append(out, s)
	}
	return out
}

// dated passes all marks that count and whose time is known.
func (b *Book) dated(each func(*Trial, Mark)) {
	for _, t := range b.Trials {
		if t.State == Failed {
			continue
		}
		for _, mark := range t.Curve {
			if mark.At != 0 {
				each(t, mark)
			}
		}
	}
}
