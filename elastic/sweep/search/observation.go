package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// State is where a trial is.
type State string

const (
	Running State = "running" // asked for: waiting, running, or between lanes
	Paused  State = "paused"  // stopped by a rule before its last epoch; may go on
	Done    State = "done"    // ended by itself
	Failed  State = "failed"  // crashed, or its metric is not a number
)

// Measure is one report of the metric. Value is in the metric's unit. One that is not finite makes
// the trial Failed, as if it had crashed.
type Measure struct {
	Epoch int // from 0: many programs count from there
	Value float64
}

// Observation is one trial of a sweep. The caller owns it: no function of this package keeps or
// changes Curve. Of two observations of one trial the first of the list counts. Trials need not be
// without gaps.
type Observation struct {
	Trial  int // 0, 1, 2, ... in the order in which trials were asked for
	Point  space.Point
	Repeat int // which repeat of its point, from 0
	Origin Origin
	State  State
	Curve  []Measure // reports may be missing, repeated and out of order; the last of an epoch counts
}

// Origin says from where a trial of pbt goes on; the zero value is a trial from the start. Trials
// are 1 too high here, so that the zero value means none. Curve of such a trial begins after Epoch,
// since the epochs up to it are its parent's.
type Origin struct {
	From     int // 1 + the trial whose checkpoint it starts from; 0: none
	Epoch    int // of this checkpoint
	Replaces int // 1 + the trial whose place in the population it has; 0: none
}

// Suggestion is a trial to start. The caller starts it, or keeps it for later, but MUST NOT drop
// it: the number counts as asked for.
type Suggestion struct {
	Trial  int // its number
	Point  space.Point
	Repeat int
	Origin Origin
}

// Observation is the trial as it is once asked for. It is Running, without a curve.
func (s Suggestion) Observation() Observation {
	return Observation{s.Trial, s.Point, s.Repeat, s.Origin, Running, nil}
}

// Curve sorts reports by epoch, the last of each epoch, without those before epoch 0. If a value is
// not finite, the curve ends before it and finite is false. The curve is new, with ascending
// epochs, each once; empty if there is no report from epoch 0 on. reports is not changed. Its order
// matters only between reports of one epoch.
func Curve(reports []Measure) (curve []Measure, finite bool) {
	curve = slices.Clone(reports)
	slices.SortStableFunc(curve, func(a, b Measure) int { return cmp.Compare(a.Epoch, b.Epoch) })
	n := 0
	for i, m := range curve {
		if m.Epoch < 0 || i+1 < len(curve) && curve[i+1].Epoch == m.Epoch {
			continue
		}
		if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
			return curve[:n], false
		}
		curve[n] = m
		n++
	}
	return curve[:n], true
}

// canonical puts trials in their order, each once, with sorted curves, and those whose metric is
// not a number as failed. All functions of this package that get a history begin with it; what they
// pass on is canonical.
func canonical(history []Observation) []Observation {
	list := slices.Clone(history)
	slices.SortStableFunc(list, func(a, b Observation) int { return cmp.Compare(a.Trial, b.Trial) })
	list = slices.CompactFunc(list, func(a, b Observation) bool { return a.Trial == b.Trial })
	for i := range list {
		finite := true
		if list[i].Curve, finite = Curve(list[i].Curve); !finite {
			list[i].State = Failed
		}
		if list[i].State == Done && len(list[i].Curve) == 0 {
			list[i].State = Failed // it ended without a metric
		}
	}
	return list
}
