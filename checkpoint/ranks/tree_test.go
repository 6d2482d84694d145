package ranks

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

// until waits for something to become true.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// gone reports whether nothing of a process runs any more.
func gone(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func slurp(p string) string { data, _ := os.ReadFile(p); return string(data) }

// daemonises leaves a daemon behind that ignores what it can, on every rank.
const daemonises = `(setsid bash -c 'trap "" TERM HUP INT; echo $$ >>`

// TestDaemonsEnd: what the processes of a node left behind is gone when the
// node's sluice ranks is, whichever way it ends.
func TestDaemonsEnd(t *testing.T) {
	for what, end := range map[string]string{
		"success": "exit 0", "failure": "[ $RANK = 1 ] && exit 3; exec sleep 1000", "a kill": `[ $RANK = 1 ] && kill -9 $$; trap "" TERM; while :; do sleep 0.01; done`,
	} {
		t.Run(what, func(t *testing.T) {
			pids := filepath.Join(t.TempDir(), "pids")
			n := begin(t, daemonises+pids+`; while :; do sleep 0.01; done' &); until [ "$(wc -l <`+pids+`)" = 2 ]; do sleep 0.01; done; `+end, "SLURM_GPUS_ON_NODE=2")
			done := make(chan error, 1)
			go func() { done <- n.Wait() }()
			select {
			case <-done:
			case <-time.After(3 * time.Minute):
				t.Fatal("does not end")
			}
			for _, pid := range lines(slurp(pids)) {
				if !gone(pid) {
					t.Errorf("process %s is left", pid)
				}
			}
		})
	}
}

// TestRunnerKilled: a runner that is killed can end nothing; its ranks see it.
func TestRunnerKilled(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	// The outer shell is the runner, the inner one the script.
	runner := exec.Command("bash", "-c", `SLUICE_RUNNER=$$ bash -c '"$@" & wait' script "$@"; exit`, "runner",
		os.Args[0], "bash", "-c", `trap "" TERM; echo $$ >>`+pids+`; while :; do sleep 0.01; done`)
	runner.Env = []string{asRanks + "=2", "PATH=" + os.Getenv("PATH")}
	runner.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-runner.Process.Pid, syscall.SIGKILL); runner.Wait() })
	until(t, "both are up", func() bool { return strings.Count(slurp(pids), "\n") == 2 })
	for _, pid := range lines(slurp(pids)) {
		if gone(pid) {
			t.Fatalf("process %s is gone too early", pid)
		}
	}
	runner.Process.Kill()
	for _, pid := range lines(slurp(pids)) {
		until(t, "process "+pid+" has ended", func() bool { return gone(pid) })
	}
}

// TestRanksKilled: the processes of sluice ranks go with it.
func TestRanksKilled(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pids")
	n := begin(t, `trap "" TERM; echo $$ >>`+pids+`; while :; do sleep 0.01; done`, "SLURM_GPUS_ON_NODE=3")
	until(t, "all are up", func() bool { return strings.Count(slurp(pids), "\n") == 3 })
	n.Process.Kill()
	for _, pid := range lines(slurp(pids)) {
		until(t, "process "+pid+" has ended", func() bool { return gone(pid) })
	}
}

// TestFirstFailure: who failed first is left for the runner to tell, of one node
// or several, and what failed of it is not.
func TestFirstFailure(t *testing.T) {
	dir := t.TempDir()
	if f, failed := FirstFailure(dir); failed {
		t.Errorf("nothing ran: %v", f)
	}
	n := begin(t, `[ $RANK = 2 ] && exit 7; sleep 0.1; exit 1`, "SLUICE_JOB_DIR="+dir, "SLURM_GPUS_ON_NODE=3")
	n.exits(t, 7)
	if f, failed := FirstFailure(dir); !failed || f.String() != "rank 2 on node testhost failed first (exit code 7)" {
		t.Errorf("%v, %v", f, failed)
	}
	a, b := step(dir, 0, 2, 1), step(dir, 1, 2, 1)
	first := begin(t, `trap 'exit 1' TERM; while :; do sleep 0.01; done`, a...)
	second := begin(t, `kill -9 $$`, b...)
	second.exits(t, 137)
	first.exits(t, 137)
	if f, failed := FirstFailure(dir); !failed || f.String() != "rank 2 on node gpu2 failed first (signal KILL)" {
		t.Errorf("%v, %v", f, failed)
	}
	for _, garbage := range []string{"", "{", `{"code":0}`, `{"code":300}`, `{"code":1,"rank":-1}`} {
		if err := os.WriteFile(filepath.Join(dir, Folder, "2.4", failureFile), []byte(garbage), 0o644); err != nil {
			t.Fatal(err)
		}
		if f, failed := FirstFailure(dir); !failed || f.Rank != 2 || f.Code != 7 {
			t.Errorf("%q: %v, %v", garbage, f, failed)
		}
	}
}

