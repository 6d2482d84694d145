package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/runner"
	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// checkpoints counts the complete checkpoints of a job that are kept.
func (j *job) checkpoints() int {
	found, err := filepath.Glob(filepath.Join(j.s.Jobs, j.view().Token, checkpoint.Checkpoints, "*", checkpoint.ManifestFile))
	j.s.must(err)
	return len(found)
}

// killWorker kills a job's training program as its user, or the kernel, might.
func (j *job) killWorker() {
	j.s.t.Helper()
	j.s.as("", "pkill", "-KILL", "-f", "loop.py --steps-log "+j.stepsLog())
}

// stepsDone is how many steps the job's program had done at its last.
func (j *job) stepsDone() int {
	b, err := os.ReadFile(j.stepsLog())
	j.s.must(err)
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	var restart, epoch, step int
	_, err = fmt.Sscan(lines[len(lines)-1], &restart, &epoch, &step)
	j.s.must(err)
	return epoch*perEpoch + step + 1
}

var resumedAt = regexp.MustCompile(`resumed from checkpoint \d+ \(step (\d+),`)

// costs bounds what a failure makes the job train twice, in steps: fail brings it about,
// and back waits until the job runs again.
func (j *job) costs(what string, most int, fail, back func()) {
	j.s.t.Helper()
	starts := len(resumedAt.FindAllString(j.output(), -1))
	fail()
	done := j.stepsDone()
	back()
	var all [][]string
	j.s.must(site.Until(j.s.ctx, time.Minute, "the banner of its next start", func() (bool, error) {
		all = resumedAt.FindAllStringSubmatch(j.output(), -1)
		return len(all) > starts, nil
	}))
	from, err := strconv.Atoi(all[len(all)-1][1])
	j.s.must(err)
	j.s.t.Logf("%s: %d steps lost (at most %d)", what, done-from, most)
	if done-from > most {
		j.s.t.Errorf("%s cost %d steps, at most %d", what, done-from, most)
	}
}

// TestCrashes: by time a job saves without anybody's asking; what kills its program, its
// run or its node costs it what it did since.
func TestCrashes(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 2))
	t.Run("typo", func(t *testing.T) {
		script := filepath.Join(s.Home(""), "typo.sh")
		s.write(script, "#!/bin/bash\npyton train.py\n")
		id, err := s.Submit(s.ctx, "", "--max-gpus=1", script)
		s.must(err)
		j := &job{s: s, id: id, name: fmt.Sprintf("slurm-%d", id)}
		if state, code := j.ends(), j.field("ExitCode"); state != "FAILED" || code != "127:0" {
			t.Errorf("ended as %s with %s, want FAILED with 127:0", state, code)
		}
		if tries := strings.Count(j.output(), "command not found"); tries != 1 || strings.Contains(j.output(), "retry") {
			t.Errorf("tried %d times, want once:\n%s", tries, j.output())
		}
	})
	j := s.submit("crashes", "", 60, []string{"--min-gpus=2", "--max-gpus=2", "--checkpoint-every=10s"})
	j.runsOn(2)
	saved := func(more int) {
		t.Helper()
		before := j.view().Restarts
		s.must(site.Until(s.ctx, time.Minute, "a checkpoint by time", func() (bool, error) { return j.checkpoints() >= more, nil }))
		if j.view().Restarts != before {
			t.Error("it was restarted in order to save")
		}
	}
	saved(1)
	// A step takes 0.5 s; one is under way, and the request is seen within about a second.
	const most = 10*2 + 4
	// Its worker is killed, more than two intervals later: the same run goes on after the
	// first pause.
	time.Sleep(25 * time.Second)
	j.costs("a killed worker", most, j.killWorker, func() {
		s.must(site.Until(s.ctx, 2*time.Minute, "it to be started again", func() (bool, error) {
			return strings.Contains(j.output(), "retry 1 of 2") && strings.Contains(j.output(), "resumed from checkpoint"), nil
		}))
	})
	saved(2)
	// Somebody else requeues it.
	j.costs("a requeue", most, func() { s.as("", "scontrol", "requeue", fmt.Sprint(j.id)) }, func() {
		j.until("to run again", func(v wire.Job) bool { return v.State == "RUNNING" && v.Restarts == 1 && v.Resumed != "" })
	})
	saved(2)
	// Its node is lost.
	at := j.view().Place[0].Node
	j.costs("a lost node", most, func() { s.must(s.Lab.CrashNode(s.ctx, at)) }, func() {
		s.must(s.Lab.SetDown(s.ctx, at, "crashed"))
		j.until("to run elsewhere", func(v wire.Job) bool { return v.State == "RUNNING" && v.Restarts == 2 && v.Resumed != "" })
	})
	s.must(s.Lab.StartSlurmd(s.ctx, at))
	if state := j.ends(); state != "COMPLETED" {
		t.Errorf("ended as %s", state)
	}
	tr, err := site.ReadTraining(j.stepsLog(), j.epochs, perEpoch)
	s.must(err)
	if tr.Missing > 0 || tr.Repeated > 3*most {
		t.Errorf("%d steps missing, %d trained twice, of %d", tr.Missing, tr.Repeated, tr.Steps)
	}
}

// output is what the job printed so far.
func (j *job) output() string {
	b, _ := os.ReadFile(filepath.Join(j.s.Home(j.user), j.name+".out"))
	return string(b)
}

