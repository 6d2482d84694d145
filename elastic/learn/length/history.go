package length

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// remembered is how many ended jobs of a user are looked at, the latest.
	remembered = 16
	// forgotten is how long ago a job ended that says nothing any more.
	forgotten = 30 * 24 * time.Hour
	// doubt is how many jobs of average size, which took what they declared, are assumed
	// beside those of the user: one or two that hung say nothing.
	doubt = 2
	// same is how many times as much a job of the same script says as one of another.
	same = 4
	// trusted is up to which factor a user's jobs are taken at their word.
	trusted = 1.1
	// most is the greatest factor.
	most = 10
)

// Ended is a job that ended.
type Ended struct {
	Script   string    // which it ran; "" = not known
	At       time.Time // when it ended
	Declared float64   // GPU-seconds it had had at its declared end; Had for one that completed before
	Had      float64   // GPU-seconds it had in all
}

// Says reports whether the job says anything of its user's declarations.
func (e Ended) Says() bool { return e.Declared > 0 && e.Had > 0 && !e.At.IsZero() }

// History is the ended jobs of one user, in order of their ends.
type History []Ended

// With returns the history with one more job. What is too old or too much is left out.
func (h History) With(e Ended) History {
	if !e.Says() {
		return h
	}
	h = append(slices.Clone(h), e)
	slices.SortStableFunc(h, func(a, b Ended) int { return a.At.Compare(b.At) })
	return h[max(0, len(h)-remembered):]
}

// Factor is how many times its declared work a job of a script is expected to take, and
// from how many jobs that is known; 0 when it is taken at its word. It is the median of
// what the user's jobs took, by GPU-seconds: many small jobs do not hide a large one, and
// whoever declared more than half of his work truly is believed. No job makes it less
// than 1: one that ends early costs nobody anything.
func (h History) Factor(script string, now time.Time) (factor float64, jobs int) {
	type said struct{ stretch, weight float64 }
	var all []said
	sum := 0.0
	for _, e := range h {
		if now.Sub(e.At) > forgotten {
			continue
		}
		w := e.Had
		if script != "" && e.Script == script {
			w *= same
		}
		all, sum = append(all, said{max(1, e.Had/e.Declared), w}), sum+w
	}
	if len(all) == 0 {
		return 0, 0
	}
	jobs = len(all)
	all = append(all, said{1, doubt * sum / float64(jobs)})
	sum += all[jobs].weight
	slices.SortFunc(all, func(a, b said) int { return cmp.Compare(a.stretch, b.stretch) })
	below := 0.0
	for _, s := range all {
		if below += s.weight; 2*below >= sum {
			factor = math.Min(most, s.stretch)
			break
		}
	}
	if factor <= trusted {
		return 0, 0
	}
	return factor, jobs
}
