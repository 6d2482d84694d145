package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// A script that says neither steps nor epochs is profiled while its program reports both:
// the time of an epoch is learned, and no deadline is promised on that of a step. A hard
// deadline that cannot be met, and then one that has passed, keeps neither another job nor
// a profile waiting; in the end its job runs.
func TestDeadlineAfterProfile(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 4))
	script := s.ddp("train", "#SLUICE --model=net --max-gpus=2", "--epochs 20 --steps-per-epoch 5 --emulate-step-seconds 1.4")
	p := s.profile("--sizes", "2", "--steps", "12", "--warmup", "1", script)
	if len(p.Points) != 1 || p.Points[0].Error != "" || p.Points[0].Seconds < 0.7 {
		t.Fatalf("%+v", p)
	}

	handIn := func(name string, args ...string) (*job, string) {
		t.Helper()
		submit, err := s.Command(s.ctx, "", "sluice", append(append([]string{"submit", "--parsable", "--output=" + name + ".out"}, args...), script)...)
		s.must(err)
		var said strings.Builder
		submit.Stderr = &said
		out, err := submit.Output()
		s.must(err)
		j := &job{s: s, name: name}
		if _, err := fmt.Sscan(string(out), &j.id); err != nil {
			t.Fatalf("%v in %q", err, out)
		}
		t.Log(said.String())
		return j, said.String()
	}
	// 20 epochs of 5 steps of 0.7 s are 70 s at least.
	late, said := handIn("late", "--epochs=20", "--deadline=now+40")
	due := deadlineIn(t, said)
	if !strings.Contains(said, "cannot be met; earliest possible end: 20") {
		t.Errorf("said at submit: %q", said)
	}
	next, _ := handIn("next", "--epochs=20")
	next.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" })
	if v := late.view(); v.State != "PENDING" || !time.Now().Before(due) {
		t.Errorf("beside the next job it is %s: %s", v.State, v.Reason)
	}
	if p := s.profile("--sizes", "1", "--steps", "5", "--warmup", "1", "--wait", "20", script); p.Points[0].Error != "" {
		t.Errorf("profiled beside one that waits: %+v", p.Points)
	}
	late.until("to run, too late", func(v wire.Job) bool { return v.State == "RUNNING" })
	if time.Now().Before(due) {
		t.Error("it runs before its deadline has passed")
	}
	s.cancel(next, late)
}

// deadlineIn is the deadline that was said at submit: the test's own clock is a second or
// two later, since sluice waits for the word on it.
func deadlineIn(t *testing.T, said string) time.Time {
	t.Helper()
	_, rest, _ := strings.Cut(said, "deadline ")
	word, _, _ := strings.Cut(rest, " ")
	due, err := time.ParseInLocation("2006-01-02T15:04:05", word, time.Local)
	if err != nil {
		t.Fatalf("no deadline in %q", said)
	}
	return due
}
