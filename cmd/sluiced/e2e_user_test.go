package main_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func (s *scene) write(path, text string) {
	s.t.Helper()
	s.must(site.Put(path, []byte(text), 0o755))
}

// firstSize has a job start on so many GPUs that was submitted just now, as soon as sluiced
// knows it.
func (j *job) firstSize(gpus int) wire.Job {
	j.s.t.Helper()
	j.until("to be known", func(wire.Job) bool { return true })
	j.s.as(j.user, "sluice", "resize", fmt.Sprint(j.id), "--gpus", fmt.Sprint(gpus))
	return j.runsOn(gpus)
}

// pin orders a size and waits until the move for it is at the step.
func (j *job) pin(gpus, step int) {
	j.s.t.Helper()
	j.s.as(j.user, "sluice", "resize", fmt.Sprint(j.id), "--gpus", fmt.Sprint(gpus))
	j.moving(step)
}

// The user may control the job through Slurm during a resize: the user's action takes precedence, and
// the job loses work only because of that action.
func TestUserActsDuringResize(t *testing.T) {
	t.Parallel()
	s := play(t)
	start := func(name string) *job {
		j := s.submit(name, "", 40, []string{"--max-gpus=4"}, "--seconds", "0.4", "--save-seconds", "1")
		j.firstSize(1)
		return j
	}
	t.Run("cancels", func(t *testing.T) {
		j := start("cancels")
		j.pin(2, 2)
		s.cancel(j)
		if state := j.ends(); state != "CANCELLED" {
			t.Errorf("ended as %s", state)
		}
		j.until("to be over for sluice too", func(v wire.Job) bool { return v.Ended })
	})
	t.Run("holds", func(t *testing.T) {
		j := start("holds")
		j.pin(2, 2)
		s.as("", "scontrol", "hold", fmt.Sprint(j.id))
		j.until("to keep its size, or to stand held", func(v wire.Job) bool {
			return v.Move == nil && (v.State == "PENDING" || v.GPUs == 1)
		})
		s.as("", "scontrol", "release", fmt.Sprint(j.id))
		j.completes()
	})
	t.Run("requeues", func(t *testing.T) {
		j := start("requeues")
		j.pin(2, 2)
		s.as("", "scontrol", "requeue", fmt.Sprint(j.id))
		if state := j.ends(); state != "COMPLETED" {
			t.Errorf("ended as %s", state)
		}
	})
	t.Run("updates", func(t *testing.T) {
		j := start("updates")
		j.pin(2, 2)
		s.as("", "scontrol", "update", "jobid="+fmt.Sprint(j.id), "timelimit=20", "name=renamed")
		j.completes()
		if j.field("TimeLimit") != "00:20:00" || j.field("JobName") != "renamed" {
			t.Errorf("the user's own settings are gone: %s, %s", j.field("TimeLimit"), j.field("JobName"))
		}
	})
	t.Run("takes the tag away", func(t *testing.T) {
		j := start("untagged")
		j.pin(2, 2)
		s.as("", "scontrol", "update", "jobid="+fmt.Sprint(j.id), "comment=mine")
		if state := j.ends(); state != "COMPLETED" {
			t.Errorf("ended as %s", state)
		}
	})
}

// sluice hold and release: a held job does not start; a released one does.
func TestHoldAndRelease(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	j := s.submit("held", "", 4, []string{"--hold"})
	v := j.until("to be known", func(v wire.Job) bool { return v.OnHold })
	if v.State != "PENDING" {
		t.Errorf("a job submitted with --hold is %s", v.State)
	}
	s.as("", "sluice", "release", fmt.Sprint(j.id))
	j.completes()
}

// Two users: neither can touch the other's job, and the daemon, which is neither
// of them, serves both from their private homes.
func TestTwoUsers(t *testing.T) {
	t.Parallel()
	s := play(t, withUsers(users))
	a := s.submit("mine", users[0], 60, []string{"--max-gpus=8"})
	a.until("to run", func(v wire.Job) bool { return v.State == "RUNNING" })
	b := s.submit("theirs", users[1], 10, []string{"--max-gpus=8"})
	id := fmt.Sprint(a.id)
	for _, attempt := range [][]string{
		{"sluice", "resize", id, "--gpus", "1"}, {"sluice", "hold", id}, {"sluice", "release", id}, {"sluice", "cancel", id},
	} {
		if out, err := s.Run(s.ctx, users[1], attempt[0], attempt[1:]...); err == nil {
			t.Errorf("%s by another user went through: %s", strings.Join(attempt, " "), out)
		} else if !strings.Contains(err.Error(), "sluice: error:") {
			t.Errorf("%s: %v: want a message of sluice's own", strings.Join(attempt, " "), err)
		}
	}
	token := a.view().Token
	for _, path := range []string{s.Jobs + "/" + token + "/progress.jsonl", s.Outbox + "/" + token + "/target.json"} {
		if _, err := s.Run(s.ctx, users[1], "sh", "-c", "echo forged >>"+path); err == nil {
			t.Errorf("another user could write %s", path)
		}
	}
	s.as(users[0], "sluice", "resize", id, "--gpus", "2")
	a.runsOn(2)
	s.as(users[0], "sluice", "resize", id, "--gpus", "auto")
	b.completes()
	a.completes()
}

// An ordinary user runs a personal sluiced, which resizes that user's jobs without any privilege and
// does not touch jobs of other users.
func TestUserMode(t *testing.T) {
	t.Parallel()
	s := play(t, withUsers(modes), func(c *site.Config) { c.User = modes[0] })
	mine := s.submit("mine", modes[0], 40, []string{"--max-gpus=8"})
	s.as(modes[0], "sluice", "resize", fmt.Sprint(mine.id), "--gpus", "2")
	mine.runsOn(2)
	s.as(modes[0], "sluice", "resize", fmt.Sprint(mine.id), "--gpus", "8")
	mine.runsOn(8)
	ordinary, err := s.Sbatch(s.ctx, modes[1], "--gres=gpu:1", "--wrap=sleep 2")
	s.must(err)
	if state := (&job{s: s, id: ordinary}).ends(); state != "COMPLETED" {
		t.Errorf("another user's ordinary job ended as %s", state)
	}
	tr := mine.completes()
	if tr.Grown < 1 {
		t.Errorf("runs on %v GPUs", tr.Worlds)
	}
	if b, err := os.ReadFile(s.Log); err != nil || len(b) == 0 {
		t.Errorf("no log: %v", err)
	}
}
