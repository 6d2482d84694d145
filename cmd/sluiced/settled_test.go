package main

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/learn/predict"
)

// TestSettledOnce: the predictor of a model is chosen once for the same samples, and
// again for more; what is remembered is bounded.
func TestSettledOnce(t *testing.T) {
	var s settled
	ask := func(change func(*engine.Speeds)) *predict.Choice {
		of := controltest.Speeds()
		of.Choice, of.Seen = nil, of.Seen[:6]
		change(&of)
		s.settle(&of)
		return of.Choice
	}
	same := func(*engine.Speeds) {}
	first := ask(same)
	if first == nil || ask(same) != first {
		t.Error("settled twice")
	}
	if ask(func(of *engine.Speeds) { of.At = of.At.Add(time.Second) }) == first {
		t.Error("not settled again with a new sample")
	}
	for i := range 3 * mostSettled {
		ask(func(of *engine.Speeds) { of.Key, of.Shapes = string(rune('a'+i)), 1 }) // too few
	}
	if len(s.known) > mostSettled {
		t.Errorf("%d models are remembered", len(s.known))
	}
}
