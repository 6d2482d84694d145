package track

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// killedJob is a job whose run 1 Slurm shows as failed on g1, and whose runner reported no exit.
func killedJob() *Job {
	js := &Job{}
	js.Rec.ID, js.Rec.Token, js.Rec.Owner.UID, js.Rec.SlurmUID, js.Rec.Restarts = 7, "t7", 5, 5, 1
	js.Rec.Place = nodes.Placement{{Node: "g1", GPUs: 2}}
	js.Rec.FirstRun = noon.Add(-time.Hour)
	js.Shown.Seen = true
	js.Shown.Slurm = slurm.Job{ID: 7, UID: 5, State: slurm.Failed, Restarts: 1, Start: noon.Add(-time.Minute), Nodes: []string{"g1"}, GPUs: 2}
	js.Mail.runner = runnerWord{ok: true, word: checkpoint.Runner{Restarts: 1, State: checkpoint.Training, Resumed: "00000004"}}
	return js
}

// TestMayRequeue: a job is requeued if its run was killed soon after its node or the job was lost, or if
// its runner was killed; never twice for a run, and never if the run exited by itself.
func TestMayRequeue(t *testing.T) {
	lost := func(ago time.Duration) func(*State, *Job) {
		return func(st *State, _ *Job) { st.Lost["g1"] = noon.Add(-ago) }
	}
	stranded := func(times, of int) func(*State, *Job) {
		return func(_ *State, js *Job) { js.rescue.stranded.times, js.rescue.stranded.of = times, of }
	}
	strandedWord := func(restarts int) func(*State, *Job) {
		return func(_ *State, js *Job) { js.Mail.runner.word.Stranded, js.Mail.runner.word.Restarts = true, restarts }
	}
	ended := func(_ *State, js *Job) { js.Mail.runner.word.Exit = &checkpoint.Exit{Code: 1} }
	for _, c := range []struct {
		name   string
		change []func(*State, *Job)
		want   bool
	}{
		{"nothing was lost", nil, false},
		{"its node was lost", []func(*State, *Job){lost(time.Minute)}, true},
		{"its node was lost long ago", []func(*State, *Job){lost(owed)}, false},
		{"another node was lost", []func(*State, *Job){func(st *State, _ *Job) { st.Lost["g2"] = noon }}, false},
		{"the job was lost", []func(*State, *Job){func(_ *State, js *Job) { js.Placing.rest = noon }}, true},
		{"the job was lost long ago", []func(*State, *Job){func(_ *State, js *Job) { js.Placing.rest = noon.Add(settling - owed) }}, false},
		{"Slurm cleans up", []func(*State, *Job){lost(0), func(_ *State, js *Job) { js.Shown.Slurm.Completing = true }}, false},
		{"it was cancelled", []func(*State, *Job){lost(0), func(_ *State, js *Job) { js.Shown.Slurm.State = slurm.Cancelled }}, false},
		{"its user took the tag away", []func(*State, *Job){lost(0), func(_ *State, js *Job) { js.Shown.Disown = true }}, false},
		{"requeued after this run", []func(*State, *Job){lost(0), func(_ *State, js *Job) { js.rescue.revived = 2 }}, false},
		{"requeued after the run before", []func(*State, *Job){lost(0), func(_ *State, js *Job) { js.rescue.revived = 1 }}, true},
		{"its program ended by itself", []func(*State, *Job){lost(0), func(_ *State, js *Job) { js.Mail.runner.word.Exit = &checkpoint.Exit{Code: 3} }}, false},
		{"a signal ended its program", []func(*State, *Job){lost(0), func(_ *State, js *Job) { js.Mail.runner.word.Exit = &checkpoint.Exit{Signal: "KILL"} }}, true},
		{"its script says that a signal did", []func(*State, *Job){lost(0), func(_ *State, js *Job) { js.Mail.runner.word.Exit = &checkpoint.Exit{Code: 137} }}, true},
		{"its runner never spoke", []func(*State, *Job){lost(0), func(_ *State, js *Job) { js.Mail.runner = runnerWord{} }}, false},
		{"its runner spoke of an earlier run", []func(*State, *Job){lost(0), func(_ *State, js *Job) { js.Mail.runner.ok = false }}, true},
		{"stopped as stranded", []func(*State, *Job){stranded(2, 2), ended}, true},
		{"stopped as stranded, and requeued after this run", []func(*State, *Job){stranded(2, 2), func(_ *State, js *Job) { js.rescue.revived = 2 }}, false},
		{"stopped as stranded, and slurmctld forgot a restart too", []func(*State, *Job){stranded(2, 3), ended}, true},
		{"slurmctld forgot a restart that it had shown", []func(*State, *Job){func(_ *State, js *Job) { js.rescue.restarts = 2 }}, true},
		{"... and its program ended by itself", []func(*State, *Job){func(_ *State, js *Job) { js.rescue.restarts = 2 }, ended}, false},
		{"an earlier run was stranded", []func(*State, *Job){stranded(1, 1), ended}, false},
		{"its runner says that it was stranded, to a daemon that has just started", []func(*State, *Job){strandedWord(1), ended}, true},
		{"... of an earlier run", []func(*State, *Job){strandedWord(0), ended, func(_ *State, js *Job) { js.Mail.runner.ok = false }}, false},
		{"... and sluice requeued an earlier run for it", []func(*State, *Job){stranded(1, 1), strandedWord(1), ended}, false},
	} {
		st, js := New(Rules{}, nil, nil), killedJob()
		for _, f := range c.change {
			f(st, js)
		}
		if got := st.mayRequeue(js, noon); got != c.want {
			t.Errorf("%s: requeued: %v", c.name, got)
		}
	}
}

