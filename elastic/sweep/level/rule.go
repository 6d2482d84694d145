package level

import (
	"math"
	"slices"
)

// Rule is the configuration of levels. The zero value is not useful; see DefaultRule.
type Rule struct {
	After      int       // k: more than After*Best trials are done before levels count, at least 1
	Best       int       // m: how many of the best results are compared, at least 2
	Thresholds []float64 // G: of the mean gap, as part of the spread of all results; the last one stays
	Recent     int       // how many recent mean gaps are averaged
	About      float64   // a mean gap within this part of their average is "about equal" to it
	Highest    int       // no level above
}

// DefaultRule counts levels from k*m = 20 trials on, of which two sweeps in three have found a point of
// the best 5%. The thresholds are guesses; system D publishes none.
func DefaultRule() Rule {
	return Rule{After: 4, Best: 5, Thresholds: []float64{.05, .02, .01, .005}, Recent: 5, About: .05, Highest: 4}
}

// State is what a sweep's level depends on. The zero value is a new sweep. It follows from the
// sweep's results in the order in which they came, and from the moments at which GPUs idled.
type State struct {
	Level  int       // 0 is the highest priority
	Step   int       // which threshold counts
	Gap    float64   // the newest mean gap, in the metric's unit
	Recent []float64 // mean gaps, the newest last
}

// Done takes in that one more trial is done. results are the metrics of all trials that are done,
// in any order; NaN is not allowed.
func (r Rule) Done(s State, results []float64, max bool) State {
	if len(results) <= r.After*r.Best || len(results) < 2 {
		return s
	}
	sorted := slices.Clone(results)
	slices.Sort(sorted)
	if max {
		slices.Reverse(sorted)
	}
	best := sorted[:min(r.Best, len(sorted))]
	s.Gap = math.Abs(best[0]-best[len(best)-1]) / float64(len(best)-1)
	spread := math.Abs(sorted[len(sorted)/4] - sorted[3*len(sorted)/4])
	threshold := spread * r.Thresholds[min(s.Step, len(r.Thresholds)-1)]
	if s.Gap < threshold || r.steady(s) {
		s.Level, s.Step, s.Recent = min(s.Level+1, r.Highest), s.Step+1, nil
		return s
	}
	s.Recent = append(slices.Clone(s.Recent), s.Gap)
	s.Recent = s.Recent[len(s.Recent)-min(len(s.Recent), r.Recent):]
	return s
}

// steady says that the newest gap is about its recent mean, of Recent gaps at least.
func (r Rule) steady(s State) bool {
	if len(s.Recent) < r.Recent {
		return false
	}
	sum := 0.
	for _, g := range s.Recent {
		sum += g
	}
	mean := sum / float64(len(s.Recent))
	return math.Abs(s.Gap-mean) <= r.About*mean
}

// Passes says that a sweep with so many trials done may let rounds pass to others: more than
// After*Best are done. sluiced does not use it unless the site says so, since sweeps then wait
// without a lane.
func (r Rule) Passes(done int) bool { return done > r.After*r.Best }

// Idle takes in that GPUs idle: the priority rises by one level. The threshold stays where it is,
// so the sweep has to converge further before its priority falls again.
func (r Rule) Idle(s State) State {
	s.Level = max(0, s.Level-1)
	s.Recent = nil
	return s
}
