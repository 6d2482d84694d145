package ranks

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

const (
	asRanks    = "SLUICE_TEST_AS_RANKS"
	asTorchrun = "SLUICE_TEST_AS_TORCHRUN"
)

// TestMain runs `sluice ranks` in processes of their own: it adopts and ends
// whatever its process started.
func TestMain(m *testing.M) {
	if os.Getenv(asRanks) == "" {
		os.Exit(m.Run())
	}
	perNode, _ := strconv.Atoi(os.Getenv(asRanks))
	os.Unsetenv(asRanks)
	wait, err := time.ParseDuration(os.Getenv("SLUICE_TEST_WAIT"))
	if err != nil {
		wait = 20 * time.Second
	}
	argv, beside, err := Kinds(os.Args[1:], AndWord)
	if err != nil {
		panic(err)
	}
	os.Exit(Run(Config{Argv: argv, And: beside, Env: os.Environ(), PerNode: perNode, Torchrun: os.Getenv(asTorchrun) != "", Host: "testhost", Gauge: os.Getenv("SLUICE_TEST_GAUGE"),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Wait: wait, Poll: 10 * time.Millisecond, Grace: 300 * time.Millisecond}))
}

// node is one call of sluice ranks.
type node struct {
	*exec.Cmd
	out, errs strings.Builder
}

func begin(t *testing.T, script string, env ...string) *node {
	t.Helper()
	n := &node{Cmd: exec.Command(os.Args[0], "bash", "-c", script)}
	n.Env = append([]string{asRanks + "=0", "PATH=" + os.Getenv("PATH")}, env...)
	n.Stdout, n.Stderr = &n.out, &n.errs
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Process.Kill() })
	return n
}

func (n *node) exits(t *testing.T, want int) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- n.Wait() }()
	select {
	case <-done:
	case <-time.After(3 * time.Minute):
		n.Process.Kill()
		<-done
		t.Fatalf("does not end; out %q, errors %q", n.out.String(), n.errs.String())
	}
	if got := n.ProcessState.ExitCode(); got != want {
		t.Fatalf("exit code %d, want %d; out %q, errors %q", got, want, n.out.String(), n.errs.String())
	}
}

const tell = `echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE node $NODE_RANK $MASTER_ADDR $OMP_NUM_THREADS"`

func lines(s string) []string {
	l := strings.Split(strings.TrimSpace(s), "\n")
	slices.Sort(l)
	return l
}

