package predict

import (
	"math"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// Curve is the default form (elastic/learn/speed): least squares over GPUs and nodes only,
// drawn towards a prior while little is measured. It does not distinguish batches, nor splits
// of one shape.
var Curve = Form{"curve", fitCurve}

// worth is the number of samples up to which an observation gains weight: a speed.Curve hardly
// trusts a shape more for being measured more often.
const worth = 8

// fitCurve repeats an observation by its weight, at most worth times.
func fitCurve(observations []Observation) (Predictor, error) {
	var samples []speed.Sample
	for _, o := range observations {
		s := speed.Sample{Shape: o.shape(), Seconds: o.Seconds, Units: 1, Kind: o.Kind}
		for range int(min(worth, math.Ceil(o.weight()))) {
			samples = append(samples, s)
		}
	}
	c := speed.Fit(samples, time.Time{})
	if c == nil {
		return nil, ErrNothing
	}
	return bounded(func(q Configuration) float64 {
		seconds, _ := c.On(q.Kind).Seconds(q.shape())
		return seconds
	}), nil
}

func (c Configuration) shape() speed.Shape { return speed.Shape{GPUs: c.GPUs(), Nodes: len(c.Split)} }
