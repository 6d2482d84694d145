package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// nfsServer does something to the server.
func nfsServer(t *testing.T, verb string) {
	t.Helper()
	if out, err := exec.Command("nfs-server", verb).CombinedOutput(); err != nil {
		t.Fatalf("nfs-server %s: %v: %s", verb, err, out)
	}
}

func onlyOnNFS(t *testing.T) {
	t.Helper()
	if site.MountsOfEnvironment() == nil {
		t.Skip("SKIPPED: no folder on NFS (" + site.MountsEnv + "); make nfs tries it")
	}
}

// TestNFSServerRestarts: the server is killed while a job saves for a resize, and again during the
// resize, and restarts with its grace period. Nothing is lost.
func TestNFSServerRestarts(t *testing.T) {
	onlyOnNFS(t)
	s := play(t, withNodes(2, 4))
	j := s.submit("restarts", "", 80, []string{"--max-gpus=4"}, "--write-seconds", "1")
	j.runsOn(4)
	for i, step := range []int{2, 3, 4, 5} {
		gpus := 1 + i%2
		s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", fmt.Sprint(gpus))
		j.moving(step)
		nfsServer(t, "kill")
		time.Sleep(2 * time.Second)
		nfsServer(t, "start")
		j.runsOn(gpus)
		j.trains()
	}
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "auto")
	j.completes()
	t.Log("reliability: nfs-server-kills 4")
}

// TestNFSKills: in the middle of saves and moves the program, its run and sluiced are killed.
// The job comes to its new size from a checkpoint that was verified, and no step is missing.
func TestNFSKills(t *testing.T) {
	onlyOnNFS(t)
	for name, step := range map[string]int{"while it saves": 2, "between two sizes": 4} {
		t.Run(name, func(t *testing.T) { killsAt(t, step) })
	}
	t.Log("reliability: nfs-kills 6")
}

func killsAt(t *testing.T, step int) {
	s := play(t, withNodes(3, 2))
	j := s.submit("kills", "", 120, []string{"--max-gpus=6", "--retries=9", "--checkpoint-every=10s"}, "--write-seconds", "1")
	j.runsOn(6)
	folder := filepath.Join(s.Jobs, j.view().Token)
	victims := map[string]func(){
		"program": func() { _, _ = s.Run(s.ctx, "", "pkill", "-KILL", "-f", "loop.py --steps-log "+j.stepsLog()) }, // it may be gone
		"run":     func() { _, _ = s.Run(s.ctx, "", "pkill", "-KILL", "-f", "run .*"+folder+"/script") },
		"sluiced": func() { s.Kill(); s.must(s.Start(s.ctx)) },
	}
	size := 6
	for victim, kill := range victims {
		size = 1 + (size+3)%6
		s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", fmt.Sprint(size))
		j.moving(step)
		time.Sleep(500 * time.Millisecond)
		kill()
		if victim == "run" {
			j.broughtBack()
		}
		j.runsOn(size)
		j.trains()
		t.Logf("%s killed at R%d: runs on %d GPUs", victim, step, size)
	}
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "auto")
	if state := j.ends(); state != "COMPLETED" {
		t.Errorf("ended as %s", state)
	}
	tr, err := site.ReadTraining(j.stepsLog(), j.epochs, perEpoch)
	s.must(err)
	if tr.Missing > 0 {
		t.Errorf("%d steps missing of %d", tr.Missing, tr.Steps)
	}
	log, err := os.ReadFile(s.Log)
	s.must(err)
	for _, words := range []string{"is damaged", "manifest says"} { // what checkpoint says of one that is not whole
		if strings.Contains(string(log)+j.output(), words) {
			t.Errorf("a checkpoint with a manifest was not whole:\n%s", j.output())
		}
	}
	t.Logf("%d steps trained again after %d kills", tr.Repeated, len(victims))
}

// broughtBack requeues the job as its user would if Slurm has ended it: Slurm cannot distinguish a
// killed run from a failed one.
func (j *job) broughtBack() {
	j.s.t.Helper()
	j.s.must(site.Until(j.s.ctx, 2*time.Minute, "the job to run, or to have failed", func() (bool, error) {
		state := j.field("JobState")
		if state == "FAILED" {
			_, err := j.s.Run(j.s.ctx, "", "scontrol", "requeue", fmt.Sprint(j.id))
			return err == nil, nil
		}
		return state == "RUNNING" && j.view().Move == nil, nil
	}))
}

