package ranks

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// gangStep begins a gang on nodes with so many GPUs: the workers' script, then
// NAME=COUNT and a script for each other kind.
func gangStep(t *testing.T, dir string, counts []int, worker string, others ...string) (nodes []*node) {
	t.Helper()
	for id := range counts {
		nodes = append(nodes, beginGang(t, step(dir, id, counts...), worker, others...))
	}
	return nodes
}

func beginGang(t *testing.T, env []string, worker string, others ...string) *node {
	t.Helper()
	args := []string{"bash", "-c", worker}
	for i := 0; i < len(others); i += 2 {
		args = append(args, AndWord, others[i], "bash", "-c", others[i+1])
	}
	return beginArgs(t, env, args...)
}

func beginArgs(t *testing.T, env []string, args ...string) *node {
	t.Helper()
	n := &node{Cmd: exec.Command(os.Args[0], args...)}
	n.Env = append([]string{asRanks + "=0", "PATH=" + os.Getenv("PATH")}, env...)
	n.Stdout, n.Stderr = &n.out, &n.errs
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Process.Kill() })
	return n
}

// forever serves until it gets SIGTERM, and records that in the file.
func forever(file string) string {
	return `trap 'echo "$SLUICE_TASK $SLUICE_TASK_ID ended" >>` + file + `; exit 0' TERM; echo "$SLUICE_TASK $SLUICE_TASK_ID up" >>` + file + `; while :; do sleep 0.01; done`
}

const tellTask = `echo "$SLUICE_TASK $SLUICE_TASK_ID/$SLUICE_TASK_COUNT omp $OMP_NUM_THREADS rank ${RANK-none}/${WORLD_SIZE-none} ${LOCAL_RANK-none} ${NODE_RANK-none} gpus ${CUDA_VISIBLE_DEVICES-any}|${ROCR_VISIBLE_DEVICES-any}|${HIP_VISIBLE_DEVICES-any} $MASTER_ADDR"`

