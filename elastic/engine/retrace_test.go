package engine

import (
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
)

// A run begins where its checkpoint was saved, in the job's unit, if that is known and earlier.
func TestARunBeginsWhereItResumed(t *testing.T) {
	for name, c := range map[string]struct {
		unit    elastic.Unit
		resumed string
		of      int // the run that the runner speaks of
		from    float64
	}{
		"steps":                      {elastic.Steps, "00000004", 1, 32},
		"epochs":                     {elastic.Epochs, "00000004", 1, 1.5},
		"from another checkpoint":    {elastic.Steps, "00000003", 1, 44},
		"from the start":             {elastic.Steps, "", 1, 44},
		"the word of the run before": {elastic.Steps, "00000004", 0, 44},
	} {
		js := &jobState{kept: &checkpoint.Answer{Checkpoint: "00000004", Step: 32, Epoch: 1.5}, seg: &Segment{Restarts: 1, DoneFrom: 44, DoneTo: 44}}
		js.rec.Tag.Spec.Unit = c.unit
		js.runner = runnerWord{ok: true, word: checkpoint.Runner{Restarts: c.of, Resumed: c.resumed}}
		for range 2 {
			js.retrace()
			if js.seg.DoneFrom != c.from || js.seg.DoneTo != c.from {
				t.Errorf("%s: %+v, want it to begin at %g", name, *js.seg, c.from)
			}
		}
		js.seg.DoneTo = 60
		if js.retrace(); js.seg.DoneTo != 60 {
			t.Errorf("%s: what was done since is lost: %+v", name, *js.seg)
		}
	}
}
