package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestDeadlines: on a real Slurm, under the default policy, a deadline that can be met is
// admitted at submit, the job gets GPUs back from others for it, and ends in time; for
// one that cannot be met the earliest end is printed, and the job waits, or, in soft
// mode, runs.
func TestDeadlines(t *testing.T) {
	s := play(t, withNodes(1, 4))
	model := "--model=net"
	// What a step takes is learned on two sizes: it is a second on one GPU.
	for _, gpus := range []string{"1", "4"} {
		if state := s.submit("teach"+gpus, "", 3, []string{model, "--min-gpus=" + gpus, "--max-gpus=" + gpus}).ends(); state != "COMPLETED" {
			t.Fatalf("ended as %s", state)
		}
	}
	filler := s.submit("filler", "", 1000, []string{model, "--max-gpus=4"})
	filler.runsOn(4)

	due := time.Now().Add(80 * time.Second)
	kept, said := s.dated("kept", 24, model, "--deadline=now+80")
	if !strings.Contains(said, "admitted: it ends by") {
		t.Errorf("said at submit: %q", said)
	}
	kept.until("to run", func(v wire.Job) bool { return v.GPUs >= 2 && v.Promised && v.State == "RUNNING" })
	if out := s.as("", "sluice", "explain", fmt.Sprint(kept.id)); !strings.Contains(out, ", admitted: it ends by") {
		t.Errorf("explained as\n%s", out)
	}

	// The speed of this one is unknown: it runs, and its deadline is admitted then.
	unknown, said := s.dated("unknown", 100, "--deadline=now+1hour", "--max-gpus=1")
	if !strings.Contains(said, "cannot be admitted") || strings.Contains(said, "waits until") {
		t.Errorf("said at submit: %q", said)
	}
	unknown.until("to be promised its deadline", func(v wire.Job) bool { return v.State == "RUNNING" && v.Promised })

	late, said := s.dated("late", 1000, model, "--deadline=now+60")
	if !strings.Contains(said, "cannot be met; earliest possible end: 20") || !strings.Contains(said, "--deadline-mode=soft") {
		t.Errorf("said at submit: %q", said)
	}
	soft, said := s.dated("soft", 1000, model, "--deadline=now+60", "--deadline-mode=soft")
	if !strings.Contains(said, "cannot be met; earliest possible end: 20") || strings.Contains(said, "waits until") {
		t.Errorf("said at submit: %q", said)
	}

	if state := kept.ends(); state != "COMPLETED" {
		t.Errorf("ended as %s", state)
	}
	v := kept.until("to be seen to have ended", func(v wire.Job) bool { return v.Ended })
	t.Logf("ended %s before its deadline, after %s restarts", due.Sub(v.EndedAt).Round(time.Second), kept.field("Restarts"))
	if v.EndedAt.After(due) {
		t.Errorf("ended at %v, its deadline was %v", v.EndedAt, due)
	}
	soft.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" && v.GPUs > 0 })
	if v := late.view(); v.State != "PENDING" || v.GPUs != 0 {
		t.Errorf("%+v", v)
	}
}

// dated submits a job and returns what was printed about its deadline.
func (s *scene) dated(name string, epochs int, args ...string) (*job, string) {
	s.t.Helper()
	return s.datedWith(nil, name, epochs, args...)
}

// datedWith is dated for a program with options.
func (s *scene) datedWith(program []string, name string, epochs int, args ...string) (*job, string) {
	s.t.Helper()
	j, args := s.loop(name, "", epochs, args, program...)
	submit, err := s.Command(s.ctx, "", "sluice", append([]string{"submit", "--parsable"}, args...)...)
	s.must(err)
	var said strings.Builder
	submit.Stderr = &said
	out, err := submit.Output()
	s.must(err)
	if _, err := fmt.Sscan(string(out), &j.id); err != nil {
		s.t.Fatalf("%v in %q", err, out)
	}
	s.t.Log(said.String())
	return j, said.String()
}
