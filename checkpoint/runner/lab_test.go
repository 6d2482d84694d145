package runner_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/python"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/command"
	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// slurmJob is a live job in a real Slurm, moved as sluiced moves it.
type slurmJob struct {
	*live
	lab    *lab.Lab
	client *command.Client
	id     slurm.JobID
	asks   int
}

// submitLive submits a script as sluice submit does: held by a batch script that
// execs the runner, which is this test's program.
func submitLive(t *testing.T, l *lab.Lab, script string) *slurmJob {
	t.Helper()
	client, err := command.New(command.Config{Dir: filepath.Dir(l.Bin("squeue")), Conf: l.Conf(), Env: l.Env(), Now: time.Now})
	must(t, err)
	base := filepath.Dir(l.JobsDir())
	j := &slurmJob{live: newJobIn(t, base, script), lab: l, client: client}
	program, lib := filepath.Join(base, programName), filepath.Join(base, "python")
	copyProgram(t, program)
	must(t, python.WriteTo(lib))
	batch := filepath.Join(j.dir, "batch")
	text := fmt.Sprintf("#!/bin/sh\nexport SLUICE_PYTHON=%s GORACE=atexit_sleep_ms=0\nexec %s run %s/script\n", lib, program, j.dir)
	writeProgram(t, batch, text)
	id, _, err := client.Submit(t.Context(), slurm.Submission{Dir: "/tmp", Env: append(os.Environ(), l.Env()...),
		Args: []string{"--requeue", "--open-mode=append", "--nodes=1", "--ntasks=1", "--gres=gpu:1", "--output=" + j.out, batch}})
	must(t, err)
	j.id = id
	t.Cleanup(func() { client.Cancel(context.WithoutCancel(t.Context()), id); j.dump() })
	return j
}

func (j *slurmJob) dump() {
	if j.Failed() {
		j.Logf("the job printed:\n%s\nand told:\n%s", slurp(j.out), j.story())
	}
}

// writeProgram writes a script. A child that another test starts in the meantime would
// hold it open for writing until its own program begins: "text file busy".
func writeProgram(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	must(t, os.WriteFile(path, []byte(text), 0o755))
}

func copyProgram(t *testing.T, to string) {
	t.Helper()
	if _, err := os.Stat(to); err == nil {
		return
	}
	from, err := os.Open(os.Args[0])
	must(t, err)
	defer from.Close()
	f, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(f, from)
	must(t, err)
	must(t, f.Close())
}

// save asks for a checkpoint and waits for the answer.
func (j *slurmJob) save() checkpoint.Answer {
	j.Helper()
	j.asks++
	name := fmt.Sprintf("ask-%d", j.asks)
	now := time.Now()
	must(j, j.mail.Ask(token, checkpoint.Request{Job: int64(j.id), ID: name, Restarts: j.restarts, Asked: now, Deadline: now.Add(time.Minute), Why: "to test"}))
	w := j.reach(checkpoint.Waiting)
	if w.Answer == nil || w.Answer.Request != name {
		j.Fatalf("answer %+v", w.Answer)
	}
	return *w.Answer
}

// move moves the job to other GPUs and waits until it trains there. It returns
// the time from commit to the script's first line.
func (j *slurmJob) move(to nodes.Placement, u slurm.Update) time.Duration {
	j.Helper()
	answer := j.save()
	w := j.place(to, u, answer.Checkpoint)
	return w.FirstLine.Sub(answer.Committed)
}

// place requeues the job and places it afresh.
func (j *slurmJob) place(to nodes.Placement, u slurm.Update, from string) checkpoint.Runner {
	j.Helper()
	j.becomes("pending", j.client.RequeueHold, func(job slurm.Job) bool { return job.State == slurm.Pending && !job.Completing })
	must(j, j.mail.Withdraw(token))
	j.restarts++
	must(j, j.mail.Aim(token, checkpoint.Target{Job: int64(j.id), Incarnation: j.restarts, Split: to, Checkpoint: from}))
	u.Nodes, u.CPUs, u.StartAfter = to.Nodes(), len(to), time.Second
	must(j, j.client.Update(j.Context(), j.id, u))
	must(j, j.client.Release(j.Context(), j.id))
	w := j.reach(checkpoint.Training)
	if w.Resumed != from || w.Split.String() != to.String() || w.Incarnation != j.restarts {
		j.Errorf("runs with %+v, want checkpoint %s on %s", w, from, to)
	}
	return w
}