// TestSaveAndRequeueOnOrder: sluice checkpoint --wait prints what was saved, and the job
// trains on; sluice requeue loses nothing.
func TestSaveAndRequeueOnOrder(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	j := s.submit("orders", "", 60, []string{"--min-gpus=2", "--max-gpus=2"})
	j.runsOn(2)
	if out := s.as("", "sluice", "checkpoint", fmt.Sprint(j.id), "--wait"); !strings.Contains(out, fmt.Sprintf("job %d saved checkpoint 0000000", j.id)) {
		t.Errorf("said %q", out)
	}
	if r := j.field("Restarts"); r != "0" {
		t.Errorf("%s restarts after a checkpoint", r)
	}
	s.as("", "sluice", "requeue", fmt.Sprint(j.id))
	// Who asks again is told that it stopped already, or that it starts just now; a job that
	// runs again by then is requeued once more.
	_, err := s.Run(s.ctx, "", "sluice", "requeue", fmt.Sprint(j.id))
	if err != nil && !strings.Contains(err.Error(), "does not run") && !strings.Contains(err.Error(), "a move is open (start)") {
		t.Errorf("asked again: %v", err)
	}
	j.until("to run again", func(v wire.Job) bool {
		return v.State == "RUNNING" && v.Restarts >= 1 && v.Resumed != "" && v.Move == nil
	})
	r := j.field("Restarts")
	if tr := j.completes(); tr.Repeated > 0 || r != "1" && (err != nil || r != "2") {
		t.Errorf("%d steps trained twice, %s restarts", tr.Repeated, r)
	}
}

// TestGoesOnAfterItsTimeLimit: a job whose work takes longer than its time limit saves
// before it, waits again and completes.
func TestGoesOnAfterItsTimeLimit(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	j := s.submit("limits", "", 90, []string{"--max-gpus=2", "--time=1"}, "--seconds", "0.5")
	if tr := j.completes(); tr.Moves < 1 || tr.Repeated > 0 {
		t.Errorf("%d restarts, %d steps trained twice", tr.Moves, tr.Repeated)
	}
}

// TestEveryAuto: the time between checkpoints is chosen from what a save takes, it is said,
// saving takes at most 1 % of the time, and a lost node costs at most about that time.
func TestEveryAuto(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 2), withConfig(quick+"[checkpoint]\nnode_mtbf = \"1h\"\n"))
	j := s.submit("auto", "", 75, []string{"--min-gpus=2", "--max-gpus=2", "--checkpoint-every=auto"}, "--write-seconds", "0.4")
	v := j.until("to have saved by time", func(v wire.Job) bool { return v.SaveCost > 0 })
	every := time.Duration(v.SavesEvery * float64(time.Second))
	want := runner.Interval(time.Duration(v.SaveCost*float64(time.Second)), time.Hour)
	if v.SaveCost < 0.4 || v.SaveCost > 0.01*v.SavesEvery || (every-want).Abs() > time.Second {
		t.Errorf("it saves every %v, a save takes %.2f s, want %v", every, v.SaveCost, want)
	}
	if out := s.as("", "sluice", "explain", fmt.Sprint(j.id)); !strings.Contains(out, "every 1:00; a save takes 0.") {
		t.Errorf("explain does not say how often it saves:\n%s", out)
	}
	time.Sleep(every + 5*time.Second)
	at := j.view().Place[0].Node
	j.costs("a lost node", int(every.Seconds())*2+4, func() { s.must(s.Lab.CrashNode(s.ctx, at)) }, func() {
		s.must(s.Lab.SetDown(s.ctx, at, "crashed"))
		j.until("to run elsewhere", func(v wire.Job) bool { return v.State == "RUNNING" && v.Restarts == 1 && v.Resumed != "" })
	})
	s.must(s.Lab.StartSlurmd(s.ctx, at))
	s.cancel(j)
}

// TestPreemptedBySlurm: a job that Slurm itself requeues, for a job of a partition that
// comes first, comes back by sluice from its last checkpoint.
func TestPreemptedBySlurm(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2), func(c *site.Config) {
		c.Lab.Partitions = []lab.Partition{{Name: "gpu"}, {Name: "urgent", Options: "PriorityTier=10"}}
		c.Lab.ExtraConf = "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
	})
	j := s.submit("preempted", "", 30, []string{"--partition=gpu", "--min-gpus=2", "--max-gpus=2", "--checkpoint-every=10s"})
	j.runsOn(2)
	s.must(site.Until(s.ctx, time.Minute, "a checkpoint by time", func() (bool, error) { return j.checkpoints() > 0, nil }))
	time.Sleep(4 * time.Second) // so that there is something to lose
	var first *job
	j.costs("a preemption", 10*2+4, func() {
		id, err := s.Sbatch(s.ctx, "", "--partition=urgent", "--gres=gpu:2", "--wrap=sleep 10")
		s.must(err)
		first = &job{s: s, id: id}
		s.must(site.Until(s.ctx, time.Minute, "Slurm to preempt it", func() (bool, error) { return first.field("JobState") == "RUNNING", nil }))
	}, func() {
		if state := first.ends(); state != "COMPLETED" {
			t.Errorf("the job that came first ended as %s", state)
		}
		began := time.Now()
		j.until("to run again", func(v wire.Job) bool { return v.State == "RUNNING" && v.Restarts == 1 && v.Resumed != "" })
		if took := time.Since(began); took > 30*time.Second { // Slurm alone lets it wait for two minutes
			t.Errorf("it ran again %v after its GPUs were free", took)
		}
	})
	if state := j.ends(); state != "COMPLETED" {
		t.Errorf("ended as %s", state)
	}
	tr, err := site.ReadTraining(j.stepsLog(), j.epochs, perEpoch)
	s.must(err)
	if tr.Missing > 0 {
		t.Errorf("%+v", tr)
	}
}
