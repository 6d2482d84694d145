package track

import (
	"math"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// The jobs of a sweep share one curve: they run one program, and scale alike. But a unit of work of a
// trial with a wider network takes longer at every size. A job's level is how many times as long its
// units take as the curve says. It is learned where the curve is measured, and taken out of samples
// where it is not: so the curve is that of one trial, in all sizes that any of them had.

// levelled is a job's level, and its curve by that level.
type levelled struct {
	level float64 // 0 = not known
	from  *speed.Curve
	at    float64
	curve *speed.Curve // from.Times(at); kept because a curve caches its answers
}

// newLevel is the weight of a new measurement of the level. levelGrain is the least step, as a logarithm, by
// which the level of a curve changes: a decision does not change with every hundredth.
const newLevel, levelGrain = 0.25, 0.05

// takeOut takes the level out of a sample of a job of a sweep, after it has learned from it. curve is that of the
// sweep before the sample. False: others of the sweep had other sizes on this node type, and nothing says yet whether the
// job's level or its size makes the difference: the sample says nothing of the others.
func (l *levelled) takeOut(s speed.Sample, curve *speed.Curve) (speed.Sample, bool) {
	if curve.Samples() > 0 {
		if seconds, src := curve.On(s.Kind).Seconds(s.Shape); src == speed.Measured && seconds > 0 {
			ratio := s.Seconds / seconds
			if l.level > 0 {
				ratio = math.Exp((1-newLevel)*math.Log(l.level) + newLevel*math.Log(ratio))
			}
			l.level = ratio
		}
	}
	if l.level > 0 {
		s.Seconds /= l.level
		return s, true
	}
	return s, curve.Observed(s.Kind) == 0
}

// own returns the job's curve from that of its sweep, to look at once.
func (l *levelled) own(curve *speed.Curve) *speed.Curve { return curve.Times(l.level) }

// renew makes the job's curve from that of its sweep, if either has changed.
func (l *levelled) renew(curve *speed.Curve) {
	at := 1.0
	if l.level > 0 {
		at = math.Exp(math.Round(math.Log(l.level)/levelGrain) * levelGrain)
	}
	if l.curve == nil || l.from != curve || l.at != at {
		l.from, l.at, l.curve = curve, at, curve.Times(at)
	}
}

// Renew returns the job's curve from the one that was fitted for its keys, and keeps it.
func (l *learnt) Renew(spec *elastic.Spec, curve *speed.Curve) *speed.Curve {
	if spec.Sweep == "" {
		return curve
	}
	l.levelled.renew(curve)
	return l.levelled.curve
}

// curveOf is Renew that changes nothing.
func (l *learnt) curveOf(spec *elastic.Spec, curve *speed.Curve) *speed.Curve {
	switch {
	case spec.Sweep == "":
		return curve
	case l.levelled.curve != nil && l.levelled.from == curve:
		return l.levelled.curve
	}
	return l.levelled.own(curve)
}
