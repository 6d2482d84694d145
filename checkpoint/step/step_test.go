package step

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
	"github.com/sluice-hpc/sluice/checkpoint/tunnel"
)

// asPart makes this program a part of a step: serve, task, or the stand-in, whose nodes are in partNodes and kill in partKill.
const (
	asPart    = "SLUICE_TEST_STEP"
	partNodes = "SLUICE_TEST_NODES"
	partKill  = "SLUICE_TEST_KILL"
	partKey   = "SLUICE_TEST_KEY"
)

func TestMain(m *testing.M) {
	switch os.Getenv(asPart) {
	case "serve":
		os.Setenv(asPart, "task")
		l, err := net.Listen("tcp", os.Args[1])
		if err == nil {
			err = Serve(l, memory(), os.Args[0])
		}
		fmt.Println(err)
		os.Exit(1)
	case "task":
		var key *os.File
		if os.Getenv(partKey) != "" {
			key = os.NewFile(4, "key")
		}
		os.Exit(Task(os.NewFile(3, "step"), key, os.Environ()))
	case "run":
		c := Config{Argv: os.Args[1:], Env: os.Environ(), Kill: os.Getenv(partKill) != "", Stdout: os.Stdout, Stderr: os.Stderr, Nodes: strings.Split(os.Getenv(partNodes), ",")}
		if text := os.Getenv(partKey); text != "" {
			c.Key = &tunnel.Key{}
			copy(c.Key[:], text)
		}
		os.Exit(Run(c))
	}
	os.Exit(m.Run())
}

// memory is a file with the key of this part, if it has one.
func memory() *os.File {
	text := os.Getenv(partKey)
	if text == "" {
		return nil
	}
	var key tunnel.Key
	copy(key[:], text)
	file, err := confine.Memory("key", key[:])
	if err != nil {
		panic(err)
	}
	return file
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// site is so many nodes, all on this machine; the first has no server.
type site struct {
	*testing.T
	folder  string
	nodes   []string
	servers []*exec.Cmd
}

func newSite(t *testing.T, nodes int, more ...string) *site {
	t.Helper()
	s := &site{T: t, folder: t.TempDir(), nodes: []string{"127.0.0.1:1"}}
	for i := 1; i < nodes; i++ {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		at := l.Addr().String()
		must(t, l.Close())
		server := exec.Command(os.Args[0], at)
		server.Env = append([]string{asPart + "=serve", "PATH=" + os.Getenv("PATH"), fmt.Sprintf("SLURMD_NODENAME=gpu%d", i+1), fmt.Sprintf("CUDA_VISIBLE_DEVICES=%d", i)}, more...)
		server.Stderr = os.Stderr
		must(t, server.Start())
		t.Cleanup(func() { server.Process.Kill(); server.Wait() })
		s.nodes, s.servers = append(s.nodes, at), append(s.servers, server)
	}
	return s
}

// step starts a command on all nodes.
func (s *site) step(more []string, command string) (*exec.Cmd, *bytes.Buffer, *bytes.Buffer) {
	s.Helper()
	cmd := exec.Command(os.Args[0], "sh", "-c", command)
	cmd.Env = append([]string{asPart + "=run", partNodes + "=" + strings.Join(s.nodes, ","), "PATH=" + os.Getenv("PATH"), "SLURM_JOB_NODELIST=gpu[1-3]", "SLURMD_NODENAME=gpu1",
		"CUDA_VISIBLE_DEVICES=0", "SLURM_JOB_GPUS=7", "SLURM_NTASKS=9", "FOLDER=" + s.folder}, more...)
	cmd.Dir = s.folder
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, time.Second
	must(s.T, cmd.Start())
	s.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, &out, &errs
}

// comes waits for a file of the folder with a line.
func (s *site) comes(name, line string) {
	s.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if text, _ := os.ReadFile(filepath.Join(s.folder, name)); slices.Contains(strings.Split(string(text), "\n"), line) {
			return
		}
	}
	s.Fatalf("%s has no line %q in a minute", name, line)
}

