package ranks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/pythontest"
)

// TestTorchrunCommand: what is written for Python is written for torchrun.
func TestTorchrunCommand(t *testing.T) {
	n, w := Node{ID: 1, Nodes: 2, Local: 3}, World{Master: "gpu1", Port: 20001}
	const run = "-m torch.distributed.run --nnodes=2 --node_rank=1 --nproc_per_node=3 --rdzv_backend=static --rdzv_endpoint=gpu1:20001 --rdzv_id=x --max_restarts=0 --redirects=9:3 --tee=9:3 "
	for command, want := range map[string]string{
		"train.py --epochs 3":              "python3 " + run + "train.py --epochs 3",
		"python3 train.py":                 "python3 " + run + "train.py",
		"/opt/v/bin/python3.11 -u t.py -m": "/opt/v/bin/python3.11 -u " + run + "t.py -m",
		"python -X dev -W error t.py":      "python -X dev -W error " + run + "t.py",
		"python3 -m pkg.train --lr 1":      "python3 " + run + "--module pkg.train --lr 1",
	} {
		got, err := n.torchrun(strings.Fields(command), w, "x")
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v", command, got, err)
		}
	}
	for _, bad := range []string{"python3", "python3 -u", "python3 -m", "python3 -c pass", "python3 -X"} {
		if got, err := n.torchrun(strings.Fields(bad), w, "x"); err == nil {
			t.Errorf("%s: %q", bad, got)
		}
	}
	vars := map[string]string{"SLURM_JOB_ID": "7", "SLURM_RESTART_COUNT": "2", "SLURM_STEP_ID": "1"}
	if id := rendezvous(vars); id != "sluice-7.2.1" {
		t.Error(id)
	}
}

// pythons are the interpreters with torch: Debian's, and the frameworks' where
// they are installed.
func pythons(t *testing.T) []string {
	if testing.Short() {
		t.Skip("NOT TESTED in short mode: torchrun")
	}
	var found []string
	for _, p := range []string{"/usr/bin/python3", frameworks()} {
		if err := exec.Command(p, "-c", "import torch.distributed.run").Run(); err != nil {
			t.Logf("NOT TESTED with %s: it has no torchrun (%v)", p, err)
			continue
		}
		found = append(found, p)
	}
	if len(found) == 0 {
		t.Skip("NOT TESTED: no torchrun here")
	}
	return found
}

func frameworks() string {
	python, err := pythontest.Find(os.Getenv)
	if err != nil {
		return "the frameworks' Python"
	}
	return python
}

const torchProgram = `
import os, signal, sys, time
import torch, torch.distributed as dist
dist.init_process_group("gloo")
def say(text):
    with open(os.environ["SLUICE_JOB_DIR"] + "/story", "a") as f:
        f.write(text + "\n")
one = torch.ones(1)
dist.all_reduce(one)
say(f"{dist.get_rank()}/{dist.get_world_size()} {os.environ['LOCAL_RANK']}/{os.environ['LOCAL_WORLD_SIZE']} node {os.environ['GROUP_RANK']} sum {int(one)} args {sys.argv[1:]}")
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append(1))
def ended(*_):
    say(f"{dist.get_rank()} saves")
    sys.exit(0)
signal.signal(signal.SIGTERM, ended)
say("ready")
while sys.argv[1:] == ["wait"] and not os.path.exists(os.environ["SLUICE_JOB_DIR"] + "/go"):
    time.sleep(0.02)
    if told:
        say(f"{dist.get_rank()} told")
        told.clear()
if sys.argv[1:] == ["fail"] and dist.get_rank() == 2:
    sys.exit(7)
dist.barrier()
`

// torchruns starts one sluice ranks --torchrun on each of several nodes.
type torchruns struct {
	*testing.T
	dir   string
	nodes []*node
}

func beginTorchruns(t *testing.T, python, arg string, counts ...int) torchruns {
	t.Helper()
	r := torchruns{T: t, dir: t.TempDir()}
	program := filepath.Join(r.dir, "program.py")
	if err := os.WriteFile(program, []byte(torchProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	for id := range counts {
		n := &node{Cmd: exec.Command(os.Args[0], python, "-u", program, arg)}
		n.Env = append([]string{asRanks + "=0", asTorchrun + "=1", "PATH=" + os.Getenv("PATH"), "SLURM_JOB_ID=7", "PYTHONDONTWRITEBYTECODE=1"},
			step(r.dir, id, counts...)...)
		n.Stdout, n.Stderr = &n.out, &n.errs
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { n.Process.Kill() })
		r.nodes = append(r.nodes, n)
	}
	return r
}

func (r torchruns) story() []string {
	b, _ := os.ReadFile(filepath.Join(r.dir, "story"))
	return lines(string(b))
}

func (r torchruns) says(what string, times int) {
	r.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if n := strings.Count(strings.Join(r.story(), "\n"), what); n >= times {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("not %d times %q: %q; errors %s", times, what, r.story(), r.nodes[0].errs.String())
		}
	}
}

// TestTorchrun: nodes with different numbers of GPUs make one world, ranks in
// the order of the nodes. A signal that Slurm sends to all processes of a step
// reaches the program and does not end torchrun; SIGTERM lets the program save.
func TestTorchrun(t *testing.T) {
	for _, python := range pythons(t) {
		r := beginTorchruns(t, python, "wait", 2, 1)
		r.says("ready", 3)
		want := []string{"0/3 0/2 node 0 sum 3 args ['wait']", "1/3 1/2 node 0 sum 3 args ['wait']", "2/3 0/1 node 1 sum 3 args ['wait']"}
		if got := r.story(); !slices.Equal(got[:3], want) {
			t.Errorf("%s: %q", python, got)
		}
		for _, n := range r.nodes {
			for _, pid := range family(n.Process.Pid) {
				syscall.Kill(pid, syscall.SIGUSR1)
			}
		}
		r.says("told", 3)
		for _, n := range r.nodes {
			n.Process.Signal(syscall.SIGTERM)
		}
		r.says("saves", 3)
		for _, n := range r.nodes {
			_ = n.Wait() // torchrun's own code
			if strings.Contains(n.errs.String(), "sluice ranks:") {
				t.Errorf("%s: being stopped is no failure: %s", python, n.errs.String())
			}
		}
	}
}

// TestTorchrunFails: a failed rank ends the torchruns of all nodes, and none
// tries again.
func TestTorchrunFails(t *testing.T) {
	python := pythons(t)[0]
	r := beginTorchruns(t, python, "fail", 2, 1)
	for _, n := range r.nodes {
		n.exits(t, 1) // torchrun's own code
	}
	if n := len(r.story()); n != 6 {
		t.Errorf("started %d lines of story, want 6: %q", n, r.story())
	}
	// Rank 2's failure fails the others' collective: either may be heard first.
	if got := r.nodes[0].errs.String() + r.nodes[1].errs.String(); !strings.Contains(got, ": torchrun failed (exit code 1)") {
		t.Errorf("says %s", got)
	}
}

// family lists a process and all its descendants, in no order.
func family(pid int) []int {
	list := []int{pid}
	children, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, path := range children {
		b, _ := os.ReadFile(path)
		for _, word := range strings.Fields(string(b)) {
			var child int
			if _, err := fmt.Sscan(word, &child); err == nil {
				list = append(list, family(child)...)
			}
		}
	}
	return list
}