// TestFirstToTellIsHeard, however many tell at once.
func TestFirstToTellIsHeard(t *testing.T) {
	n := Node{Nodes: 2, Meeting: "0.0", JobDir: t.TempDir()}
	for rank := range 20 {
		if err := n.writeFailure(Failure{Node: "gpu1", Rank: rank, Code: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if got := n.readNews(); !got.failed || got.failure.Rank != 0 {
		t.Errorf("%+v", got)
	}
	n.JobDir = ""
	if err := n.writeFailure(Failure{Code: 1}); err != nil {
		t.Errorf("outside of a job: %v", err)
	}
}

func TestGPUFiles(t *testing.T) {
	for env, want := range map[string]string{
		"":                     "",
		"SLURM_JOB_GPUS=0,3":   "/dev/nvidia0 /dev/nvidia3",
		"SLURM_JOB_GPUS=x,-1,": "",
		"SLURM_JOB_GPUS=0,1 SLURM_STEP_NUM_NODES=2 SLURM_STEP_GPUS=2":                     "/dev/nvidia2",
		"SLURM_JOB_GPUS=0,1 SLURM_STEP_NUM_NODES=2":                                       "",
		"SLURM_JOB_GPUS=0,1 SLUICE_GPU_FILES=/lab/gpus/%n-%d SLURMD_NODENAME=gpu1":        "/lab/gpus/gpu1-0 /lab/gpus/gpu1-1",
		"SLURM_JOB_GPUS=0 SLUICE_GPU_FILES=/dev/dri/renderD128 SLURMD_NODENAME=" + "gpu1": "/dev/dri/renderD128",
	} {
		if got := strings.Join(GPUFiles(supervise.Vars(strings.Fields(env))), " "); got != want {
			t.Errorf("%s: %q, want %q", env, got, want)
		}
	}
}

// TestGPUsReleased: the node's GPUs are free when sluice ranks has ended, though
// a daemon held one.
func TestGPUsReleased(t *testing.T) {
	dir := t.TempDir()
	for i := range 2 {
		if err := syscall.Mknod(filepath.Join(dir, "gpu1-"+strconv.Itoa(i)), syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
			t.Skipf("LOUD SKIP: device files can only be made as root: %v", err)
		}
	}
	// A process of the job that is not of this step: named, not killed.
	other := exec.Command("bash", "-c", "exec 7<>"+dir+"/gpu1-1; echo up >"+dir+"/up; exec sleep 1000")
	other.Env = []string{"SLURM_JOB_ID=42", "PATH=" + os.Getenv("PATH")}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	until(t, "it holds the GPU", func() bool { return slurp(dir+"/up") != "" })
	n := begin(t, `exec 7<>`+dir+`/gpu1-0; (setsid sleep 1000 &); exit 0`, "SLURM_GPUS_ON_NODE=1", "SLURM_JOB_ID=42",
		"SLURM_JOB_GPUS=0,1", "SLUICE_GPU_FILES="+dir+"/%n-%d", "SLURMD_NODENAME=gpu1")
	n.exits(t, 0)
	said := n.errs.String()
	if !strings.Contains(said, dir+"/gpu1-1 is still held by process "+strconv.Itoa(other.Process.Pid)+" (sleep)") || strings.Contains(said, "gpu1-0") {
		t.Errorf("says %q", said)
	}
	if gone(strconv.Itoa(other.Process.Pid)) {
		t.Error("it was killed")
	}
}

// TestStopComesInAnyOrder: Slurm sends a signal to every process of a step, and the end of
// one that does not listen may be seen before sluice ranks gets its own. The others have
// their time to save all the same.
func TestStopComesInAnyOrder(t *testing.T) {
	dir := t.TempDir()
	n := begin(t, `echo $$ >`+dir+`/pid.$RANK; [ $RANK = 0 ] && exec sleep 1000
		trap "sleep 1; echo saved >`+dir+`/saved; exit 0" TERM; echo up >`+dir+`/up; while :; do sleep 0.01; done`, "SLURM_GPUS_ON_NODE=2")
	until(t, "both are up", func() bool { return slurp(dir+"/pid.0") != "" && slurp(dir+"/up") != "" })
	pid, err := strconv.Atoi(strings.TrimSpace(slurp(dir + "/pid.0")))
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // it becomes a sleep
	syscall.Kill(pid, syscall.SIGTERM)
	until(t, "it has ended", func() bool { return gone(strconv.Itoa(pid)) })
	time.Sleep(200 * time.Millisecond) // its end is known, and the signal is still awaited
	n.Process.Signal(syscall.SIGTERM)
	n.exits(t, 143)
	if slurp(dir+"/saved") != "saved\n" || strings.Contains(n.errs.String(), "sluice") {
		t.Errorf("it did not save; errors %q", n.errs.String())
	}
}