// gone waits until a process whose number is in a file of the folder has ended.
func (s *site) gone(name string) {
	s.Helper()
	text, err := os.ReadFile(filepath.Join(s.folder, name))
	must(s.T, err)
	var pid int
	_, err = fmt.Sscan(string(text), &pid)
	must(s.T, err)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if syscall.Kill(pid, 0) != nil {
			return
		}
	}
	s.Errorf("process %d of %s still runs", pid, name)
}

// TestStep: a step starts one task on each node, in the same folder, with the step's variables and the node's own; all
// that they print comes out, and the largest exit code.
func TestStep(t *testing.T) {
	s := newSite(t, 3)
	cmd, out, errs := s.step(nil, `echo "task $SLURM_PROCID/$SLURM_NTASKS on $SLURMD_NODENAME node $SLURM_NODEID/$SLURM_STEP_NUM_NODES gpu $CUDA_VISIBLE_DEVICES/$SLURM_STEP_GPUS each $SLURM_STEP_TASKS_PER_NODE in $(basename "$PWD")"
echo "err $SLURM_PROCID" >&2; head -c 200000 /dev/zero | tr '\0' x; exit $((SLURM_PROCID * 3))`)
	err := cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 6 {
		t.Errorf("exit code %d (%v), want 6", code, err)
	}
	text := out.String()
	for i, gpu := range []string{"0/7", "1/", "2/"} {
		want := fmt.Sprintf("task %d/3 on gpu%d node %d/3 gpu %s each 1(x3) in %s\n", i, i+1, i, gpu, filepath.Base(s.folder))
		if !strings.Contains(text, want) || !strings.Contains(errs.String(), fmt.Sprintf("err %d\n", i)) {
			t.Errorf("no %q in %.2000s and %s", want, strings.ReplaceAll(text, "x", ""), errs)
		}
	}
	if n := strings.Count(text, "x"); n < 600_000 {
		t.Errorf("%d bytes of output came of 600000", n)
	}
}

// TestKeyedStep: on the network of the site a server starts tasks for who has the key, and for nobody else.
func TestKeyedStep(t *testing.T) {
	s := newSite(t, 2, partKey+"=the key of the servers")
	cmd, out, errs := s.step([]string{partKey + "=the key of the servers"}, `echo "task $SLURM_PROCID"; exit $((SLURM_PROCID * 3))`)
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 3 || !strings.Contains(out.String(), "task 0\n") || !strings.Contains(out.String(), "task 1\n") {
		t.Errorf("with the key: %v; %s%s", cmd.ProcessState, out, errs)
	}
	cmd, out, _ = s.step([]string{partKey + "=another one"}, `echo "$SLURM_PROCID" >"$FOLDER/ran.$SLURM_PROCID"`)
	if cmd.Wait(); cmd.ProcessState.ExitCode() == 0 {
		t.Errorf("with another key: %v; %s", cmd.ProcessState, out)
	}
	for _, name := range []string{"ran.plain", "ran.relayed"} {
		conn, err := net.Dial("tcp", s.nodes[1])
		must(t, err)
		defer conn.Close()
		must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
		if name == "ran.relayed" { // who has another side's answer to the challenge does not have the key
			challenge := make([]byte, challengeSize)
			_, err := io.ReadFull(conn, challenge)
			must(t, err)
			var key tunnel.Key
			copy(key[:], "the key of the servers")
			answer, err := answerTo(challenge, key)
			must(t, err)
			_, err = conn.Write(answer)
			must(t, err)
		}
		must(t, json.NewEncoder(conn).Encode(start{Argv: []string{"sh", "-c", "echo x >" + s.folder + "/" + name}, Dir: "/", Node: 1}))
		var said report
		if err := json.NewDecoder(conn).Decode(&said); err == nil {
			t.Errorf("without a key it answers %+v", said)
		}
	}
	for _, name := range []string{"ran.1", "ran.plain", "ran.relayed"} {
		if _, err := os.Stat(filepath.Join(s.folder, name)); err == nil {
			t.Errorf("%s: a task was started without the key", name)
		}
	}
}