func TestOneNode(t *testing.T) {
	n := begin(t, tell, "SLURM_GPUS_ON_NODE=3", "SLURM_CPUS_ON_NODE=7", "MASTER_ADDR=here")
	n.exits(t, 0)
	if got, want := lines(n.out.String()), []string{"0/3 0/3 node 0 here 2", "1/3 1/3 node 0 here 2", "2/3 2/3 node 0 here 2"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// step returns the environment that srun gives on one node.
func step(dir string, id int, counts ...int) []string {
	return []string{"SLUICE_JOB_DIR=" + dir, "SLURM_STEP_ID=4", "SLURM_NODEID=" + strconv.Itoa(id),
		"SLURM_STEP_NUM_NODES=" + strconv.Itoa(len(counts)), "SLURM_STEP_TASKS_PER_NODE=1(x" + strconv.Itoa(len(counts)) + ")",
		"SLURM_GPUS_ON_NODE=" + strconv.Itoa(counts[id]), "SLURMD_NODENAME=gpu" + strconv.Itoa(id+1), "SLURM_RESTART_COUNT=2"}
}

func TestUnevenNodes(t *testing.T) {
	dir := t.TempDir()
	counts := []int{4, 1, 2}
	var nodes []*node
	for id := range counts {
		nodes = append(nodes, begin(t, tell+`; echo "port $MASTER_PORT"`, step(dir, id, counts...)...))
	}
	var got []string
	ports := map[string]bool{}
	for _, n := range nodes {
		n.exits(t, 0)
		for _, l := range lines(n.out.String()) {
			if strings.HasPrefix(l, "port") {
				ports[l] = true
				continue
			}
			got = append(got, l)
		}
	}
	slices.Sort(got)
	want := []string{"0/7 0/4 node 0 127.0.0.1 1", "1/7 1/4 node 0 127.0.0.1 1", "2/7 2/4 node 0 127.0.0.1 1", "3/7 3/4 node 0 127.0.0.1 1",
		"4/7 0/1 node 1 127.0.0.1 1", "5/7 0/2 node 2 127.0.0.1 1", "6/7 1/2 node 2 127.0.0.1 1"}
	if !slices.Equal(got, want) || len(ports) != 1 {
		t.Errorf("%q, %v", got, ports)
	}
}

func TestFirstFailureCounts(t *testing.T) {
	n := begin(t, `if [ $RANK = 1 ]; then exit 7; fi; trap "" TERM; while :; do sleep 0.01; done`, "SLURM_GPUS_ON_NODE=3")
	n.exits(t, 7)
	if !strings.Contains(n.errs.String(), "rank 1 of 3 failed (exit code 7)") {
		t.Errorf("says %q", n.errs.String())
	}
	n = begin(t, `if [ $RANK = 1 ]; then kill -9 $$; fi; exec sleep 100`, "SLURM_GPUS_ON_NODE=2")
	n.exits(t, 137)
}

// TestFailureElsewhere: the other nodes' processes would wait for their own
// time-out.
func TestFailureElsewhere(t *testing.T) {
	dir := t.TempDir()
	a := begin(t, `while :; do sleep 0.01; done`, step(dir, 0, 1, 1)...)
	b := begin(t, `exit 9`, step(dir, 1, 1, 1)...)
	b.exits(t, 9)
	a.exits(t, 9)
	if !strings.Contains(a.errs.String(), "rank 1 failed on node gpu2 (exit code 9)") {
		t.Errorf("says %q", a.errs.String())
	}
}

func TestSignals(t *testing.T) {
	p := filepath.Join(t.TempDir(), "story")
	n := begin(t, `trap "echo told$RANK >>`+p+`" USR1; trap "exit 5" TERM; echo up >>`+p+`; while :; do sleep 0.01; done`, "SLURM_GPUS_ON_NODE=2")
	has := func(what string, count int) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
			b, _ := os.ReadFile(p)
			if strings.Count(string(b), what) == count {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%d times %q in %q", count, what, b)
			}
		}
	}
	has("up", 2)
	n.Process.Signal(syscall.SIGUSR1)
	has("told", 2)
	n.Process.Signal(syscall.SIGTERM)
	n.exits(t, 5)
	if strings.Contains(n.errs.String(), "sluice") {
		t.Errorf("being stopped is no failure: %q", n.errs.String())
	}
}

func TestOutputUntouched(t *testing.T) {
	n := begin(t, `printf 'no newline \x00\xff'; [ $RANK = 0 ] && cat`, "SLURM_GPUS_ON_NODE=1")
	n.exits(t, 0)
	if got := n.out.String(); got != "no newline \x00\xff" {
		t.Errorf("%q", got)
	}
}

func TestNotStarted(t *testing.T) {
	for what, env := range map[string][]string{
		"several tasks a node": {"SLURM_STEP_ID=0", "SLURM_NODEID=0", "SLURM_STEP_NUM_NODES=1", "SLURM_STEP_TASKS_PER_NODE=4"},
		"no node number":       {"SLURM_STEP_ID=0", "SLURM_STEP_NUM_NODES=1", "SLURM_NODEID="},
		"number out of range":  {"SLURM_STEP_ID=0", "SLURM_NODEID=2", "SLURM_STEP_NUM_NODES=2"},
		"nowhere to meet":      {"SLURM_STEP_ID=0", "SLURM_NODEID=0", "SLURM_STEP_NUM_NODES=2"},
		"a step that leaves":   {"SLURM_STEP_ID=/../../x", "SLURM_NODEID=0", "SLURM_STEP_NUM_NODES=2", "SLUICE_JOB_DIR=/tmp"},
	} {
		n := begin(t, "exit 0", env...)
		n.exits(t, 2)
		if !strings.Contains(n.errs.String(), "sluice ranks: error: ") {
			t.Errorf("%s: says %q", what, n.errs.String())
		}
	}
	n := &node{Cmd: exec.Command(os.Args[0], "/no/such/program")}
	n.Env, n.Stderr = []string{asRanks + "=2"}, &n.errs
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	n.exits(t, 2)
}

// TestMeetingEnds: a node that never comes is named, and the wait for it is bounded.
func TestMeetingEnds(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	n := Node{ID: 0, Nodes: 3, Local: 1, Meeting: "0.0", JobDir: t.TempDir(), Name: "gpu1"}
	_, err := n.Meet(ctx, time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "node(s) 1,2 of 3") {
		t.Errorf("%v", err)
	}
}