func (j *slurmJob) becomes(what string, do func(context.Context, slurm.JobID) error, so func(slurm.Job) bool) {
	j.Helper()
	must(j, do(j.Context(), j.id))
	j.until("Slurm shows it "+what, func() bool { time.Sleep(100 * time.Millisecond); return so(j.show()) })
}

func (j *slurmJob) show() slurm.Job {
	j.Helper()
	d, err := j.client.Job(j.Context(), j.id)
	must(j, err)
	return d.Job
}

// claims is a script that writes down, on every node, what it and its tasks see,
// and then trains like trainer.
const claims = `
n=$(basename "${SLUICE_RESUME:-0}"); n=$((10#$n)); r=$SLUICE_RESTARTS
say "run $r split $SLUICE_SPLIT gpus $SLUICE_GPUS nodes $SLUICE_NODES"
plain() { srun "$@" bash -c 'echo "run $SLUICE_RESTARTS task $SLURM_PROCID/$SLURM_NTASKS on $SLURMD_NODENAME with $(echo $CUDA_VISIBLE_DEVICES | tr , "\n" | wc -l)"'; }
ranks() { "$@" "$SLUICE" ranks -- bash -c 'echo "run $SLUICE_RESTARTS rank $RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE"'; }
plain | sort >>$SLUICE_JOB_DIR/story
ranks srun | sort >>$SLUICE_JOB_DIR/story
say "run $r again"; ranks | sort >>$SLUICE_JOB_DIR/story
say "run $r ready"
await; save $((n+1)) "$request"; pause "$request"
`

// TestEnvironmentOnSlurm: after every resize a plain srun starts one task on
// each node of the present allocation, with all of the job's GPUs there, and
// sluice ranks starts one process a GPU, on every Slurm release at hand.
func TestEnvironmentOnSlurm(t *testing.T) {
	for _, root := range labtest.Roots() {
		l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 3, GPUs: 4, Root: root})
		t.Run(l.Release(), func(t *testing.T) {
			j := submitLive(t, l, claims)
			want := func(run int, split nodes.Placement) {
				t.Helper()
				j.tells(fmt.Sprintf("run %d ready", run))
				for _, line := range expected(run, split) {
					j.tells(line)
				}
				if got := strings.Count(j.story(), fmt.Sprintf("run %d ", run)); got != len(expected(run, split)) {
					t.Errorf("run %d: %d lines, want %d:\n%s", run, got, len(expected(run, split)), j.story())
				}
			}
			place := func(shares ...nodes.Share) nodes.Placement { return shares }
			first := j.reach(checkpoint.Training).Split
			want(0, first)
			even := place(nodes.Share{Node: "gpu1", GPUs: 2}, nodes.Share{Node: "gpu2", GPUs: 2})
			t.Logf("grown to %s in %v", even, j.move(even, slurm.Update{GPUsPerNode: 2}))
			want(1, even)
			uneven := place(nodes.Share{Node: "gpu1", GPUs: 4}, nodes.Share{Node: "gpu2", GPUs: 1})
			t.Logf("grown to %s in %v", uneven, j.move(uneven, slurm.Update{GPUsTotal: 5}))
			want(2, uneven)
			small := place(nodes.Share{Node: "gpu3", GPUs: 3})
			t.Logf("shrunk to %s in %v", small, j.move(small, slurm.Update{GPUsPerNode: 3}))
			want(3, small)
		})
	}
}

// expected lists what a run of claims tells, in some order.
func expected(run int, split nodes.Placement) []string {
	out := []string{
		fmt.Sprintf("run %d split %s gpus %d nodes %d", run, strings.ReplaceAll(split.String(), "+", ","), split.GPUs(), len(split)),
		fmt.Sprintf("run %d again", run), fmt.Sprintf("run %d ready", run),
	}
	rank := 0
	for i, s := range split {
		out = append(out, fmt.Sprintf("run %d task %d/%d on %s with %d", run, i, len(split), s.Node, s.GPUs))
		for local := range s.GPUs {
			line := fmt.Sprintf("run %d rank %d/%d local %d/%d", run, rank, split.GPUs(), local, s.GPUs)
			out = append(out, line, line)
			rank++
		}
	}
	return out
}

