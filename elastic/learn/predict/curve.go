package predict

import (
	"math"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// Curve is the form sluice goes by where nothing better is known (elastic/learn/speed): least
// squares over GPUs and nodes alone, near an assumption as long as little was measured.
// It tells neither batches nor splits of one shape apart.
var Curve = Form{"curve", fitCurve}

// worth is up to how many samples one observation counts for: a speed.Curve believes no
// shape more, nearly, for being measured more often.
const worth = 8

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