// TestStrangersCostLittle: however many connect to a server without the key, no process starts for them, and who has it is served.
func TestStrangersCostLittle(t *testing.T) {
	const key = partKey + "=the key of the servers"
	s := newSite(t, 2, key)
	cmd, _, errs := s.step([]string{key}, "exit 0") // the server listens
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v; %s", err, errs)
	}
	for n := range 2 * maxTasks {
		conn, err := net.Dial("tcp", s.nodes[1])
		must(t, err)
		defer conn.Close()
		if n%2 == 0 {
			fmt.Fprint(conn, strings.Repeat("x", n%(2*challengeSize)))
		}
	}
	cmd, _, errs = s.step([]string{key}, "exit $((SLURM_PROCID * 3))")
	if cmd.Wait(); cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("beside strangers: %v; %s", cmd.ProcessState, errs)
	}
	pid := s.servers[0].Process.Pid
	children := func() string {
		all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
		var of string
		for _, name := range all {
			text, _ := os.ReadFile(name)
			of += string(text)
		}
		return of
	}
	for end := time.Now().Add(greetWithin / 2); children() != "" && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	}
	if of := children(); of != "" {
		t.Errorf("processes for strangers: %s", of)
	}
}

// TestBook: the stand-in finds the servers in the book, and those of the fences' own network where there is none.
func TestBook(t *testing.T) {
	folder := t.TempDir()
	servers, key, err := openBook(folder, 2)
	if err != nil || key != nil || !slices.Equal(servers, []string{"10.117.0.1:4711", "10.117.0.2:4711"}) {
		t.Errorf("without a book: %v %v %v", servers, key, err)
	}
	b := Book{Servers: []string{"", "192.0.2.7:4000"}, Key: tunnel.NewKey()}
	data, err := b.Data()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(folder, BookFile), data, 0o600))
	if servers, key, err = openBook(folder, 2); err != nil || *key != b.Key || !slices.Equal(servers, b.Servers) {
		t.Errorf("%v %v %v", servers, key, err)
	}
	for _, bad := range []struct {
		text  string
		nodes int
	}{{"{", 2}, {string(data), 3}, {`{"servers":["a","b"],"key":[1,2,"x"]}`, 2}} {
		must(t, os.WriteFile(filepath.Join(folder, BookFile), []byte(bad.text), 0o600))
		if _, _, err := openBook(folder, bad.nodes); err == nil || !strings.Contains(err.Error(), BookFile) {
			t.Errorf("%.40s: %v", bad.text, err)
		}
	}
}

// TestSignals: a signal that ends a job reaches all tasks, and another one the processes that handle it.
func TestSignals(t *testing.T) {
	s := newSite(t, 2)
	cmd, _, _ := s.step(nil, `cd "$FOLDER"; trap 'echo usr >>got.$SLURM_PROCID' USR1; trap 'echo term >>got.$SLURM_PROCID; exit 5' TERM
echo ready >>got.$SLURM_PROCID; while :; do sleep 0.05; done`)
	for _, want := range []struct {
		line string
		then syscall.Signal
	}{{"ready", syscall.SIGUSR1}, {"usr", syscall.SIGTERM}, {"term", 0}} {
		s.comes("got.0", want.line)
		s.comes("got.1", want.line)
		if want.then != 0 {
			must(t, cmd.Process.Signal(want.then))
		}
	}
	if cmd.Wait(); cmd.ProcessState.ExitCode() < 5 {
		t.Errorf("it ends with %v", cmd.ProcessState)
	}
}

