package present

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// A lane that runs several trials at once shows all of them.
func TestTrial(t *testing.T) {
	good, fair := .91, .87
	first := wire.Trial{Sweep: 7, Trial: 3, Metric: "val_acc", Value: &good}
	both := first
	both.Beside = []wire.Trial{{Sweep: 7, Trial: 4, Metric: "val_acc", Value: &fair}, {Sweep: 7, Trial: 12, Metric: "val_acc"}}
	for want, trial := range map[string]*wire.Trial{"-": nil, "5": {Trial: 5, Metric: "val_acc"}, "3 val_acc 0.91": &first, "3 val_acc 0.91, 4 0.87, 12": &both} {
		if got := Trial(&wire.Job{Trial: trial}); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := Trials(wire.SweepLane{Trial: 3, Beside: []int{4, 12}}.Trials()) + " " + Trials(wire.SweepLane{}.Trials()); got != "3, 4, 12 -" {
		t.Error(got)
	}
}
