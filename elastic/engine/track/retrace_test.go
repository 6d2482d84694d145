package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/slurm"
)

// A run that Slurm, its user or a failure started again begins where its program reports that it
// resumed. A script that is restarted within the run does not change that.
func TestARunBeginsWhereItsProgramSays(t *testing.T) {
	for name, c := range map[string]struct {
		event    string
		of       int
		from, to float64 // of the run so far
		at       float64
		want     float64
	}{
		"a checkpoint by time":       {"resumed", 1, 25, 25, 15, 15},
		"progress":                   {"progress", 1, 25, 25, 15, 25},
		"the run before":             {"resumed", 0, 25, 25, 15, 25},
		"started again in this run":  {"resumed", 1, 25, 40, 15, 25},
		"where the run before ended": {"resumed", 1, 25, 25, 25, 25},
	} {
		js := &Job{Runs: runs{Seg: &journal.Segment{Restarts: 1, DoneFrom: c.from, DoneTo: c.to}}}
		New(Rules{}, nil, nil).foldProgress(js, checkpoint.Progress{Event: c.event, Restarts: c.of, Done: c.at}, time.Time{}, false)
		if js.Runs.Seg.DoneFrom != c.want {
			t.Errorf("%s: begins at %g, want %g", name, js.Runs.Seg.DoneFrom, c.want)
		}
	}
}

// TestARunThatBeganAnew: a run that found no checkpoint starts from 0.
func TestARunThatBeganAnew(t *testing.T) {
	for name, c := range map[string]struct {
		state   checkpoint.RunnerState
		resumed string
		habit   bool
		want    float64
	}{
		"no checkpoint":               {checkpoint.Training, "", false, 0},
		"one":                         {checkpoint.Training, "00000004", false, 25},
		"it still looks":              {checkpoint.Starting, "", false, 25},
		"its program looks by itself": {checkpoint.Training, "", true, 25},
	} {
		js := &Job{Runs: runs{Seg: &journal.Segment{Restarts: 1, DoneFrom: 25, DoneTo: 25}}}
		js.Rec.Tag.Spec.Habit = c.habit
		js.Mail.runner = runnerWord{ok: true, word: checkpoint.Runner{Restarts: 1, State: c.state, Resumed: c.resumed}}
		New(Rules{}, nil, nil).foldProgress(js, checkpoint.Progress{Event: "progress", Restarts: 1, Done: 3}, time.Time{}, false)
		if js.Runs.Seg.DoneFrom != c.want || js.Runs.Seg.DoneTo != 3 {
			t.Errorf("%s: %g-%g, want it to begin at %g", name, js.Runs.Seg.DoneFrom, js.Runs.Seg.DoneTo, c.want)
		}
	}
}

// A run begins at the progress of its checkpoint, in the job's unit, if that is known and earlier.
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
		"its unit is not known yet":  {"", "00000004", 1, 44},
		"the word of the run before": {elastic.Steps, "00000004", 0, 44},
	} {
		js := &Job{Mail: mail{Kept: &checkpoint.Answer{Checkpoint: "00000004", Step: 32, Epoch: 1.5}}, Runs: runs{Seg: &journal.Segment{Restarts: 1, DoneFrom: 44, DoneTo: 44}}}
		js.Mail.runner = runnerWord{ok: true, word: checkpoint.Runner{Restarts: c.of, Resumed: c.resumed}}
		for range 2 {
			js.retrace(c.unit)
			if js.Runs.Seg.DoneFrom != c.from || js.Runs.Seg.DoneTo != c.from {
				t.Errorf("%s: %+v, want it to begin at %g", name, *js.Runs.Seg, c.from)
			}
		}
		js.Runs.Seg.DoneTo = 60
		if js.retrace(c.unit); js.Runs.Seg.DoneTo != 60 {
			t.Errorf("%s: what was done since is lost: %+v", name, *js.Runs.Seg)
		}
	}
}

// Until its runner has verified a checkpoint, it is not known where a run begins.
func TestARunThatStillVerifies(t *testing.T) {
	for name, c := range map[string]struct {
		state   checkpoint.RunnerState
		resumed string
		ok      bool
		want    bool
	}{
		"verifies":                        {checkpoint.Starting, "", true, true},
		"tries again from what it found":  {checkpoint.Starting, "00000004", true, false},
		"began from nothing":              {checkpoint.Training, "", true, false},
		"the word of the run before that": {checkpoint.Starting, "", false, false},
	} {
		if got := (runnerWord{ok: c.ok, word: checkpoint.Runner{State: c.state, Resumed: c.resumed}}).chooses(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestARunBeginsInTheReportedUnit: a job that was submitted without a unit, and whose program counts
// steps, resumes at a step. Taken for an epoch it would be much less work, and the rest of the
// earlier runs would count as done by this one.
func TestARunBeginsInTheReportedUnit(t *testing.T) {
	st := New(Rules{}, new(journal.Memory), func(event.Event) {})
	js := killedJob()
	st.Remember(js)
	js.Shown.Slurm.State = slurm.Running
	js.Runs.Seg = &journal.Segment{Restarts: 1, Place: js.Rec.Place, DoneFrom: 44, DoneTo: 44}
	js.Mail.Kept = &checkpoint.Answer{Checkpoint: "00000004", Step: 32, Epoch: 1.5}
	hear := func() float64 {
		word := js.Mail.runner.word
		word.Beat = noon
		st.HeardRunners([]*Job{js}, []observe.Word{{Runner: word, OK: true}}, noon)
		return js.Runs.Seg.DoneFrom
	}
	if from := hear(); from != 44 {
		t.Errorf("before its program reported the run begins at %g, want 44", from)
	}
	st.foldSample(js, checkpoint.Progress{Restarts: 1, Done: 46, Step: 46, Epoch: 2.2, GPUs: 2, Seconds: 1}, noon)
	js.Runs.Seg.DoneTo = 46
	if from := hear(); from != 32 || js.Runs.Seg.DoneTo != 46 {
		t.Errorf("the run is from %g to %g, want 32 to 46", from, js.Runs.Seg.DoneTo)
	}
}