// TestKilledRunner: a job whose runner was killed by a signal is requeued if it can save, at most twice
// from one checkpoint.
func TestKilledRunner(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Job)
		want   bool
	}{
		{"killed", func(*Job) {}, true},
		{"it cannot save", func(js *Job) { js.Rec.Speaks = false }, false},
		{"its user wants no retries", func(js *Job) { js.Rec.Tag.Spec.Again = false }, false},
		{"no signal", func(js *Job) { js.Shown.Slurm.ExitSignal = 0 }, false},
		{"its output could not be opened", func(js *Job) { js.Shown.Slurm.ExitSignal = slurm.LaunchIO }, false},
		{"its runner said that it ended", func(js *Job) { js.Mail.runner.word.State = checkpoint.Exited }, false},
		{"its program's end is known", func(js *Job) { js.Mail.runner.word.Exit = &checkpoint.Exit{} }, false},
		{"its work is done", func(js *Job) { js.Mail.runner.word.Final = true }, false},
		{"its runner spoke of an earlier run", func(js *Job) { js.Mail.runner.ok = false }, false},
		{"for the second time", func(js *Job) { js.rescue.struck = struck{times: 1, from: "00000004"} }, true},
		{"for the third time", func(js *Job) { js.rescue.struck = struck{times: mostStruck, from: "00000004"} }, false},
		{"often, from an older checkpoint", func(js *Job) { js.rescue.struck = struck{times: mostStruck, from: "00000003"} }, true},
	} {
		js := killedJob()
		js.Rec.Speaks, js.Rec.Tag.Spec.Again, js.Shown.Slurm.ExitSignal = true, true, 9
		c.change(js)
		if got := js.killedRunner(); got != c.want {
			t.Errorf("%s: requeued: %v", c.name, got)
		}
	}
}

