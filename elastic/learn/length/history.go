package length

import (
	"cmp"
	"math"
	"slices"
	"time"
)

const (
	// remembered is how many ended jobs of a user are used, the latest.
	remembered = 16
	// forgotten is the age at which an ended job is dropped.
	forgotten = 30 * 24 * time.Hour
	// doubt is how many jobs of average size, which took what they declared, are added to the
	// user's, so that one or two jobs that hung have no effect.
	doubt = 2
	// same is the weight of a job of the same script relative to one of another script.
	same = 4
	// trusted is the factor up to which the user's declarations are used unchanged.
	trusted = 1.1
	// most is the greatest factor.
	most = 10
)

// Ended is a job that ended, as far as its declared length matters.
type Ended struct {
	Script   string    // the script it ran; "" = not known
	At       time.Time // when it ended
	Declared float64   // GPU-seconds used at its declared end; equal to Had if it completed before
	Had      float64   // GPU-seconds used in all
}

// Says reports whether the job has all the values that Factor needs.
func (e Ended) Says() bool { return e.Declared > 0 && e.Had > 0 && !e.At.IsZero() }

// History is the ended jobs of one user, in order of their ends.
type History []Ended

// With returns the history with one more job, without jobs that are too old or too many.
func (h History) With(e Ended) History {
	if !e.Says() {
		return h
	}
	h = append(slices.Clone(h), e)
	slices.SortStableFunc(h, func(a, b Ended) int { return a.At.Compare(b.At) })
	return h[max(0, len(h)-remembered):]
}

// Factor returns how many times its declared work a job of a script is expected to take, and
// the number of jobs that this is learned from; 0 if the declaration is used unchanged. It is
// the median of what the user's jobs took, weighted by GPU-seconds: many small jobs do not hide
// a large one, and a user that declared more than half of its work correctly is trusted. It is
// never below 1: a job that ends early harms no other.
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