// TestExitZeroOnSlurm: a program that exits 0 after its checkpoint leaves the
// job running, so that no dependant starts; taken back, it trains on.
func TestExitZeroOnSlurm(t *testing.T) {
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 1, GPUs: 2})
	j := submitLive(t, l, `say "from ${SLUICE_RESUME##*/}"; await; save 1 "$request"; exit 0`)
	j.reach(checkpoint.Training)
	j.save()
	j.until("the script's end is told", func() bool { return j.word().Exit != nil })
	if job := j.show(); job.State != slurm.Running {
		t.Fatalf("Slurm has it %s", job.State)
	}
	j.withdraw()
	j.tells("from 00000001")
	must(t, j.client.Cancel(t.Context(), j.id))
	j.until("it is cancelled", func() bool { return j.show().State == slurm.Cancelled })
}

var modelSum = regexp.MustCompile(`finished after step \d+: model ([0-9.]+)`)

// TestTrainingOnSlurm moves a real DDP training between sizes and nodes: every
// step is trained once, and the model is the one that was never moved.
func TestTrainingOnSlurm(t *testing.T) {
	if err := exec.Command("/usr/bin/python3", "-c", "import torch.distributed").Run(); err != nil {
		t.Skipf("NOT TESTED: a real training on a real Slurm; /usr/bin/python3 has no torch: %v", err)
	}
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 2, GPUs: 3})
	train := func(step float64) string {
		return fmt.Sprintf(`srun "$SLUICE" ranks -- /usr/bin/python3 -u "$SLUICE_PYTHON/examples/train_ddp.py" --epochs 4 --steps-per-epoch 25 --emulate-step-seconds %g --steps-log $SLUICE_JOB_DIR/steps`, step)
	}
	j := submitLive(t, l, train(0.2))
	trained := func(n int) {
		t.Helper()
		j.until(fmt.Sprintf("%d steps are trained", n), func() bool {
			return strings.Count(slurp(filepath.Join(j.dir, "steps")), "\n") >= n
		})
	}
	trained(10)
	took := []time.Duration{j.move(nodes.Placement{{Node: "gpu1", GPUs: 3}, {Node: "gpu2", GPUs: 1}}, slurm.Update{GPUsTotal: 4})}
	trained(40)
	took = append(took, j.move(nodes.Placement{{Node: "gpu2", GPUs: 2}}, slurm.Update{GPUsPerNode: 2}))
	j.until("Slurm has it completed", func() bool { time.Sleep(200 * time.Millisecond); return j.show().State == slurm.Completed })
	t.Logf("from commit to first line: %v", took)
	var steps []string
	worlds := map[string]bool{}
	for line := range strings.Lines(slurp(filepath.Join(j.dir, "steps"))) {
		f := strings.Fields(line)
		steps = append(steps, fmt.Sprintf("%3s %3s", f[1], f[2]))
		worlds[f[0]+":"+f[4]] = true
	}
	if len(steps) != 100 || !slices.IsSorted(steps) || len(slices.Compact(steps)) != 100 {
		t.Errorf("%d steps, not each once and in order", len(steps))
	}
	if len(worlds) != 3 || !worlds["0:1"] || !worlds["1:4"] || !worlds["2:2"] {
		t.Errorf("worlds %v", worlds)
	}
	moved := modelSum.FindStringSubmatch(slurp(j.out))
	plain := exec.Command("/usr/bin/python3", filepath.Join(filepath.Dir(l.JobsDir()), "python", "examples", "train_ddp.py"), "--epochs", "4", "--steps-per-epoch", "25")
	out, err := plain.CombinedOutput()
	must(t, err)
	still := modelSum.FindStringSubmatch(string(out))
	if len(moved) < 2 || len(still) < 2 || moved[1][:6] != still[1][:6] {
		t.Errorf("moved: %v, never moved: %v", moved, still)
	}
}