// TestGangOnOneNode: who is told what, without a job's folder.
func TestGangOnOneNode(t *testing.T) {
	n := beginGang(t, []string{"SLURM_GPUS_ON_NODE=2", "SLURM_CPUS_ON_NODE=12", "CUDA_VISIBLE_DEVICES=4,5", "RANK=9", "GROUP_RANK=1", "TMPDIR=" + t.TempDir()},
		tellTask+`; cp $SLUICE_GANG $TMPDIR/copy.$RANK; echo "file $SLUICE_GANG"; touch $TMPDIR/copied.$RANK; until [ -e $TMPDIR/go ]; do sleep 0.01; done`, "ps=1", tellTask+`; touch $TMPDIR/done.ps`,
		"actor=1/gpu", tellTask+`; env | grep -c '^[A-Z_]*RANK='; touch $TMPDIR/done.$SLUICE_TASK_ID`)
	tmp := n.Env[len(n.Env)-1][len("TMPDIR="):]
	until(t, "all have spoken", func() bool {
		done, _ := filepath.Glob(tmp + "/done.*")
		return len(done) == 3 && exists(tmp+"/copied.0")
	})
	whoIsWho(t, tmp+"/copy.0", map[string][]string{"worker": {"testhost", "testhost"}, "ps": {"testhost"}, "actor": {"testhost", "testhost"}})
	if err := os.WriteFile(tmp+"/go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	n.exits(t, 0)
	got := lines(n.out.String())
	file := ""
	got = slices.DeleteFunc(got, func(l string) bool {
		if f, ok := strings.CutPrefix(l, "file "); ok {
			file = f
			return true
		}
		return false
	})
	none := " omp 2 rank none/none none none gpus ||-1 127.0.0.1"
	want := []string{"0", "0", "actor 0/2" + none, "actor 1/2" + none, "ps 0/1" + none,
		"worker 0/2 omp 2 rank 0/2 0 0 gpus 4,5|any|any 127.0.0.1", "worker 1/2 omp 2 rank 1/2 1 0 gpus 4,5|any|any 127.0.0.1"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if filepath.Dir(file) != tmp {
		t.Errorf("the file is %s", file)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the file is left")
	}
}

// whoIsWho checks a file that SLUICE_GANG names: the nodes of each kind's tasks, and that
// all have ports of their own, which are theirs to take.
func whoIsWho(t *testing.T, path string, want map[string][]string) {
	t.Helper()
	var told gangFile
	if err := json.Unmarshal([]byte(slurp(path)), &told); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	got, ports := map[string][]string{}, map[int]bool{}
	for kind, tasks := range told.Kinds {
		for i, task := range tasks {
			if task.ID != i || task.Address != "127.0.0.1" || task.Port < lowestPort || ports[task.Port] || !Free(task.Port) {
				t.Errorf("%s: %+v", kind, task)
			}
			ports[task.Port] = true
			got[kind] = append(got[kind], task.Node)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("told %v, want %v", got, want)
	}
}

// TestGangOnUnevenNodes: kinds are counted by nodes, GPUs and the job; all nodes tell the
// same of all; the others are ended once the workers of all nodes have ended.
func TestGangOnUnevenNodes(t *testing.T) {
	dir := t.TempDir()
	story := dir + "/story"
	nodes := gangStep(t, dir, []int{2, 1}, `cp $SLUICE_GANG `+dir+`/copy.$RANK; until [ "$(grep -c up `+story+`)" = 7 ]; do sleep 0.01; done
		[ $RANK = 2 ] && sleep 1; grep -c ended `+story+`; true`,
		"ps=2", forever(story), "actor=1/gpu", forever(story), "loader=1/node", forever(story))
	for _, n := range nodes {
		n.exits(t, 0)
		if strings.Trim(n.out.String(), "0\n") != "" || strings.Contains(n.errs.String(), "sluice") {
			t.Errorf("something ended before the workers: %q; errors %q", n.out.String(), n.errs.String())
		}
	}
	var want []string
	for _, task := range []string{"ps 0", "ps 1", "actor 0", "actor 1", "actor 2", "loader 0", "loader 1"} {
		want = append(want, task+" up", task+" ended")
	}
	slices.Sort(want)
	if got := lines(slurp(story)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	for rank := range 3 {
		whoIsWho(t, fmt.Sprint(dir, "/copy.", rank), map[string][]string{"worker": {"gpu1", "gpu1", "gpu2"}, "ps": {"gpu1", "gpu2"},
			"actor": {"gpu1", "gpu1", "gpu2"}, "loader": {"gpu1", "gpu2"}})
	}
	if left, _ := filepath.Glob(dir + "/ranks/2.4/*.gang"); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// TestGangAllOrNone: where one node cannot start a kind nothing starts on any, and all
// say why; the runner hears it.
func TestGangAllOrNone(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		worker, ps string // programs on the second node
		want       string
	}{
		"no such program":    {"bash", "no-such-program", `node gpu2 cannot start ps: exec: "no-such-program": executable file not found in $PATH. Nothing was started on any node`},
		"not executable":     {"bash", text, `node gpu2 cannot start ps: exec: "` + text + `": permission denied. Nothing was started on any node`},
		"no worker":          {"/no/such/train", "bash", `node gpu2 cannot start worker: exec: "/no/such/train": stat /no/such/train: no such file or directory. Nothing was started on any node`},
		"worker and another": {"./no-worker", "./no-ps", `node gpu2 cannot start worker: exec: "./no-worker": `},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			touch := "touch " + dir + "/started"
			first := beginGang(t, step(dir, 0, 1, 1), touch, "ps=2", touch)
			second := beginArgs(t, step(dir, 1, 1, 1), c.worker, "-c", touch, AndWord, "ps=2", c.ps, "-c", touch)
			for _, n := range []*node{first, second} {
				n.exits(t, startCode)
				if !strings.Contains(n.errs.String(), c.want) {
					t.Errorf("says %q, want %q", n.errs.String(), c.want)
				}
			}
			if _, err := os.Stat(dir + "/started"); err == nil {
				t.Error("something was started")
			}
			wantEnded(t, what, dir)
			_, why, _ := strings.Cut(strings.TrimSuffix(c.want, ". Nothing was started on any node"), ": ")
			task := "ps 1"
			if c.worker != "bash" {
				task = "rank 1"
			}
			if f, failed := FirstFailure(dir); !failed || !strings.HasPrefix(f.String(), task+" on node gpu2 could not be started: "+why) {
				t.Errorf("told: %v", f)
			}
		})
	}
}

// TestGangStartFails: a program that is found and cannot be started takes those with it
// that were.
func TestGangStartFails(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.sh")
	writeScript(t, bad, "#!/no/such/interpreter\n")
	up := `echo $$ >>` + dir + `/pids; trap "" TERM; while :; do sleep 0.01; done`
	first := beginArgs(t, step(dir, 0, 1, 1), "bash", "-c", up, AndWord, "ps=1/node", "bash", "-c", up, AndWord, "bad=1", bad)
	second := beginArgs(t, step(dir, 1, 1, 1), "bash", "-c", up, AndWord, "ps=1/node", "bash", "-c", up, AndWord, "bad=1", bad)
	first.exits(t, startCode)
	second.exits(t, startCode)
	for _, pid := range strings.Fields(slurp(dir + "/pids")) {
		if !gone(pid) {
			t.Errorf("process %s is left", pid)
		}
	}
	if f, failed := FirstFailure(dir); !failed || !strings.HasPrefix(f.String(), "bad 0 on node gpu1 could not be started: ") {
		t.Errorf("told: %v", f)
	}
}

// writeScript writes a program. No other test may fork meanwhile: it would hold the file
// open for writing, and the kernel start no such file.
func writeScript(t *testing.T, path, text string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestGangFails: whichever kind fails, all end on all nodes with its exit code.
func TestGangFails(t *testing.T) {
	stay := `trap "" TERM; while :; do sleep 0.01; done`
	for what, c := range map[string]struct{ worker, ps, said, told string }{
		"a task beside the workers": {stay, `[ $SLUICE_TASK_ID = 1 ] && exit 7; ` + stay, "ps 1 of 2 failed (exit code 7)", "ps 1 on node gpu2 failed first (exit code 7)"},
		"a worker":                  {`[ $RANK = 1 ] && exit 7; ` + stay, stay, "rank 1 of 2 failed (exit code 7)", "rank 1 on node gpu2 failed first (exit code 7)"},
	} {
		t.Run(what, func(t *testing.T) {
			dir := t.TempDir()
			nodes := gangStep(t, dir, []int{1, 1}, c.worker, "ps=2", c.ps)
			for _, n := range nodes {
				n.exits(t, 7)
			}
			if !strings.Contains(nodes[1].errs.String(), c.said) {
				t.Errorf("says %q", nodes[1].errs.String())
			}
			if f, failed := FirstFailure(dir); !failed || f.String() != c.told {
				t.Errorf("told: %v", f)
			}
			wantEnded(t, what, dir)
		})
	}
}

// TestGangEndsEarly: a task beside the workers may be done before them, and may be killed
// after them.
func TestGangEndsEarly(t *testing.T) {
	dir := t.TempDir()
	nodes := gangStep(t, dir, []int{1, 1}, `until [ "$(grep -c up `+dir+`/story)" = 4 ]; do sleep 0.01; done; sleep 0.2`,
		"early=2", `echo up >>`+dir+`/story; exit 0`, "deaf=2", `trap "" TERM; echo up >>`+dir+`/story; while :; do sleep 0.01; done`)
	for _, n := range nodes {
		n.exits(t, 0)
	}
	// One that dies of being told to end is no failure, either.
	gang := beginGang(t, nil, `until [ -e `+dir+`/up ]; do sleep 0.01; done`, "ps=1", `touch `+dir+`/up; exec sleep 1000`)
	gang.exits(t, 0)
	if said := gang.errs.String(); said != "" {
		t.Errorf("says %q", said)
	}
}

// TestGangIsStopped: a stop reaches every kind; one that does not listen does not outlive
// workers that saved, whose exit code counts.
func TestGangIsStopped(t *testing.T) {
	for code, worker := range map[int]string{0: "exit 0", 5: "exit 5"} {
		dir := t.TempDir()
		story := dir + "/story"
		nodes := gangStep(t, dir, []int{1, 1}, `trap "sleep 0.2; echo saved >>`+story+`; `+worker+`" TERM; echo up >>`+story+`; while :; do sleep 0.01; done`,
			"ps=2", `trap "echo told >>`+story+`" TERM USR1; echo up >>`+story+`; while :; do sleep 0.01; done`,
			"other=1/node", `echo up >>`+story+`; exec sleep 1000`)
		count := func(word string) int { return strings.Count(slurp(story), word+"\n") }
		until(t, "all are up", func() bool { return count("up") == 6 })
		nodes[0].Process.Signal(syscall.SIGUSR1)
		until(t, "one is told", func() bool { return count("told") >= 1 })
		for _, n := range nodes {
			n.Process.Signal(syscall.SIGTERM)
		}
		for _, n := range nodes {
			n.exits(t, code)
			if strings.Contains(n.errs.String(), "sluice") {
				t.Errorf("being stopped is no failure: %q", n.errs.String())
			}
		}
		if count("saved") != 2 || count("told") < 3 {
			t.Errorf("%q", slurp(story))
		}
	}
}

// TestGangThatCannotSay: a node that cannot report the end of its workers to the others
// tries again, and fails in the end.
func TestGangThatCannotSay(t *testing.T) {
	dir := t.TempDir()
	blocked := filepath.Join(dir, Folder, "2.4", endedFile(1), "full")
	nodes := gangStep(t, dir, []int{1, 1}, `[ $RANK = 0 ] && exit 0; mkdir -p `+blocked, "ps=1", `exec sleep 1000`)
	until(t, "it is blocked", func() bool { return exists(blocked) })
	time.Sleep(200 * time.Millisecond)
	if err := os.RemoveAll(filepath.Dir(blocked)); err != nil {
		t.Fatal(err)
	}
	for _, n := range nodes {
		n.exits(t, 0)
	}
	if info, err := os.Stat(filepath.Dir(blocked)); err != nil || !info.Mode().IsRegular() {
		t.Errorf("it never said so: %v", err)
	}
	if said := nodes[1].errs.String(); strings.Count(said, "telling the other nodes that the workers here have ended:") != 1 {
		t.Errorf("says %q", said)
	}
	left := &team{node: Node{Nodes: 2, Meeting: "2.4", JobDir: filepath.Join(dir, "none")}, world: World{Gang: []Group{{Kind: Worker}}}, left: 1}
	for try := range maxTries {
		if over := try == maxTries-1; !left.mute() || left.part() != over || (left.code == startCode) != over {
			t.Fatalf("try %d: exit code %d", try, left.code)
		}
	}
	if left.mute() || left.part() {
		t.Error("it still tries")
	}
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// TestGangsDiffer: nodes with different commands do not start.
func TestGangsDiffer(t *testing.T) {
	dir := t.TempDir()
	first, second := beginGang(t, step(dir, 0, 1, 1), "true", "ps=1", "true"), beginGang(t, step(dir, 1, 1, 1), "true", "ps=1/node", "true")
	for _, n := range []*node{first, second} {
		n.exits(t, startCode)
		if !strings.Contains(n.errs.String(), "different kinds of tasks") {
			t.Errorf("says %q", n.errs.String())
		}
	}
}

// TestPortsAreHeld: until they are released no other process can bind them, not even on
// the same machine, and no connection is accepted on them.
func TestPortsAreHeld(t *testing.T) {
	a, err := hold(20, "seed")
	if err != nil {
		t.Fatal(err)
	}
	b, err := hold(20, "seed")
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Sorted(slices.Values(append(slices.Clone(a.ports), b.ports...)))
	if len(slices.Compact(all)) != 40 {
		t.Errorf("%v and %v", a.ports, b.ports)
	}
	for _, port := range a.ports {
		if Free(port) {
			t.Errorf("port %d is free", port)
		}
	}
	a.release()
	b.release()
	free := 0
	for _, port := range all {
		if Free(port) {
			free++
		}
	}
	if free == 0 {
		t.Error("none was let go")
	}
	if _, err := hold(maxTasks+1, "seed"); err == nil {
		t.Error("too many")
	}
}

// FuzzGangNote: whatever a note says, nothing but sound gangs come of it.
func FuzzGangNote(f *testing.F) {
	f.Add([]byte(`{"name":"gpu1","local":1,"master":"a","port":1,"gang":{"address":"a","kinds":[{"name":"worker","ports":[1]},{"name":"ps","count":"2","ports":[2]}]}}`))
	f.Add([]byte(`{"name":"gpu1","local":1,"gang":{"kinds":[{"name":"worker","ports":[]},{"name":"ps","count":"2"}],"lack":{"kind":"ps","why":"so"}}}`))
	own := note{Name: "gpu0", Local: 1, Master: "a", Port: 1, Gang: &gangNote{Address: "b", Kinds: []kindNote{{Name: Worker, Ports: []int{5}}, {Name: "ps", Count: "2", Ports: []int{7}}}}}
	f.Fuzz(func(t *testing.T, data []byte) {
		var n note
		if json.Unmarshal(data, &n) != nil || n.Gang != nil && !n.Gang.sound(n.Local) {
			return
		}
		w, err := Node{Nodes: 2}.world([]note{own, n})
		if err == nil && (len(w.Gang) != 2 || w.Gang[0].First != 0 || len(w.Gang[0].Tasks) != 1+n.Local) {
			t.Fatalf("%s: %+v", data, w.Gang)
		}
		Node{ID: 1, Nodes: 2}.world([]note{own, n})
	})
}