// trains waits until the job has made progress.
func (j *job) trains() {
	j.s.t.Helper()
	before := j.view().Done
	j.until("to train", func(v wire.Job) bool { return v.Done > before })
}

// TestNFSServerHangs: the server does not answer for a minute. Cycles continue, users' requests are
// answered, jobs keep their sizes, and jobs that do not use the server start. Afterwards all jobs
// continue.
func TestNFSServerHangs(t *testing.T) {
	onlyOnNFS(t)
	s := play(t, withNodes(1, 6)) // one node: neither has a reason to move
	j := s.submit("hangs", "", 60, []string{"--max-gpus=4"})
	other := s.submit("other", "", 60, []string{"--max-gpus=4"})
	for _, job := range []*job{j, other} {
		job.until("to be taken up", func(v wire.Job) bool { return v.Token != "" })
		s.as("", "sluice", "resize", fmt.Sprint(job.id), "--gpus", "2")
		job.runsOn(2)
		job.trains()
	}
	j.runsOn(2)
	other.runsOn(2)
	nfsServer(t, "freeze")
	thawed := false
	t.Cleanup(func() {
		if !thawed {
			nfsServer(t, "thaw")
		}
	})
	began, cycles := time.Now(), s.status().Cycles
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "1")
	ordinary, err := s.Sbatch(s.ctx, "", "--gres=gpu:1", "--chdir=/", "--output=/dev/null", "--wrap=sleep 1")
	s.must(err)
	if state := (&job{s: s, id: ordinary}).ends(); state != "COMPLETED" {
		t.Errorf("an ordinary job ended as %s", state)
	}
	s.must(site.Until(s.ctx, 2*time.Minute, "both jobs to be said not to answer", func() (bool, error) { return s.status().Unread == 2, nil }))
	time.Sleep(time.Until(began.Add(time.Minute)))
	s.as("", "sluice", "queue")
	if now := s.status().Cycles; now < cycles+8 {
		t.Errorf("%d cycles in a minute", now-cycles)
	}
	for _, job := range []*job{j, other} {
		if v := job.view(); v.State != "RUNNING" || v.GPUs != 2 {
			t.Errorf("job %d is %s on %d GPUs", job.id, v.State, v.GPUs)
		}
	}
	nfsServer(t, "thaw")
	thawed = true
	j.runsOn(1)
	other.trains()
	for _, job := range []*job{j, other} {
		s.as("", "sluice", "resize", fmt.Sprint(job.id), "--gpus", "auto")
	}
	for _, job := range []*job{j, other} {
		job.completes()
	}
}

// TestNFSFull: without space on the server there is no checkpoint and so no move; with space the job
// moves.
func TestNFSFull(t *testing.T) {
	onlyOnNFS(t)
	s := play(t, withNodes(2, 4), withConfig(strings.Replace(quick, `"20s"`, `"8s"`, 1)))
	j := s.submit("full", "", 60, []string{"--max-gpus=4"})
	j.firstSize(1)
	j.trains()
	nfsServer(t, "full")
	t.Cleanup(func() { nfsServer(t, "room") })
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "2")
	time.Sleep(30 * time.Second)
	if v := j.view(); v.State != "RUNNING" || v.GPUs != 1 {
		t.Errorf("without room it is %s on %d GPUs", v.State, v.GPUs)
	}
	nfsServer(t, "room")
	j.runsOn(2)
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "auto")
	j.completes()
}

// TestNFSStale: on the server files are replaced by copies, as a restore does; what machines
// hold of the old ones is stale.
func TestNFSStale(t *testing.T) {
	onlyOnNFS(t)
	s := play(t, withNodes(2, 4))
	j := s.submit("stale", "", 40, []string{"--max-gpus=4"})
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "2")
	v := j.runsOn(2)
	for _, gpus := range []int{1, 3} {
		script := fmt.Sprintf(`cd /export/%s/jobs/%s && for f in progress.jsonl runner.json checkpoints; do cp -a $f .copy && rm -r $f && mv .copy $f; done`,
			filepath.Base(s.Lab.Dir()), v.Token)
		if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		j.trains()
		s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", fmt.Sprint(gpus))
		j.runsOn(gpus)
	}
	s.as("", "sluice", "resize", fmt.Sprint(j.id), "--gpus", "auto")
	if state := j.ends(); state != "COMPLETED" {
		t.Errorf("ended as %s", state)
	}
	tr, err := site.ReadTraining(j.stepsLog(), j.epochs, perEpoch)
	s.must(err)
	if tr.Missing > 0 || tr.Repeated > 0 {
		t.Errorf("%+v", tr)
	}
}
