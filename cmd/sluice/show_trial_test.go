package main

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// A lane that runs several trials at once says what each of them reported.
func TestTrialLine(t *testing.T) {
	value := .91
	trial := &wire.Trial{Sweep: 7, Trial: 3, Metric: "val_acc", Epoch: 12, Value: &value, Beside: []wire.Trial{{Sweep: 7, Trial: 5, Metric: "val_acc"}, {Sweep: 7, Trial: 6, Metric: "val_acc", Epoch: 1, Value: &value}}}
	want := "trial 3 of sweep 7: val_acc 0.91 at epoch 12; trial 5: nothing reported yet; trial 6: val_acc 0.91 at epoch 1"
	if got := trialLine(wire.Job{Trial: trial}); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := trialLine(wire.Job{}); got != "" {
		t.Error(got)
	}
}
