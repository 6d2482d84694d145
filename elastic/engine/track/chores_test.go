package track

import (
	"reflect"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestChores: which actions are due for a job without a move.
func TestChores(t *testing.T) {
	queued := func(js *Job) { js.Shown.Slurm.State = slurm.Pending }
	for _, c := range []struct {
		name   string
		change []func(*Job)
		want   elastic.Action // nil = nothing
	}{
		{"it runs", nil, nil},
		{"its comment lacks an order", []func(*Job){func(js *Job) { js.PendingTag = true }}, elastic.Annotate{Job: 7}},
		{"... while Slurm cleans up", []func(*Job){func(js *Job) { js.PendingTag, js.Shown.Slurm.Completing = true, true }}, nil},
		{"... and its user took the tag away", []func(*Job){func(js *Job) { js.PendingTag, js.Shown.Disown = true, true }}, nil},
		{"released through Slurm", []func(*Job){queued, func(js *Job) { js.Rec.Tag.Directive.Hold = true }}, elastic.Annotate{Job: 7}},
		{"requeued by a lost node", []func(*Job){queued, func(js *Job) { js.Shown.Slurm.Restarts = 2 }}, elastic.HoldPending{Job: 7}},
		{"submitted without a hold", []func(*Job){queued, func(js *Job) { js.Shown.Slurm.Restarts, js.Rec.FirstRun = 2, time.Time{} }}, nil},
		{"it waits for a node that is gone", []func(*Job){queued, func(js *Job) { js.Shown.Slurm.ReqNodes = []string{"g2"} }}, elastic.HoldPending{Job: 7}},
		{"it waits for a node that is there", []func(*Job){queued, func(js *Job) { js.Shown.Slurm.ReqNodes = []string{"g1"} }}, nil},
		{"it started while it was held", []func(*Job){func(js *Job) { js.Shown.Slurm.Held, js.Placing.Hold = true, true }}, elastic.Release{Job: 7}},
		{"its user holds it", []func(*Job){func(js *Job) { js.Shown.Slurm.Held = true }}, nil},
		{"it waits for a request without a move", []func(*Job){func(js *Job) { js.Mail.runner.word.State = checkpoint.Waiting }}, elastic.WithdrawRequest{Job: 7}},
		{"it saves for one", []func(*Job){func(js *Job) { js.Mail.runner.word.State = checkpoint.Saving }}, elastic.WithdrawRequest{Job: 7}},
		{"... and has written no heartbeat since the withdrawal", []func(*Job){func(js *Job) {
			js.Mail.runner.word.State, js.Mail.runner.word.Beat, js.Mail.freed = checkpoint.Saving, noon, noon
		}}, nil},
		{"the word is of another run", []func(*Job){func(js *Job) { js.Mail.runner = runnerWord{word: checkpoint.Runner{State: checkpoint.Waiting}} }}, nil},
		{"its node lost it", []func(*Job){func(js *Job) { js.Mail.runner.word.Stranded = true }}, elastic.RequeueHold{Job: 7}},
		{"its node lost the run before", []func(*Job){func(js *Job) { js.Mail.runner.word.Stranded, js.Mail.runner.word.Restarts = true, 0 }}, nil},
		{"its node lost it for the second time in a minute", []func(*Job){func(js *Job) {
			js.Mail.runner.word.Stranded = true
			js.rescue.stranded.times, js.rescue.stranded.last, js.rescue.stranded.of = 1, noon.Add(-time.Minute), 1
		}}, nil},
		{"Slurm has not requeued it yet", []func(*Job){func(js *Job) {
			js.Mail.runner.word.Stranded = true
			js.rescue.stranded.times, js.rescue.stranded.last, js.rescue.stranded.of = 1, noon, 2
		}}, elastic.RequeueHold{Job: 7}},
	} {
		st, js := New(Rules{}, nil, func(event.Event) {}), killedJob()
		st.Seen.Nodes = []slurm.Node{{Name: "g1", GPUs: 4, States: []string{"IDLE"}}, {Name: "g2", GPUs: 4, States: []string{"DOWN"}}}
		js.Shown.Slurm.State = slurm.Running
		js.Mail.runner.word.Beat = noon.Add(-time.Second)
		for _, f := range c.change {
			f(js)
		}
		got := st.Chores(js, noon)
		switch {
		case c.want == nil && len(got) == 0:
		case len(got) != 1 || c.want == nil || reflect.TypeOf(got[0]) != reflect.TypeOf(c.want) || got[0].About() != 7:
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestARunIsStrandedOnce: a run that its node lost counts once, even if the requeue is repeated, and the
// next such run waits longer.
func TestARunIsStrandedOnce(t *testing.T) {
	told := 0
	st, js := New(Rules{}, nil, func(ev event.Event) {
		if told++; ev.Kind != "stranded" || ev.Run == nil || *ev.Run != 1 {
			t.Errorf("%+v", ev)
		}
	}), killedJob()
	js.Shown.Slurm.State = slurm.Running
	js.Mail.runner.word.Stranded = true
	for n := range 2 {
		if got := st.Chores(js, noon.Add(time.Duration(n)*time.Second)); len(got) != 1 || !js.Placing.Hold {
			t.Errorf("asked %d times: %v, held by sluice: %v", n, got, js.Placing.Hold)
		}
	}
	if s := js.rescue.stranded; s.times != 1 || s.of != 2 || !s.last.Equal(noon) {
		t.Errorf("%+v", s)
	}
	js.Shown.Slurm.Restarts, js.Mail.runner.word.Restarts = 2, 2
	for _, c := range []struct {
		after time.Duration
		due   bool
	}{{strandedRest - 1, false}, {strandedRest, true}} {
		if due := js.strandedNow(noon.Add(c.after)); due != c.due {
			t.Errorf("the next run, %s later: requeued: %v", c.after, due)
		}
	}
	js.rescue.stranded.times = 100
	if !js.strandedNow(noon.Add(strandedMost)) {
		t.Error("it waits for more than strandedMost")
	}
}
