package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/predict"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// Speeds is what is known of the speed of a user's jobs of one model.
type Speeds struct {
	Key    string       // of the samples, and At of the newest: the same two, the same samples
	At     time.Time    // zero = there are none
	Unit   elastic.Unit // what they are of
	Shared bool         // they are of everybody's jobs of the model
	Count  int          // of samples
	Shapes int          // in which there are any
	Enough int          // from how many on anybody is held against the curve
	Seen   []predict.Observation
	Curve  *speed.Curve // what is gone by as long as nobody else is believed; nil without samples
	// Choice is who is believed; nil = not settled: too few shapes, or see Settle.
	Choice *predict.Choice
	kinds  []string
	beside int
}

// Speeds looks up what is known, of the series of samples that says most: whole units of
// work, unless steps were timed in more shapes. Nothing is kept of what is asked.
func (e *Engine) Speeds(ctx context.Context, uid uint32, model string, now time.Time) (Speeds, error) {
	learner := e.learnerOf(uid, model)
	out := Speeds{Enough: enoughShapes, Shared: e.cfg.ShareSpeeds}
	var samples []speed.Sample
	for _, unit := range []elastic.Unit{elastic.Epochs, elastic.Steps, "pace"} {
		key := learner + "/" + string(unit)
		got, known := e.samples[key]
		if !known {
			var err error
			if got, err = e.cfg.Samples.Samples(ctx, key, MaxSamples); err != nil {
				return Speeds{}, fmt.Errorf("the speeds of model %.80q cannot be read: %w", model, err)
			}
		}
		if n := countShapes(got); n > out.Shapes || out.Key == "" {
			out.Key, out.Unit, out.Shapes, samples = key, unit, n, got
		}
	}
	if out.Unit == "pace" {
		out.Unit = elastic.Steps
	}
	out.At, out.Count = readingOf(samples).last, len(samples)
	out.Seen, out.Curve = observationsOf(samples), speed.Fit(samples, now)
	out.kinds, out.beside = kindsBySamples(out.Seen), besideOf(samples)
	if f := e.foreseen[out.Key]; f != nil && f.choice != nil {
		out.Choice = f.choice
	}
	return out, nil
}

// Settle finds out who is believed, where there are shapes enough and no cycle did. It
// takes about 0.3 s of CPU time.
func (s *Speeds) Settle() {
	if s.Choice != nil || s.Shapes < s.Enough {
		return
	}
	if c, err := predict.Choose(foreseers, s.Seen, shapeWords); err == nil {
		s.Choice = c
	}
}

// Asked is a shape as the samples know it, and what is believed of it.
type Asked struct {
	predict.Configuration
	Seconds float64
	Source  speed.Source
	Says    []float64 // by form; nil = nobody is held against the curve
	By      string    // the form that answers; "" = it was measured
}

// Ask answers for a configuration; "" for its kind is the kind of GPU that most samples are
// of. It is what decisions go by, but for their hope.
func (s *Speeds) Ask(split []int, kind string) Asked {
	f := &foresight{choice: s.Choice, kinds: s.kinds, beside: s.beside}
	out := Asked{Configuration: f.question(kind, split)}
	curve := s.Curve
	if s.Choice != nil {
		curve = curve.Foretell(f.answer)
		for i := range s.Choice.Forms {
			out.Says = append(out.Says, s.Choice.Says(i, out.Configuration))
		}
	}
	shape := speed.Shape{GPUs: out.GPUs(), Nodes: len(split)}
	out.Seconds, out.Source = curve.On(out.Kind).Seconds(shape)
	switch {
	case out.Source == speed.Measured:
	case s.Choice == nil:
		out.By = foreseers[0].Name
	default:
		out.By = s.Choice.Forms[s.Choice.Believed(f.question(kind, shape.Even()))].Name
	}
	return out
}