// TestWorlds: whatever the split, all nodes agree and every rank is there once.
func TestWorlds(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		counts := rapid.SliceOfN(rapid.IntRange(1, 8), 1, 6).Draw(rt, "counts")
		dir, err := os.MkdirTemp(base, "job")
		if err != nil {
			rt.Fatal(err)
		}
		worlds := make([]World, len(counts))
		errs := make(chan error, len(counts))
		for id := range counts {
			n := Node{ID: id, Nodes: len(counts), Local: counts[id], Meeting: "0.0", JobDir: dir, Name: fmt.Sprint("gpu", id)}
			go func() {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				defer cancel()
				var err error
				worlds[id], err = n.Meet(ctx, time.Millisecond)
				errs <- err
			}()
		}
		for range counts {
			if err := <-errs; err != nil {
				rt.Fatal(err)
			}
		}
		next := 0
		for id, w := range worlds {
			if w.First != next || w.Port != worlds[0].Port || w.Master != worlds[0].Master {
				rt.Fatalf("node %d: %+v, want first rank %d; node 0: %+v", id, w, next, worlds[0])
			}
			next += counts[id]
		}
		if worlds[0].Size != next {
			rt.Fatalf("size %d, want %d", worlds[0].Size, next)
		}
	})
}

func TestGarbageNotes(t *testing.T) {
	n := Node{ID: 0, Nodes: 2, Local: 1, Meeting: "0.0", JobDir: t.TempDir(), Name: "gpu1"}
	if err := n.leave("0", note{Name: "gpu1", Local: 1}); err != nil {
		t.Fatal(err)
	}
	for _, garbage := range []string{"", "{", `{"local":0}`, `{"local":-4}`, `{"local":1e9}`, strings.Repeat(" ", maxNote+1)} {
		if err := os.WriteFile(filepath.Join(n.JobDir, Folder, "0.0", "1"), []byte(garbage), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, missing, err := n.read(); err != nil || !slices.Equal(missing, []string{"1"}) {
			t.Errorf("%.20q: missing %v, %v", garbage, missing, err)
		}
	}
}

func TestGPUs(t *testing.T) {
	for env, want := range map[string]int{
		"CUDA_VISIBLE_DEVICES=0,2,5 SLURM_GPUS_ON_NODE=4": 3,
		"CUDA_VISIBLE_DEVICES= SLURM_GPUS_ON_NODE=4":      4,
		"CUDA_VISIBLE_DEVICES=NoDevFiles":                 1,
		"ROCR_VISIBLE_DEVICES=0,1":                        2,
		"SLURM_GPUS_ON_NODE=x":                            1,
		"":                                                1,
	} {
		if got := gpus(supervise.Vars(strings.Fields(env))); got != want {
			t.Errorf("%s: %d, want %d", env, got, want)
		}
	}
}

func TestNeedsSrun(t *testing.T) {
	for env, want := range map[string]bool{
		"":               false,
		"SLURM_NNODES=1": false,
		"SLURM_NNODES=2": true,
		"SLURM_NNODES=2 SLURM_STEP_ID=4294967291":                     true,
		"SLURM_NNODES=2 SLURM_STEP_ID=0 SLURM_STEP_NODELIST=gpu[1-2]": false,
	} {
		if got := NeedsSrun(strings.Fields(env)); got != want {
			t.Errorf("%s: %v", env, got)
		}
	}
}

func TestFreePort(t *testing.T) {
	first, err := FreePort("42.0.1")
	if err != nil || first < lowestPort || first >= ephemeral() {
		t.Fatal(first, err)
	}
	if again, _ := FreePort("42.0.1"); again != first {
		t.Errorf("%d, then %d for the same run", first, again)
	}
	if other, _ := FreePort("42.1.1"); other == first {
		t.Errorf("%d in two runs", other)
	}
	l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(first))
	if err != nil {
		t.Skip("somebody took the port meanwhile")
	}
	defer l.Close()
	if other, err := FreePort("42.0.1"); err != nil || other == first {
		t.Errorf("%d, %v: it is taken", other, err)
	}
}

func FuzzNote(f *testing.F) {
	f.Add([]byte(`{"name":"gpu1","local":4,"master":"a","port":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var n note
		json.Unmarshal(data, &n)
		Node{Nodes: 1}.world([]note{n})
	})
}
