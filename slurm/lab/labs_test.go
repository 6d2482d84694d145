package lab_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// Every release at hand runs the same job in the same way.
func TestOtherReleases(t *testing.T) {
	for _, root := range labtest.Roots()[1:] {
		t.Run(filepath.Base(root), func(t *testing.T) {
			l := labtest.Up(t, lab.Config{Root: root})
			t.Logf("Slurm %s", l.Release())
			testTwoNodeJob(t, l)
			testSecondAccount(t, l)
			testControllerRestart(t, l)
			testDown(t, l)
		})
	}
}

// Labs that start at the same time choose different ports and do not see each other's
// processes.
func TestTwoLabsAtOnce(t *testing.T) {
	var labs [2]*lab.Lab
	skipWithoutSlurm(t)
	var g errgroup.Group
	for i := range labs {
		dir := labtest.Dir(t)
		g.Go(func() (err error) {
			labs[i], err = lab.Up(context.Background(), lab.Config{Dir: dir, Nodes: 1, GPUs: 2})
			return err
		})
	}
	err := g.Wait()
	for _, l := range labs {
		if l != nil {
			defer func() {
				if err := l.Down(within(t)); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := labs[0].Down(within(t)); err != nil {
		t.Fatal(err)
	}
	if s, err := labs[1].Status(within(t)); err != nil || !s.Healthy() {
		t.Errorf("after its neighbour went down: %s, %v", s.Trouble(), err)
	}
}

func skipWithoutSlurm(t *testing.T) {
	t.Helper()
	if err := lab.Missing(""); err != nil {
		t.Skipf("NOT TESTED on a real Slurm: %v", err)
	}
}

func TestFailedUpLeavesNothingAndTellsWhy(t *testing.T) {
	skipWithoutSlurm(t)
	dir := filepath.Join(labtest.Dir(t), "lab")
	l, err := lab.Up(within(t), lab.Config{Dir: dir, Nodes: 1, ExtraConf: "SelectType=select/nonsense"})
	if err == nil {
		l.Down(within(t))
		t.Fatal("a nonsensical configuration came up")
	}
	if !errors.Is(err, lab.ErrUnhealthy) || !strings.Contains(err.Error(), "slurmctld ended") || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("error does not tell: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was left: %v", err)
	}
}

func TestInterruptedUpLeavesNothing(t *testing.T) {
	skipWithoutSlurm(t)
	dir := filepath.Join(labtest.Dir(t), "lab")
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // ends when the lab's directory exists or the test's wait is over
		defer cancel()
		for range 1000 {
			if _, err := os.Stat(filepath.Join(dir, "run", "munge.sock")); err == nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	if l, err := lab.Up(ctx, lab.Config{Dir: dir}); err == nil {
		t.Log("it was up before the interrupt")
		if err := l.Down(within(t)); err != nil {
			t.Error(err)
		}
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory was left: %v", err)
	}
}

func TestStopKeepsTheLogs(t *testing.T) {
	l := labtest.Up(t, lab.Config{Nodes: 1, GPUs: 1})
	if err := l.Stop(within(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(l.Dir(), "log", "slurmctld.log")); err != nil {
		t.Error(err)
	}
	s, err := l.Status(within(t))
	if err != nil || s.Running() {
		t.Errorf("after Stop: %+v, %v", s, err)
	}
	_, err = lab.Up(within(t), lab.Config{Dir: l.Dir()})
	if !errors.Is(err, lab.ErrInUse) || !strings.Contains(err.Error(), "not running") {
		t.Errorf("Up over a stopped lab: %v", err)
	}
}

// An ordinary account can run a lab too. Root's test run tests that by running this test
// again as the account nobody.
func TestOrdinaryUser(t *testing.T) {
	skipWithoutSlurm(t)
	if os.Geteuid() == 0 {
		rerunAsNobody(t)
		return
	}
	l := labtest.Up(t, lab.Config{Nodes: 2})
	if len(l.Notes()) == 0 {
		t.Error("Notes is empty for an ordinary account's lab")
	}
	t.Logf("notes: %q", l.Notes())
	out := filepath.Join(l.JobsDir(), "out")
	job := slurm(t, l, "sbatch", "--parsable", "-N2", "-n2", "--gpus-per-node=2", "-o", out, "--wrap", "srun sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES'; sleep 600")
	until(t, "output of both nodes", func() bool {
		b, _ := os.ReadFile(out)
		return strings.Contains(string(b), "gpu1 0,1") && strings.Contains(string(b), "gpu2 0,1")
	})
	waitState(t, l, job, "RUNNING") // for Down to end
}

func rerunAsNobody(t *testing.T) {
	dir := labtest.Dir(t)
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "lab.test") // readable by the account nobody
	if err := os.WriteFile(copied, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(copied, 0o755); err != nil { // whatever the umask is
		t.Fatal(err)
	}
	cmd := as(t, exec.CommandContext(within(t), copied, "-test.run=^TestOrdinaryUser$", "-test.v"), "nobody")
	cmd.Dir = dir
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "--- PASS: TestOrdinaryUser") {
		t.Errorf("as nobody: %v\n%s", err, text)
	}
}
