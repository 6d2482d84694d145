package lab_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// patience bounds every wait in these tests: what takes 1 s on an idle machine may take
// much longer on a busy one.
const patience = 90 * time.Second

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// slurm runs one Slurm command of the lab and returns what it printed.
func slurm(t *testing.T, l *lab.Lab, name string, args ...string) string {
	t.Helper()
	out, err := l.Command(within(t), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// until polls for a condition with a deadline.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

func waitState(t *testing.T, l *lab.Lab, job, state string) {
	t.Helper()
	until(t, "job "+job+" "+state, func() bool {
		return slurm(t, l, "squeue", "-h", "-t", "all", "-j", job, "-o", "%T") == state
	})
}

func asRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TESTED: needs root")
	}
}

// as makes the command run as another account.
func as(t *testing.T, cmd *exec.Cmd, name string) *exec.Cmd {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Skipf("NOT TESTED: no second account: %v", err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return cmd
}

func TestLab(t *testing.T) {
	l := labtest.Up(t, lab.Config{
		SlurmdTimeout: 5 * time.Second,
		// A dead slurmd is noticed after its timeout and one attempt to reach it.
		ExtraConf:  "MessageTimeout=5",
		Partitions: []lab.Partition{{Name: "main", Nodes: []string{"gpu1", "gpu2"}}, {Name: "edge", Nodes: []string{"gpu3"}}, {Name: "all"}},
	})
	// In this order on one lab; each leaves the lab healthy.
	t.Run("has three nodes of four GPUs", func(t *testing.T) { testInventory(t, l) })
	t.Run("is found again", func(t *testing.T) { testOpen(t, l) })
	t.Run("is not started twice", func(t *testing.T) { testInUse(t, l) })
	t.Run("runs a job on two nodes", func(t *testing.T) { testTwoNodeJob(t, l) })
	t.Run("runs jobs of another account", func(t *testing.T) { testSecondAccount(t, l) })
	t.Run("keeps a job while slurmctld restarts", func(t *testing.T) { testControllerRestart(t, l) })
	t.Run("survives a frozen slurmctld", func(t *testing.T) { testFreeze(t, l) })
	t.Run("drains and resumes a node", func(t *testing.T) { testDrain(t, l) })
	t.Run("loses and regains a node", func(t *testing.T) { testNodeLoss(t, l) })
	t.Run("ends with its jobs", func(t *testing.T) { testDown(t, l) })
}

func testInventory(t *testing.T, l *lab.Lab) {
	s, err := l.Status(within(t))
	if err != nil || !s.Healthy() || !s.Running() {
		t.Fatalf("status %+v: %s, %v", s, s.Trouble(), err)
	}
	if len(s.Nodes) != 3 || len(s.Daemons) != 5 {
		t.Fatalf("%d nodes, %d daemons: %+v", len(s.Nodes), len(s.Daemons), s)
	}
	for _, n := range s.Nodes {
		if n.State != "idle" || n.Gres != "gpu:4" {
			t.Errorf("node %+v", n)
		}
	}
	if got := slurm(t, l, "sinfo", "-h", "-o", "%R %N"); got != "main gpu[1-2]\nedge gpu3\nall gpu[1-3]" {
		t.Errorf("partitions: %s", got)
	}
	for _, dir := range []string{l.JobsDir(), l.OutboxDir(), l.StateDir(), l.RunDir()} {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

func testOpen(t *testing.T, l *lab.Lab) {
	again, err := lab.Open(l.Dir())
	if err != nil {
		t.Fatal(err)
	}
	if s, err := again.Status(within(t)); err != nil || !s.Healthy() {
		t.Errorf("seen by another process: %s, %v", s.Trouble(), err)
	}
}

func testInUse(t *testing.T, l *lab.Lab) {
	_, err := lab.Up(within(t), lab.Config{Dir: l.Dir()})
	if !errors.Is(err, lab.ErrInUse) || !strings.Contains(err.Error(), "sluice lab down") {
		t.Errorf("second Up: %v", err)
	}
	if s, err := l.Status(within(t)); err != nil || !s.Healthy() {
		t.Errorf("the refused Up did harm: %s, %v", s.Trouble(), err)
	}
}

// The step requests its GPUs with the same options as the job: 26.05 refuses --gres
// beside the SLURM_GPUS_PER_NODE that sbatch has set.
const twoNodes = `#!/bin/sh
echo "batch on $SLURMD_NODENAME of $SLURM_JOB_NODELIST with $CUDA_VISIBLE_DEVICES ($SLURM_JOB_GPUS)"
srun sh -c 'echo "rank $SLURM_PROCID on $SLURMD_NODENAME with $CUDA_VISIBLE_DEVICES"'
srun -N1 -n1 --gpus-per-node=1 sh -c 'echo "step with $CUDA_VISIBLE_DEVICES"'
`

func testTwoNodeJob(t *testing.T, l *lab.Lab) {
	script, out := filepath.Join(l.JobsDir(), "two.sh"), filepath.Join(l.JobsDir(), "two.out")
	if err := os.WriteFile(script, []byte(twoNodes), 0o755); err != nil {
		t.Fatal(err)
	}
	job := slurm(t, l, "sbatch", "--parsable", "-N2", "-n2", "--gpus-per-node=2", "-o", out, script)
	waitState(t, l, job, "COMPLETED")
	var text string
	until(t, "the job's output", func() bool {
		b, _ := os.ReadFile(out)
		text = string(b)
		return strings.Contains(text, "step with")
	})
	for _, want := range []string{"batch on gpu1 of gpu[1-2] with 0,1 (0,1)\n", "rank 0 on gpu1 with 0,1\n", "rank 1 on gpu2 with 0,1\n", "step with 0\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("output lacks %q:\n%s", want, text)
		}
	}
}

func testSecondAccount(t *testing.T, l *lab.Lab) {
	asRoot(t)
	dir := filepath.Join(l.JobsDir(), "nobody")
	if out, err := as(t, exec.Command("mkdir", "-m", "2750", dir), "nobody").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out := filepath.Join(dir, "out")
	cmd := as(t, l.Command(within(t), "sbatch", "--parsable", "--gpus=1", "-o", out, "--wrap", "id -un; chmod 640 "+out), "nobody") // whatever the umask is
	cmd.Dir = "/"
	line, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	waitState(t, l, strings.TrimSpace(string(line)), "COMPLETED")
	until(t, "output", func() bool { b, _ := os.ReadFile(out); return strings.TrimSpace(string(b)) == "nobody" })
	// SlurmUser's group inherits the directory: the daemon can read it.
	if text, err := as(t, exec.Command("cat", out), l.SlurmUser()).CombinedOutput(); err != nil {
		t.Errorf("SlurmUser cannot read a job's file: %v: %s", err, text)
	}
	if text, err := as(t, exec.Command("rmdir", l.OutboxDir()), "nobody").CombinedOutput(); err == nil {
		t.Errorf("nobody removed the outbox: %s", text)
	}
}

func longJob(t *testing.T, l *lab.Lab, args ...string) string {
	job := slurm(t, l, "sbatch", append(append([]string{"--parsable", "-o", "/dev/null"}, args...), "--wrap", "sleep 600 & setsid sleep 600 & wait")...)
	waitState(t, l, job, "RUNNING")
	return job
}

func testControllerRestart(t *testing.T, l *lab.Lab) {
	job := longJob(t, l, "--gpus=1")
	if err := l.RestartController(within(t)); err != nil {
		t.Fatal(err)
	}
	waitState(t, l, job, "RUNNING")
	if err := l.KillController(within(t)); err != nil {
		t.Fatal(err)
	}
	if s, _ := l.Status(within(t)); s.Trouble() != "slurmctld does not run" {
		t.Errorf("trouble %q after the controller was killed", s.Trouble())
	}
	if err := errors.Join(l.StartController(within(t)), l.StartController(within(t))); err != nil {
		t.Fatal(err)
	}
	waitState(t, l, job, "RUNNING")
	slurm(t, l, "scancel", job)
	waitState(t, l, job, "CANCELLED")
}

func testFreeze(t *testing.T, l *lab.Lab) {
	if err := l.FreezeController(within(t)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if out, err := l.Command(ctx, "squeue").CombinedOutput(); err == nil {
		t.Errorf("a frozen controller answered: %s", out)
	}
	if err := errors.Join(l.ThawController(within(t)), l.WaitHealthy(within(t))); err != nil {
		t.Error(err)
	}
}

func testDrain(t *testing.T, l *lab.Lab) {
	if err := errors.Join(l.Drain(within(t), "gpu3", "test"), l.WaitNode(within(t), "gpu3", "drained")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Resume(within(t), "gpu3"), l.WaitNode(within(t), "gpu3", "idle")); err != nil {
		t.Fatal(err)
	}
	if err := l.Drain(within(t), "gpu9", "test"); err == nil || !strings.Contains(err.Error(), "gpu9") {
		t.Errorf("draining no node: %v", err)
	}
}

func testNodeLoss(t *testing.T, l *lab.Lab) {
	job := longJob(t, l, "--gpus=1", "-p", "edge", "--no-requeue")
	if err := l.CrashNode(within(t), "gpu3"); err != nil {
		t.Fatal(err)
	}
	if err := l.WaitNode(within(t), "gpu3", "down*", "down"); err != nil {
		t.Fatal(err)
	}
	waitState(t, l, job, "NODE_FAIL")
	if err := l.StartSlurmd(within(t), "gpu3"); err != nil {
		t.Fatal(err)
	}
	if err := l.WaitNode(within(t), "gpu3", "idle"); err != nil {
		t.Fatal(err)
	}
}

func testDown(t *testing.T, l *lab.Lab) {
	longJob(t, l, "-N2", "--gpus-per-node=1")
	if err := l.Down(within(t)); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Procs(); n != 0 || err != nil {
		t.Errorf("%d processes left (%v)", n, err)
	}
	entries, err := os.ReadDir(l.Dir())
	if len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left in the directory: %v, %v", entries, err)
	}
	if _, err := lab.Open(l.Dir()); !errors.Is(err, lab.ErrNoLab) {
		t.Errorf("Open after Down: %v", err)
	}
	if err := l.Down(within(t)); err != nil {
		t.Errorf("second Down: %v", err)
	}
}
