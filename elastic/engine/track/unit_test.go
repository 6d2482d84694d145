package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestSamplesCarryTheUnitOfTheReport: the time of a step is never stored as that of an epoch, whether or
// not the job was submitted with a unit.
func TestSamplesCarryTheUnitOfTheReport(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	steps := checkpoint.Progress{Event: "progress", Done: 40, Step: 40, Epoch: 4, Seconds: .575, GPUs: 1, Nodes: 1}
	epochs := checkpoint.Progress{Event: "progress", Done: 4, Step: 40, Epoch: 4, Seconds: 5.75, GPUs: 1, Nodes: 1}
	for name, c := range map[string]struct {
		unit        elastic.Unit
		line        checkpoint.Progress
		epoch, step int
	}{
		"no unit, steps":           {"", steps, 0, 1},
		"no unit, epochs":          {"", epochs, 1, 0},
		"epochs, but steps":        {elastic.Epochs, steps, 0, 0},
		"epochs":                   {elastic.Epochs, epochs, 1, 0},
		"steps, but epochs":        {elastic.Steps, epochs, 0, 0},
		"no unit, nothing to tell": {"", checkpoint.Progress{Event: "progress", Done: 4, Seconds: 5.75, GPUs: 1, Nodes: 1}, 1, 0},
	} {
		e := New(Rules{}, new(journal.Memory), nil)
		js := &Job{Rec: journal.JobRecord{Token: "t", Identity: journal.Identity{ID: 1, Owner: elastic.Owner{UID: 1000}, SlurmUID: 1000}, LastRun: journal.LastRun{Place: nodes.Placement{{Node: "n1", GPUs: 1}}}}}
		js.Rec.Tag.Spec.Model, js.Rec.Tag.Spec.Unit = "m", c.unit
		e.Remember(js)
		e.foldSample(js, c.line, now)
		learner := e.Rules.learner(js.Rec)
		if got := [2]int{len(e.Learnt.Recall(learner + "/epoch")), len(e.Learnt.Recall(learner + "/step"))}; got != [2]int{c.epoch, c.step} {
			t.Errorf("%s: %d samples of epochs and %d of steps, want %d and %d", name, got[0], got[1], c.epoch, c.step)
		}
	}
}