// TestNothingIsLeft: what a task leaves running ends with it; all tasks end with the stand-in, and when a node is lost.
func TestNothingIsLeft(t *testing.T) {
	const command = `cd "$FOLDER"; (trap '' TERM HUP; setsid sh -c 'echo $$ >left.$SLURM_PROCID; exec sleep 600') & while [ ! -s left.$SLURM_PROCID ]; do sleep 0.01; done
echo ready >>ready.$SLURM_PROCID; `
	t.Run("a task ends", func(t *testing.T) {
		s := newSite(t, 2)
		cmd, _, _ := s.step(nil, command+"exit 0")
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
		s.gone("left.0")
		s.gone("left.1")
	})
	t.Run("the stand-in is killed", func(t *testing.T) {
		s := newSite(t, 2)
		cmd, _, _ := s.step(nil, command+"exec sleep 600")
		s.comes("ready.1", "ready")
		must(t, cmd.Process.Kill())
		s.gone("left.1")
		if text, err := os.ReadFile(filepath.Join(s.folder, "left.0")); err == nil {
			var pid int
			fmt.Sscan(string(text), &pid)
			syscall.Kill(pid, syscall.SIGKILL) // the fence ends it otherwise
		}
	})
	t.Run("a task's process is killed", func(t *testing.T) {
		s := newSite(t, 2)
		cmd, _, errs := s.step(nil, `cd "$FOLDER"; echo $PPID >parent.$SLURM_PROCID; echo ready >>ready.$SLURM_PROCID; exec sleep 600`)
		s.comes("ready.0", "ready")
		s.comes("ready.1", "ready")
		text, err := os.ReadFile(filepath.Join(s.folder, "parent.1"))
		must(t, err)
		var pid int
		fmt.Sscan(string(text), &pid)
		must(t, syscall.Kill(pid, syscall.SIGKILL))
		if cmd.Wait(); cmd.ProcessState.ExitCode() != 137 || !strings.Contains(errs.String(), "node 1") {
			t.Errorf("%v; %s", cmd.ProcessState, errs)
		}
	})
	t.Run("kill on a bad exit", func(t *testing.T) {
		s := newSite(t, 2)
		cmd, _, _ := s.step([]string{partKill + "=1"}, "[ $SLURM_PROCID = 0 ] && exec sleep 600; exit 3")
		if cmd.Wait(); cmd.ProcessState.ExitCode() != 137 {
			t.Errorf("%v", cmd.ProcessState)
		}
	})
}

// TestNoProgram: a command that does not exist is said by each node, and is srun's 127.
func TestNoProgram(t *testing.T) {
	s := newSite(t, 2)
	conn, err := net.Dial("tcp", s.nodes[1])
	for end := time.Now().Add(time.Minute); err != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		conn, err = net.Dial("tcp", s.nodes[1])
	}
	must(t, err)
	defer conn.Close()
	must(t, json.NewEncoder(conn).Encode(start{Argv: []string{"no-such-program"}, Dir: "/", Node: 1}))
	var said report
	must(t, json.NewDecoder(conn).Decode(&said))
	if said.Why == "" || said.Exit == nil || said.Exit.Code != startCode {
		t.Errorf("%+v", said)
	}
}

// TestEnvironment: the variables of a node replace those of the first, and are left out where it has none.
func TestEnvironment(t *testing.T) {
	env := onNode(shared([]string{"A=1", "SLURM_NTASKS=8", "CUDA_VISIBLE_DEVICES=0,1", "SLURM_STEP_GPUS=0,1", "SLURM_JOB_NODELIST=a,b"}, 2, "17"), []string{"CUDA_VISIBLE_DEVICES=3", "A=2", "SECRET=1"}, 1)
	vars := supervise.Vars(env)
	for name, want := range map[string]string{"A": "1", "SLURM_NTASKS": "2", "SLURM_PROCID": "1", "CUDA_VISIBLE_DEVICES": "3", "SLURM_STEP_GPUS": "", "SECRET": "", "SLURM_STEP_ID": "17", "SLURM_STEP_NODELIST": "a,b"} {
		if vars[name] != want {
			t.Errorf("%s=%q, want %q", name, vars[name], want)
		}
	}
	if len(vars) != len(env) {
		t.Errorf("a variable is set twice: %q", env)
	}
	if early, late := stepID(time.Unix(10, 0)), stepID(time.Unix(10, 1000)); early >= late {
		t.Errorf("steps %s and %s", early, late)
	}
}