// TestRevivals: the move that requeues a job stops nothing and has the restart count of the failed run.
// There is at most one for each run.
func TestRevivals(t *testing.T) {
	st, js := New(Rules{By: "a"}, nil, nil), killedJob()
	st.Remember(js)
	js.Rec.Tag.Incarnation = 3
	js.Rec.Speaks, js.Rec.Tag.Spec.Again, js.Shown.Slurm.ExitSignal = true, true, 9
	got := st.revivals(noon)
	if len(got) != 1 {
		t.Fatalf("%d moves", len(got))
	}
	in := got[0]
	if in.Kind != elastic.Revival || in.Step != elastic.Verified || in.Restarts != 1 || in.To != 4 || in.Cause != (reason.RunnerKilled{Signal: 9}) {
		t.Errorf("%+v", in)
	}
	st.Open = got
	if again := st.revivals(noon); len(again) > 0 {
		t.Errorf("while it is open: %+v", again)
	}
	st.Open = nil
	st.Opened(js, in.Kind, noon)
	if again := st.revivals(noon); len(again) > 0 || js.rescue.revived != 2 || js.rescue.struck != (struck{times: 1, from: "00000004"}) {
		t.Errorf("after it was opened for this run: %+v, %+v", again, js.rescue)
	}
	js.rescue.revived, js.rescue.stranded.of = 0, 2
	if of := st.revivals(noon); len(of) != 1 || of[0].Cause != reason.StopForgotten {
		t.Errorf("stopped as stranded: %+v", of)
	}
	js.Shown.Seen = false
	if again := st.revivals(noon); len(again) > 0 {
		t.Errorf("of a job that Slurm did not show: %+v", again)
	}
}

// TestClearings: if Slurm counts a held job on nodes of its last run, that is cleared, again after a
// rest; nothing is started on those nodes at once.
func TestClearings(t *testing.T) {
	lingering := func() (*State, *Job) {
		st, js := New(Rules{}, nil, nil), killedJob()
		js.Shown.Slurm = slurm.Job{ID: 7, UID: 5, State: slurm.Pending, Held: true, Restarts: 2, Nodes: []string{"g1"}}
		st.Remember(js)
		return st, js
	}
	for _, c := range []struct {
		name   string
		change func(*State, *Job)
		want   int
	}{
		{"counted on a node", func(*State, *Job) {}, 1},
		{"on none", func(_ *State, js *Job) { js.Shown.Slurm.Nodes = nil }, 0},
		{"not held", func(_ *State, js *Job) { js.Shown.Slurm.Held = false }, 0},
		{"held by an administrator", func(_ *State, js *Job) { js.Shown.Slurm.Reason = "JobHeldAdmin" }, 0},
		{"cleared a moment ago", func(_ *State, js *Job) {
			js.rescue.cleared = cleared{of: 3, times: 1, last: noon.Add(-4 * time.Minute)}
		}, 0},
		{"cleared once, 5 min ago", func(_ *State, js *Job) {
			js.rescue.cleared = cleared{of: 3, times: 1, last: noon.Add(-5 * time.Minute)}
		}, 1},
		{"cleared twice, 9 min ago", func(_ *State, js *Job) {
			js.rescue.cleared = cleared{of: 3, times: 2, last: noon.Add(-9 * time.Minute)}
		}, 0},
		{"cleared often, an hour ago", func(_ *State, js *Job) { js.rescue.cleared = cleared{of: 3, times: 99, last: noon.Add(-time.Hour)} }, 1},
		{"cleared in the run before", func(_ *State, js *Job) { js.rescue.cleared = cleared{of: 2, times: 9, last: noon} }, 1},
		{"a move is open", func(st *State, js *Job) { st.Open = Moves{{Job: js.Rec.ID, Kind: elastic.Start}} }, 0},
		{"its user took the tag away", func(_ *State, js *Job) { js.Shown.Disown = true }, 0},
	} {
		st, js := lingering()
		c.change(st, js)
		if got := st.clearings(noon); len(got) != c.want {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	st, js := lingering()
	st.Opened(js, elastic.Clearing, noon)
	if !st.Lost["g1"].Equal(noon) || js.rescue.cleared != (cleared{of: 3, times: 1, last: noon}) {
		t.Errorf("%v, %+v", st.Lost, js.rescue)
	}
	st.Opened(js, elastic.Clearing, noon.Add(time.Hour))
	if want := (cleared{of: 3, times: 2, last: noon.Add(time.Hour)}); js.rescue.cleared != want {
		t.Errorf("the second time: %+v", js.rescue)
	}
	js.Shown.Slurm.Restarts = 3
	st.Opened(js, elastic.Clearing, noon)
	if js.rescue.cleared != (cleared{of: 4, times: 1, last: noon}) {
		t.Errorf("of the next run: %+v", js.rescue)
	}
}
