package track

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestChores: which actions are due for a job without a move.
func TestChores(t *testing.T) {
	queued := func(js *Job) { js.Shown.Slurm.State = slurm.Pending }
	held := func(js *Job) { js.Shown.Slurm.Held, js.Shown.Slurm.Reason = true, "JobHeldUser" }
	for _, c := range []struct {
		name   string
		change []func(*Job)
		want   []elastic.Action // of these kinds
	}{
		{"it runs", nil, nil},
		{"its comment lacks an order", []func(*Job){func(js *Job) { js.PendingTag = true }}, []elastic.Action{elastic.Annotate{Job: 7}}},
		{"... while Slurm cleans up", []func(*Job){func(js *Job) { js.PendingTag, js.Shown.Slurm.Completing = true, true }}, nil},
		{"... and its user took the tag away", []func(*Job){func(js *Job) { js.PendingTag, js.Shown.Disown = true, true }}, nil},
		{"released through Slurm", []func(*Job){queued, func(js *Job) { js.Rec.Tag.Directive.Hold, js.Shown.commented.Directive.Hold = true, true }}, []elastic.Action{elastic.Annotate{Job: 7}}},
		{"requeued by a lost node", []func(*Job){queued, func(js *Job) { js.Shown.Slurm.Restarts = 2 }}, []elastic.Action{elastic.Defer{Job: 7}}},
		{"submitted without a hold", []func(*Job){queued, func(js *Job) { js.Shown.Slurm.Restarts, js.Rec.FirstRun = 2, time.Time{} }}, nil},
		{"it waits for a node that is gone", []func(*Job){queued, func(js *Job) { js.Shown.Slurm.ReqNodes = []string{"g2"} }}, []elastic.Action{elastic.Defer{Job: 7}}},
		{"it waits for a node that is there", []func(*Job){queued, func(js *Job) { js.Shown.Slurm.ReqNodes = []string{"g1"} }}, nil},
		{"its requeue delay has not passed", []func(*Job){queued, func(js *Job) { js.Shown.Slurm.Restarts, js.Shown.Slurm.Eligible = 2, noon.Add(time.Minute) }}, nil},
		{"its begin time passed, and Slurm has not looked at it yet", []func(*Job){queued, func(js *Job) {
			js.Shown.Slurm.Reason, js.Shown.Slurm.Eligible = "BeginTime", noon.Add(-5*time.Minute)
		}}, nil},
		{"its begin time has passed by sluice's clock only", []func(*Job){queued, func(js *Job) {
			js.Shown.Slurm.Reason, js.Shown.Slurm.Eligible = "BeginTime", noon.Add(-6*time.Minute)
		}}, []elastic.Action{elastic.Defer{Job: 7}}},
		{"it waits in Slurm for GPUs", []func(*Job){queued, func(js *Job) {
			js.Shown.Slurm.Reason, js.Shown.Slurm.Eligible = "Resources", noon.Add(-time.Hour)
		}}, nil},
		{"sluice hold", []func(*Job){func(js *Job) { js.Rec.Tag.Directive.Hold, js.PendingTag = true, true }}, []elastic.Action{elastic.Hold{}, elastic.Annotate{}}},
		{"... of a job that Slurm cleans up", []func(*Job){func(js *Job) { js.Rec.Tag.Directive.Hold, js.PendingTag, js.Shown.Slurm.Completing = true, true, true }}, nil},
		{"... which Slurm has already", []func(*Job){queued, held, func(js *Job) { js.Rec.Tag.Directive.Hold, js.PendingTag = true, true }}, []elastic.Action{elastic.Annotate{}}},
		{"sluice release", []func(*Job){queued, held, func(js *Job) { js.Shown.commented.Directive.Hold, js.PendingTag = true, true }}, []elastic.Action{elastic.Release{}, elastic.Annotate{}}},
		{"... of a hold through Slurm", []func(*Job){queued, held, func(js *Job) { js.Placing.Release, js.PendingTag = true, true }}, []elastic.Action{elastic.Release{}, elastic.Annotate{}}},
		{"... of an administrator's hold", []func(*Job){queued, held, func(js *Job) { js.Placing.Release, js.Shown.Slurm.Reason = true, "JobHeldAdmin" }}, nil},
		{"held by an older sluice", []func(*Job){queued, held, func(js *Job) { js.Rec.Tag.Deferred = false }}, []elastic.Action{elastic.Defer{}, elastic.Release{}}},
		{"held by its user under an older sluice", []func(*Job){queued, held, func(js *Job) { js.Rec.Tag.Deferred, js.Rec.Tag.Directive.Hold = false, true }}, nil},
		{"held by an administrator under an older sluice", []func(*Job){queued, held, func(js *Job) { js.Rec.Tag.Deferred, js.Shown.Slurm.Reason = false, "JobHeldAdmin" }}, nil},
		{"set aside by Slurm under an older sluice", []func(*Job){queued, held, func(js *Job) { js.Rec.Tag.Deferred, js.Shown.Slurm.Reason = false, setAside }}, nil},
		{"held by its user", []func(*Job){queued, held}, nil},
		{"its user holds it", []func(*Job){func(js *Job) { js.Shown.Slurm.Held = true }}, nil},
		{"it waits for a request without a move", []func(*Job){func(js *Job) { js.Mail.runner.word.State = checkpoint.Waiting }}, []elastic.Action{elastic.WithdrawRequest{Job: 7}}},
		{"it saves for one", []func(*Job){func(js *Job) { js.Mail.runner.word.State = checkpoint.Saving }}, []elastic.Action{elastic.WithdrawRequest{Job: 7}}},
		{"... and has written no heartbeat since the withdrawal", []func(*Job){func(js *Job) {
			js.Mail.runner.word.State, js.Mail.runner.word.Beat, js.Mail.freed = checkpoint.Saving, noon, noon
		}}, nil},
		{"the word is of another run", []func(*Job){func(js *Job) { js.Mail.runner = runnerWord{word: checkpoint.Runner{State: checkpoint.Waiting}} }}, nil},
		{"its node lost it", []func(*Job){func(js *Job) { js.Mail.runner.word.Stranded = true }}, []elastic.Action{elastic.Requeue{Job: 7}, elastic.Defer{Job: 7}}},
		{"its node lost the run before", []func(*Job){func(js *Job) { js.Mail.runner.word.Stranded, js.Mail.runner.word.Restarts = true, 0 }}, nil},
		{"its node lost it for the second time in a minute", []func(*Job){func(js *Job) {
			js.Mail.runner.word.Stranded = true
			js.rescue.stranded.times, js.rescue.stranded.last, js.rescue.stranded.of = 1, noon.Add(-time.Minute), 1
		}}, nil},
		{"Slurm has not requeued it yet", []func(*Job){func(js *Job) {
			js.Mail.runner.word.Stranded = true
			js.rescue.stranded.times, js.rescue.stranded.last, js.rescue.stranded.of = 1, noon, 2
		}}, []elastic.Action{elastic.Requeue{Job: 7}, elastic.Defer{Job: 7}}},
	} {
		st, js := New(Rules{}, nil, func(event.Event) {}), killedJob()
		st.Seen.Nodes = []slurm.Node{{Name: "g1", GPUs: 4, States: []string{"IDLE"}}, {Name: "g2", GPUs: 4, States: []string{"DOWN"}}}
		js.Shown.Slurm.State, js.Rec.Tag.Deferred, js.Shown.commented.Deferred = slurm.Running, true, true
		js.Mail.runner.word.Beat = noon.Add(-time.Second)
		for _, f := range c.change {
			f(js)
		}
		got := st.Chores(js, noon)
		kind := func(a, b elastic.Action) bool { return reflect.TypeOf(a) == reflect.TypeOf(b) && a.About() == 7 }
		if !slices.EqualFunc(got, c.want, kind) {
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
		at := noon.Add(time.Duration(n) * time.Second)
		want := []elastic.Action{elastic.Requeue{Job: 7}, elastic.Defer{Job: 7, Until: at.Add(resize.Between)}}
		if got := st.Chores(js, at); !slices.Equal(got, want) {
			t.Errorf("asked %d times: %v, want %v", n, got, want)
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
