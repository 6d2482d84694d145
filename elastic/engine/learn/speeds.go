package learn

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/predict"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// Speeds is what is known of the speed of a user's jobs of one model.
type Speeds struct {
	Key    string       // of the samples; Key and At together identify them
	At     time.Time    // time of the newest sample; zero = there are none
	Unit   elastic.Unit // what was timed
	Shared bool         // the samples are of all users' jobs of the model
	Count  int          // number of samples
	Shapes int          // number of shapes with samples
	Enough int          // number of shapes from which on predictors are compared with the curve
	Seen   []predict.Observation
	Curve  *speed.Curve // used unless Choice prefers another predictor; nil without samples
	// Choice is the chosen predictor; nil = too few shapes, or not chosen yet (see Settle).
	Choice *predict.Choice
	kinds  []string
	beside int
}

// Speeds returns what is known of a group of jobs, from the series of samples that covers most
// shapes: whole units of work, unless steps were timed in more. It does not change the memory. If a
// series that is not in memory cannot be read it returns the error: it is for a user, who is not to
// be shown half. It reads up to three series, and fits a curve.
func (m *Memory) Speeds(ctx context.Context, learner string, now time.Time) (Speeds, error) {
	out := Speeds{Enough: enoughShapes}
	var samples []speed.Sample
	for _, unit := range []elastic.Unit{elastic.Epochs, elastic.Steps, Pace} {
		key := learner + "/" + string(unit)
		got, known := m.samples[key]
		if !known {
			var err error
			if got, err = m.Store.Samples(ctx, key, MaxSamples); err != nil {
				return Speeds{}, err
			}
		}
		if n := countShapes(got); n > out.Shapes || out.Key == "" {
			out.Key, out.Unit, out.Shapes, samples = key, unit, n, got
		}
	}
	if out.Unit == Pace {
		out.Unit = elastic.Steps
	}
	out.At, out.Count = readingOf(samples).last, len(samples)
	out.Seen, out.Curve = observationsOf(samples), speed.Fit(samples, now)
	out.kinds, out.beside = kindsBySamples(out.Seen), besideOf(samples)
	if f := m.foreseen[out.Key]; f != nil && f.choice != nil {
		out.Choice = f.choice
	}
	return out, nil
}

// Pace is the unit of samples of step times.
const Pace elastic.Unit = "pace"

// Settle chooses a predictor if there are enough shapes and no cycle has chosen one. It takes about
// 0.3 s of CPU time. It uses nothing of the Memory, so that it may be called on another goroutine
// than the cycle's, and MUST be if the cycle is not to wait. Without a choice nothing has changed.
func (s *Speeds) Settle() {
	if s.Choice != nil || s.Shapes < s.Enough {
		return
	}
	if c, err := predict.Choose(foreseers, s.Seen, shapeWords); err == nil {
		s.Choice = c
	}
}

// Asked is a configuration and its expected speed.
type Asked struct {
	predict.Configuration
	Seconds float64
	Source  speed.Source
	Says    []float64 // prediction of each form; nil = predictors were not compared
	By      string    // name of the form that was used; "" = the shape was measured
}

// Ask returns the expected speed of a configuration; kind "" is the kind with most samples.
// Decisions use the same value, apart from their optimism for untried shapes. split has the GPUs on
// each node, in any order, and MUST NOT be empty. It changes nothing.
func (s *Speeds) Ask(split []int, kind string) Asked {
	f := &foresight{choice: s.Choice, kinds: s.kinds, beside: s.beside}
	out := Asked{Configuration: f.question(kind, split)}
	curve := s.Curve
	if s.Choice != nil {
		curve = curve.Predicted(f.answer)
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
		out.By = s.Choice.Forms[s.Choice.FormOf(f.question(kind, shape.Even()))].Name
	}
	return out
}
