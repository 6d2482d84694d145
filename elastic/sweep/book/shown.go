package book

import (
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
