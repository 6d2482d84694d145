package track

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/observe"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/slurm"
)

// stoppedUnrecorded is a job in incarnation 2 whose first run Slurm shows as failed by SIGTERM, and the last status
// of its runner: it had saved for a move, and waited to be stopped.
func stoppedUnrecorded() (slurm.Job, observe.Word) {
	sj := tagged(7, "2", "1")
	sj.State, sj.Start, sj.End, sj.ExitCode = slurm.Failed, noon.Add(-time.Hour), noon.Add(-time.Minute), 143
	return sj, observe.Word{OK: true, Runner: checkpoint.Runner{
		Job: 7, State: checkpoint.Waiting, Beat: noon.Add(-2 * time.Minute),
		Answer: &checkpoint.Answer{Request: "7.3.1", Checkpoint: "00000004"},
	}}
}

// TestUnrecorded: a failed job of which the store has nothing is taken up, and brought back, if sluice had started it
// and its runner had saved and waited to be stopped. Its folder is read once, unless it does not answer.
func TestUnrecorded(t *testing.T) {
	type change func(*State, *slurm.Job, *observe.Word)
	for _, c := range []struct {
		name        string
		change      change
		read, again bool // its folder, in the first look and in the second
		back        bool
	}{
		{"stopped for a move", func(*State, *slurm.Job, *observe.Word) {}, true, false, true},
		{"its program had saved and ended", func(_ *State, _ *slurm.Job, w *observe.Word) {
			w.Runner.State, w.Runner.Exit = checkpoint.Exited, &checkpoint.Exit{}
		}, true, false, true},
		{"Slurm killed its script", func(_ *State, sj *slurm.Job, _ *observe.Word) { sj.ExitCode, sj.ExitSignal = 0, 9 }, true, false, true},
		{"slurmctld forgot a restart too", func(_ *State, _ *slurm.Job, w *observe.Word) { w.Runner.Restarts = 1 }, true, false, true},
		{"its output could not be opened", func(_ *State, sj *slurm.Job, _ *observe.Word) { sj.ExitCode, sj.ExitSignal = 0, slurm.LaunchIO }, true, false, false},
		{"it exited by itself", func(_ *State, sj *slurm.Job, _ *observe.Word) { sj.ExitCode = 1 }, true, false, false},
		{"it trained", func(_ *State, _ *slurm.Job, w *observe.Word) { w.Runner.Answer = nil }, true, false, false},
		{"it could not save", func(_ *State, _ *slurm.Job, w *observe.Word) { w.Runner.Answer.Checkpoint = "" }, true, false, false},
		{"an earlier run had saved", func(_ *State, _ *slurm.Job, w *observe.Word) { w.Runner.Beat = noon.Add(-2 * time.Hour) }, true, false, false},
		{"another job's runner had", func(_ *State, _ *slurm.Job, w *observe.Word) { w.Runner.Job = 8 }, true, false, false},
		{"no runner ever spoke", func(_ *State, _ *slurm.Job, w *observe.Word) { *w = observe.Word{} }, true, false, false},
		{"its folder is another user's", func(_ *State, _ *slurm.Job, w *observe.Word) { *w = observe.Word{Err: checkpoint.ErrOwner} }, true, false, false},
		{"its folder cannot be read", func(_ *State, _ *slurm.Job, w *observe.Word) { *w = observe.Word{Err: errors.New("malformed")} }, true, false, false},
		{"its folder does not answer", func(_ *State, _ *slurm.Job, w *observe.Word) {
			*w = observe.Word{Err: &observe.Unanswered{Since: noon}}
		}, true, true, false},
		{"its folder is on a broken disk", func(_ *State, _ *slurm.Job, w *observe.Word) { *w = observe.Word{Err: syscall.EIO} }, true, true, false},
		{"sluice never started it", func(_ *State, sj *slurm.Job, _ *observe.Word) { sj.Comment = tagged(7, "0", "1").Comment }, false, false, false},
		{"its user cancelled it", func(_ *State, sj *slurm.Job, _ *observe.Word) { sj.State = slurm.Cancelled }, false, false, false},
		{"Slurm cleans up", func(_ *State, sj *slurm.Job, _ *observe.Word) { sj.Completing = true }, false, false, false},
		{"the store no longer gives it back", func(_ *State, sj *slurm.Job, _ *observe.Word) { sj.End = noon.Add(-unrecordedFor) }, false, false, false},
		{"it is not sluice's", func(st *State, _ *slurm.Job, _ *observe.Word) { st.Rules.Mine = func(slurm.Job) bool { return false } }, false, false, false},
		{"its end is on record", func(st *State, sj *slurm.Job, _ *observe.Word) {
			st.Remember(&Job{Rec: journal.JobRecord{Token: ownToken, Identity: journal.Identity{ID: 7, SlurmUID: 5}, Life: journal.Life{Submitted: sj.Submit, Ended: noon}}})
		}, false, false, false},
	} {
		st := New(Rules{}, nil, func(event.Event) {})
		sj, word := stoppedUnrecorded()
		c.change(st, &sj, &word)
		all := []slurm.Job{sj}
		lost := Unrecorded(st, all, noon)
		if boxes := BoxesOfUnrecorded(st, lost); len(boxes) > 0 != c.read || c.read && boxes[0] != (observe.Box{Token: ownToken, SlurmUID: 5}) {
			t.Errorf("%s: reads %v", c.name, boxes)
			continue
		}
		SettleUnrecorded(st, lost, []observe.Word{word})
		if again := Unrecorded(st, all, noon); len(again) > 0 != c.again {
			t.Errorf("%s: reads %v again", c.name, again)
		}
		st.Match(all, nil, noon)
		if js := st.ByID[7]; (js != nil && js.Rec.Ended.IsZero()) != c.back {
			t.Errorf("%s: taken up: %v", c.name, js != nil)
		} else if c.back {
			st.HeardRunners([]*Job{js}, []observe.Word{word}, noon)
			if of := st.revivals(noon); len(of) != 1 || of[0].Cause != reason.StopForgotten || of[0].To != 3 || len(st.Ends(noon)) > 0 {
				t.Errorf("%s: %+v", c.name, of)
			}
		}
		if Unrecorded(st, nil, noon); len(st.unmanaged.failed) > 0 {
			t.Errorf("%s: %v is left of a job that Slurm no longer shows", c.name, st.unmanaged.failed)
		}
	}
}

// TestStopIsBelievedOnce: a job whose runner says in each run that it waited to be stopped is brought back once.
func TestStopIsBelievedOnce(t *testing.T) {
	st, js := New(Rules{}, nil, func(event.Event) {}), killedJob()
	st.Remember(js)
	js.Mail.runner.word.Answer, js.Shown.Slurm.ExitCode = &checkpoint.Answer{Request: "7.3.1", Checkpoint: "00000004"}, 143
	js.Mail.runner.word.Beat = noon
	of := st.revivals(noon)
	if len(of) != 1 || of[0].Cause != reason.StopForgotten {
		t.Fatalf("%+v", of)
	}
	st.Opened(js, of[0].Kind, noon)
	js.Shown.Slurm.Restarts, js.Mail.runner.word.Restarts = 2, 2
	if again := st.revivals(noon); len(again) > 0 || len(st.Ends(noon)) != 1 {
		t.Errorf("after the next run: %+v", again)
	}
}
