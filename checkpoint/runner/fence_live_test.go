package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/gate"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
)

// ordinary is the uid of confined jobs if the test is root: that of `nobody`.
const ordinary = 65534

// asTrial makes this program say whether the machine can build a fence.
const asTrial = "SLUICE_TEST_TRY_FENCE"

func tryFence() int {
	if err := confine.Possible(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// runInside is what this program does inside of a fence, as sluice.
func runInside(args []string) int {
	c := ranks.Config{Env: os.Environ(), Host: "confined", Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	args = args[1:]
	if args[0] == "--torchrun" {
		c.Torchrun, args = true, args[1:]
	}
	c.Argv = args[1:]
	return ranks.Run(c)
}

// asOrdinary makes a command run as an ordinary user.
func asOrdinary(cmd *exec.Cmd) {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	}
}

// needsFence skips a test where no fence can be built.
func needsFence(t *testing.T, program string) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env, cmd.Dir = []string{asTrial + "=1"}, "/"
	asOrdinary(cmd)
	if said, err := cmd.CombinedOutput(); err != nil {
		if os.Getenv("SLUICE_REQUIRE_LAB") == "1" {
			t.Fatalf("%v: %s", err, said)
		}
		t.Skipf("NOT TESTED in a fence: %s", said)
	}
}

// caged is a confined job.
type caged struct {
	*live
	base, vault, program string
	fence                confine.Fence
	env                  []string
}

// newCaged makes the folders of a confined job as sluice-vaultd does. files are the user's
// code.
func newCaged(t *testing.T, script string, files map[string]string) *caged {
	t.Helper()
	base := t.TempDir()
	must(t, os.Chmod(filepath.Dir(base), 0o755))
	program := filepath.Join(base, "program")
	data, err := os.ReadFile(os.Args[0])
	must(t, err)
	must(t, os.WriteFile(program, data, 0o755))
	needsFence(t, program)
	c := &caged{live: newJobIn(t, base, script), base: base, vault: filepath.Join(base, "vault"), program: program}
	job := filepath.Join(c.vault, "jobs", token)
	c.fence = confine.Fence{Version: confine.Version, Inner: filepath.Join(job, "inner"), Code: filepath.Join(job, "code"), Output: filepath.Join(job, "out"),
		Data:    map[string]string{"mammo": filepath.Join(base, "mammo")},
		System:  []string{"/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc/alternatives", "/etc/ld.so.cache"},
		Numbers: 4000, Log: 100_000, Environment: []string{"LANG", "OMP_NUM_THREADS"}}
	for _, dir := range []string{c.fence.Inner, c.fence.Code, c.fence.Output, c.fence.Data["mammo"]} {
		must(t, os.MkdirAll(dir, 0o700))
	}
	must(t, os.WriteFile(filepath.Join(c.fence.Data["mammo"], "secret.txt"), []byte("the data\n"), 0o600))
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(c.fence.Code, name), []byte(text), 0o600))
	}
	c.inner, c.uid = c.fence.Inner, uint32(os.Getuid())
	c.out = filepath.Join(c.vault, "log")
	if os.Getuid() == 0 {
		c.uid = ordinary
		for _, tree := range []string{c.vault, c.fence.Data["mammo"], c.dir} {
			must(t, filepath.Walk(tree, func(p string, _ os.FileInfo, err error) error {
				if err != nil {
					return err
				}
				return os.Lchown(p, ordinary, ordinary)
			}))
		}
	}
	return c
}

// start starts a run of the job.
func (c *caged) start(args ...string) *caged {
	c.Helper()
	c.config.Fence = filepath.Join(c.base, confine.FenceFile)
	data, err := json.Marshal(c.fence)
	must(c, err)
	must(c, os.WriteFile(c.config.Fence, data, 0o644))
	config, err := json.Marshal(c.config)
	must(c, err)
	c.cmd = exec.Command(c.program, append([]string{filepath.Join(c.dir, "script")}, args...)...)
	c.cmd.Env = append([]string{asRunner + "=" + string(config), "PATH=" + os.Getenv("PATH"), "SLURM_JOB_ID=42", "SECRET_OF_THE_NODE=1", "SLURM_JOB_GPUS=0", "SLUICE_GPU_FILES=" + filepath.Join(c.vault, "record.jsonl"),
		fmt.Sprintf("SLURM_RESTART_COUNT=%d", c.restarts), "SLURM_JOB_NODELIST=gpu1", "SLURM_JOB_NUM_NODES=1", "SLURM_NNODES=1", "SLURM_GPUS_ON_NODE=2"}, c.env...)
	c.cmd.Dir = "/"
	log := appending(c, c.out)
	must(c, log.Chown(int(c.uid), -1))
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.errs = c.out
	asOrdinary(c.cmd)
	must(c, c.cmd.Start())
	done := make(chan struct{})
	c.done = done
	cmd := c.cmd
	go func() { cmd.Wait(); close(done) }() // ends with the runner, which the test ends
	c.Cleanup(func() { cmd.Process.Kill(); <-done })
	return c
}

// outside are things outside of a fence that a program inside must not reach.
type outside struct {
	Port      int      `json:"port"`
	Addresses []string `json:"addresses"`
	Abstract  string   `json:"abstract"`
	Socket    string   `json:"socket"`
	Folder    string   `json:"folder"`
	Vault     string   `json:"vault"`
	Jobs      string   `json:"jobs"`
	Marker    string   `json:"marker"`
	PID       int      `json:"pid"`
	Name      string   `json:"name"`
	Key       int      `json:"key"`
	Shown     string   `json:"shown"`
	Watched   string   `json:"watched"`
	Pipe      string   `json:"pipe"`
	Server    string   `json:"server"`
	got       chan string
}

// listen sets them up; whatever reaches one of them is sent to got.
func (c *caged) listen() *outside {
	o := &outside{Abstract: fmt.Sprintf("sluice-test-%d", os.Getpid()), Folder: c.base, Vault: c.vault, Jobs: filepath.Dir(c.dir), PID: os.Getpid(),
		Name: fmt.Sprintf("sluice-test-%d", os.Getpid()), Key: 0x51000000 + os.Getpid(), Marker: os.Args[0],
		Shown: "/usr/bin/true", Watched: "/usr/lib/os-release", got: make(chan string, 100)}
	accept := func(what string, l net.Listener, err error) {
		must(c, err)
		c.Cleanup(func() { l.Close() })
		go func() { // ends when the listener is closed
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				conn.Close()
				o.got <- what
			}
		}()
	}
	l, err := net.Listen("tcp", ":0")
	accept("tcp", l, err)
	o.Port = l.Addr().(*net.TCPAddr).Port
	packets, err := net.ListenPacket("udp", fmt.Sprintf(":%d", o.Port))
	must(c, err)
	c.Cleanup(func() { packets.Close() })
	go func() { // ends when the socket is closed
		for buffer := make([]byte, 100); ; {
			if _, _, err := packets.ReadFrom(buffer); err != nil {
				return
			}
			o.got <- "udp"
		}
	}()
	addresses, _ := net.InterfaceAddrs()
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil {
			o.Addresses = append(o.Addresses, ip.IP.String())
		}
	}
	l, err = net.Listen("unix", "@"+o.Abstract)
	accept("abstract socket", l, err)
	o.Socket = filepath.Join(c.base, "socket")
	l, err = net.Listen("unix", o.Socket)
	accept("unix socket", l, err)
	must(c, os.Chmod(o.Socket, 0o777))
	c.software(o)
	for _, dir := range []string{"/dev/shm", "/tmp", "/var/tmp"} {
		name := filepath.Join(dir, o.Name)
		must(c, os.WriteFile(name, []byte("outside"), 0o666))
		c.Cleanup(func() { os.Remove(name) })
	}
	c.systemV(o)
	return o
}

// software makes a folder of the site's with a named pipe and a socket that another user made. It is not below /tmp,
// which a program has its own of.
func (c *caged) software(o *outside) {
	home, _ := os.UserHomeDir()
	var dir string
	var err error
	for _, above := range []string{"/srv", "/opt", home} {
		if dir, err = os.MkdirTemp(above, "sluice-test-"); err == nil {
			break
		}
	}
	must(c, err)
	c.Cleanup(func() { os.RemoveAll(dir) })
	must(c, os.Chmod(dir, 0o755))
	c.fence.Software = []string{dir}
	o.Pipe, o.Server = filepath.Join(dir, "pipe"), filepath.Join(dir, "server")
	must(c, unix.Mkfifo(o.Pipe, 0o666))
	must(c, os.Chmod(o.Pipe, 0o666))
	reader, err := os.OpenFile(o.Pipe, os.O_RDONLY|unix.O_NONBLOCK, 0)
	must(c, err)
	c.Cleanup(func() { reader.Close() })
	l, err := net.Listen("unix", o.Server) // a connection that waits is open, too
	must(c, err)
	c.Cleanup(func() { l.Close() })
	must(c, os.Chmod(o.Server, 0o777))
}

// systemV makes a shared memory segment, a semaphore, a queue, and a POSIX queue outside.
func (c *caged) systemV(o *outside) {
	const create = 0o1666
	segment, _, failed := unix.Syscall(unix.SYS_SHMGET, uintptr(o.Key), 4096, create)
	if failed != 0 {
		c.Fatalf("shmget: %v", failed)
	}
	semaphore, _, _ := unix.Syscall(unix.SYS_SEMGET, uintptr(o.Key), 1, create)
	queue, _, _ := unix.Syscall(unix.SYS_MSGGET, uintptr(o.Key), create, 0)
	name, err := unix.BytePtrFromString(o.Name)
	must(c, err)
	fd, _, failed := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_RDWR, 0o666, 0, 0, 0)
	if failed != 0 {
		c.Fatalf("mq_open: %v", failed)
	}
	c.Cleanup(func() {
		unix.Syscall(unix.SYS_SHMCTL, segment, unix.IPC_RMID, 0)
		unix.Syscall(unix.SYS_SEMCTL, semaphore, 0, unix.IPC_RMID)
		unix.Syscall(unix.SYS_MSGCTL, queue, unix.IPC_RMID, 0)
		unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(name)), 0, 0)
		unix.Close(int(fd))
	})
}

// watch looks from outside, as any user of the node can, for what the program does inside.
func (c *caged) watch(o *outside) func() map[string]bool {
	seen := map[string]bool{}
	events, err := unix.InotifyInit1(unix.IN_NONBLOCK)
	must(c, err)
	c.Cleanup(func() { unix.Close(events) })
	_, err = unix.InotifyAddWatch(events, o.Watched, unix.IN_OPEN)
	must(c, err)
	shown, err := os.Open(o.Shown)
	must(c, err)
	c.Cleanup(func() { shown.Close() })
	return func() map[string]bool {
		lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, l := range lines {
			seen["command_line"] = seen["command_line"] || strings.Contains(slurp(l), o.Name+"-in-a-command-line")
		}
		if unix.Flock(int(shown.Fd()), unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK {
			seen["file_lock"] = true
		} else {
			unix.Flock(int(shown.Fd()), unix.LOCK_UN)
		}
		if n, _ := unix.Read(events, make([]byte, 4096)); n > 0 {
			seen["file_events"] = true
		}
		return seen
	}
}

// way is one way out that testdata/hostile.py tries, with what the issue calls it.
type way struct{ name, what string }

var waysOut = []way{
	{"tcp", "TCP to a listener on this node"},
	{"tcp6", "the same by IPv6"},
	{"udp", "UDP to this node"},
	{"network", "TCP to the node's addresses and to others"},
	{"udp_broadcast", "UDP broadcast"},
	{"dns", "a name looked up"},
	{"raw_sockets", "raw sockets"},
	{"other_sockets", "packet, vsock, crypto, RDS, TIPC, Bluetooth, CAN, XDP sockets"},
	{"netlink", "netlink but for routes"},
	{"abstract_socket", "an abstract Unix socket"},
	{"unix_socket", "a Unix socket in a folder that all may open"},
	{"daemons", "the sockets of munge, D-Bus, systemd, syslog, sluice, Docker"},
	{"write_outside", "files in 24 places but its own"},
	{"read_vault", "the vault, other jobs, homes, /run, /sys"},
	{"data_moves", "hard links, renames, modes, attributes, times of the data"},
	{"processes", "/proc of others"},
	{"vault_in_proc", "what bubblewrap was told"},
	{"descriptors", "descriptors left open by the runner"},
	{"log_file", "the log as a file"},
	{"kill_outside", "signals to a process outside"},
	{"ptrace", "ptrace"},
	{"process_memory", "process_vm_readv, process_vm_writev, pidfd_getfd"},
	{"first_process", "memory and files of bubblewrap's process inside"},
	{"listeners", "filters of its own that take the notices of denied calls"},
	{"keyrings", "keyrings"},
	{"bpf", "bpf"},
	{"userfaultfd", "userfaultfd"},
	{"io_uring", "io_uring"},
	{"perf", "perf_event_open"},
	{"mounts", "mounts, old and new calls"},
	{"roots", "chroot, pivot_root, file handles"},
	{"namespaces", "new namespaces by unshare, clone, clone3, setns"},
	{"become_root", "setuid, setgid, setgroups"},
	{"setuid_programs", "setuid programs and capabilities"},
	{"core_dumps", "core dumps"},
	{"message_queue", "a POSIX message queue"},
	{"system_v", "System V memory, semaphores, queues"},
	{"shared_memory", "files in /dev/shm, /tmp, /var/tmp"},
	{"slurm", "14 commands of Slurm and munge, by name and by path"},
	{"later", "at, batch, crontab, mail, wall"},
	{"slurm_configuration", "Slurm's configuration and munge's key"},
	{"terminals", "input into a terminal"},
	{"devices", "devices"},
	{"kernel_settings", "settings of the kernel, its clock and log"},
	{"environment", "the node's variables"},
	{"other_tables", "calls of 32-bit programs and of x32"},
	{"command_line", "a command line that others of the node read"},
	{"software_pipe", "a named pipe that another user made below the software"},
	{"software_socket", "a Unix socket that another user made below the software"},
	{"file_lock", "a lock on a system file"},
	{"file_events", "a system file opened, which others watch"},
}

// openWays are those that a fence cannot close, and what a site does about it.
var openWays = map[string]string{
	"command_line":    "give confined jobs nodes of their own (sluice data add --nodes FEATURE), or mount /proc with hidepid=2",
	"software_socket": "list only folders in which root alone can write; sluice doctor names others",
	"file_lock":       "give confined jobs nodes of their own (sluice data add --nodes FEATURE), and mount network file systems with local locks",
	"file_events":     "give confined jobs nodes of their own (sluice data add --nodes FEATURE)",
}

func TestHostileProgram(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("NOT TESTED: a hostile program in a fence; it calls the kernel by amd64's numbers")
	}
	hostile, err := os.ReadFile("testdata/hostile.py")
	must(t, err)
	c := newCaged(t, "exec python3 hostile.py\n", map[string]string{"hostile.py": string(hostile)})
	o := c.listen()
	where, err := json.Marshal(o)
	must(t, err)
	name := filepath.Join(c.fence.Code, "outside.json")
	must(t, os.WriteFile(name, where, 0o600))
	must(t, os.Chown(name, int(c.uid), -1))
	c.start()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what it wrote:\n%s", slurp(filepath.Join(c.inner, "outcomes")))
		}
	})
	seen := c.watch(o)
	c.until("the program ends", func() bool {
		seen()
		select {
		case <-c.done:
			return true
		default:
			return false
		}
	})
	c.exits(1)
	outcomes := map[string][2]string{}
	for line := range strings.Lines(slurp(filepath.Join(c.inner, "outcomes"))) {
		var row struct{ Way, Outcome, Detail string }
		must(t, json.Unmarshal([]byte(line), &row))
		outcomes[row.Way] = [2]string{row.Outcome, row.Detail}
	}
	for name, is := range seen() {
		if is {
			outcomes[name] = [2]string{"open", "seen from outside"}
		}
	}
	known := maps.Clone(openWays)
	if !confine.LocksDown() {
		known["software_pipe"] = known["software_socket"]
	}
	report(t, "program", waysOut, known, outcomes)
	c.told(toldOfHostile)
	close(o.got)
	for what := range o.got {
		t.Errorf("something came out by %s", what)
	}
	word, _, err := c.mail.Runner(token, c.uid)
	must(t, err)
	if word.Exit == nil || word.Exit.Code != 1 || word.Exit.Signal != "" {
		t.Errorf("exit %+v leaves, want code 1", word.Exit)
	}
	if log := slurp(c.out); !strings.Contains(log, "the program ends") {
		t.Errorf("the output is not in the log: %s", log)
	}
}

// TestResizeInAFence: the program is asked to save, saves, is stopped, and resumes in the
// next run; sluiced sees other names of its checkpoints.
func TestResizeInAFence(t *testing.T) {
	c := newCaged(t, `trap 'say stopped; exit 0' TERM
say "run $SLUICE_RESTARTS from ${SLUICE_RESUME:-zero} data $(cat "$SLUICE_DATA/mammo/secret.txt") in $PWD"
echo '{"time":1800000000.5,"restarts":'$SLUICE_RESTARTS',"event":"hello","done":0}' >>"$SLUICE_JOB_DIR/progress.jsonl"
await; echo "weights" >"$SLUICE_OUTPUT/model.pt"
save 48151623 "$request"
pause "$request"
while :; do sleep 0.02; done
`, nil)
	c.start()
	c.tells("run 0 from zero data the data in /code")
	c.ask("resize.1")
	word := c.reach(checkpoint.Waiting)
	if word.Answer.Checkpoint != "00000001" || word.Answer.Step != 0 {
		t.Errorf("answer %+v: the program's own name or numbers leave", word.Answer)
	}
	c.stop()
	c.exits(1)
	c.withdraw()
	c.restarts++
	must(t, c.mail.Aim(token, checkpoint.Target{Job: jobID, Checkpoint: "00000001", GPUs: 2}))
	c.start()
	c.tells("run 1 from /job/" + token + "/checkpoints/48151623 data the data in /code")
	if got := c.reach(checkpoint.Training).Resumed; got != "00000001" {
		t.Errorf("resumed %q outside, want what sluiced was told", got)
	}
	c.stop() // unasked: the program handles it
	c.tells("stopped")
	c.exits(0)
	if got := slurp(filepath.Join(c.fence.Output, "model.pt")); got != "weights\n" {
		t.Errorf("the program's output: %q", got)
	}
	if names, _ := filepath.Glob(filepath.Join(c.dir, "checkpoints", "*")); len(names) > 0 {
		t.Errorf("checkpoints outside: %v", names)
	}
	for _, text := range []string{slurp(filepath.Join(c.dir, "runner.json")), slurp(c.out), slurp(filepath.Join(c.dir, "progress.jsonl"))} {
		if strings.Contains(text, "48151623") || strings.Contains(text, "weights") {
			t.Errorf("a word of the program outside: %s", text)
		}
	}
}

// TestWritesInAFence: what a program may write, it can, by every way that it has: own files, moved between its folders
// and linked, pipes and sockets of its own, what it was given as output, and files without a name.
func TestWritesInAFence(t *testing.T) {
	c := newCaged(t, `set -e
trap 'say failed at $LINENO' EXIT
echo to stdout >/dev/stdout; echo to stderr >/dev/stderr; echo x >/dev/null; echo y >>/proc/self/fd/1
for d in "$SLUICE_OUTPUT" "$SLUICE_JOB_DIR" /tmp /var/tmp /dev/shm; do
  mkdir -p "$d/a" "$d/b"; echo 1 >"$d/a/f"; mv "$d/a/f" "$d/b/g"; ln "$d/b/g" "$d/a/h"; echo 2 >>"$d/a/h"; mv "$d/b" "$d/a/c"
  [ "$(cat "$d/a/c/g")" = "1
2" ]
  mkfifo "$d/p"; cat "$d/p" >"$d/got" & echo through >"$d/p"; wait; [ "$(cat "$d/got")" = through ]
done
python3 - <<'END'
import os, socket, tempfile
fd = os.memfd_create("m"); os.write(fd, b"m"); open("/proc/self/fd/%d" % fd, "r+b").write(b"n")
with tempfile.TemporaryFile() as f: f.write(b"x"); f.flush(); open("/proc/self/fd/%d" % f.fileno(), "r+b").write(b"y")
s = socket.socket(socket.AF_UNIX); s.bind("/tmp/s"); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect("/tmp/s")
os.rename("/tmp/a/c/g", "/tmp/a/g"); os.replace("/tmp/a/g", "/tmp/a/h")
END
trap - EXIT
say "all written"
`, nil)
	c.start()
	c.exits(0)
	if c.story() != "all written\n" || !strings.Contains(slurp(c.out), "to stdout") || !strings.Contains(slurp(c.out), "to stderr") {
		t.Errorf("%s\n%s", c.story(), slurp(c.out))
	}
}

// TestGateInAFence: a program writes progress as fast as it can, over several runs.
func TestGateInAFence(t *testing.T) {
	c := newCaged(t, `trap 'exit 0' TERM
for i in $(seq 100000); do
  echo '{"time":1800000000.'$i',"restarts":3,"event":"progress","done":0.'$i'23456789,"step":1234567'$i',"metric":{"loss":0.'$i'987654321,"patient":'$i'}}'
  echo 'secret '$i
done >>"$SLUICE_JOB_DIR/progress.jsonl"
`, nil)
	c.fence.Numbers = 500
	progress := filepath.Join(c.dir, "progress.jsonl")
	for c.restarts = range 3 {
		before := len(slurp(progress))
		c.start(c.base)
		c.until("a line comes out, or none may", func() bool { return len(slurp(progress)) > before || before > 350 })
		c.cmd.Process.Kill() // the runner: what it counted must not be lost
		<-c.done
		c.until("nothing inside is left", func() bool {
			lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
			return !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(slurp(l), "/sluice/script\x00"+c.base) })
		})
	}
	text := slurp(progress)
	if len(text) == 0 || len(text) > 500 {
		t.Errorf("%d bytes came out, 1 to 500 may", len(text))
	}
	t.Logf("reliability: confined-left %d", len(text))
	t.Logf("reliability: confined-budget 500")
	var ledger gate.Ledger
	must(t, json.Unmarshal([]byte(slurp(filepath.Join(filepath.Dir(c.inner), gate.LedgerFile))), &ledger))
	if ledger.Bytes < int64(len(text)) {
		t.Errorf("%d bytes came out, %d are counted", len(text), ledger.Bytes)
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "patient") || strings.Contains(line, "secret") || strings.Contains(line, "1234567") {
			t.Errorf("%s", line)
		}
		if _, err := checkpoint.ParseProgress([]byte(line)); err != nil {
			t.Error(err)
		}
	}
}

// TestRestartsInAFence: a program that saves and fails is not started again at once, though its user allowed retries.
func TestRestartsInAFence(t *testing.T) {
	c := newCaged(t, `save 1 ""; exit 1`, nil)
	c.config.Retries, c.config.Backoff = 3, time.Hour
	c.start()
	c.until("it waits to be started again", func() bool { return !c.word().RetryAt.IsZero() })
	if w := c.word(); w.RetryAt.Before(w.FirstLine.Add(time.Hour - time.Second)) {
		t.Errorf("started at %v, again at %v, want an hour between", w.FirstLine, w.RetryAt)
	}
	c.stop()
	c.exits(1)
}

// TestHostileFilesInAFence: links, pipes and folders in the place of files hold nothing up and
// lead nowhere, and the log is bounded.
func TestHostileFilesInAFence(t *testing.T) {
	c := newCaged(t, `cd "$SLUICE_JOB_DIR"
rm -rf progress.jsonl checkpoints request.json steps
mkfifo progress.jsonl; ln -s / checkpoints; mkfifo request.json; ln -s /data steps; ln -s "$1" runner.json
ln -s /data/mammo/secret.txt "$SLUICE_OUTPUT/link"
head -c 1000000 /dev/zero | tr '\0' x
exit 0
`, nil)
	victim := filepath.Join(c.vault, "record.jsonl")
	must(t, os.WriteFile(victim, []byte("the record\n"), 0o600))
	must(t, os.Chown(victim, int(c.uid), -1))
	c.start(victim).exits(0)
	c.restarts++
	must(t, os.RemoveAll(filepath.Join(c.inner, "progress.jsonl")))
	must(t, os.Symlink(victim, filepath.Join(c.inner, "progress.jsonl")))
	c.start(victim).exits(0)
	if info, err := os.Stat(victim); err != nil || slurp(victim) != "the record\n" || info.Mode().Perm() != 0o600 {
		t.Errorf("a file of the vault was changed: %v %v", info, err)
	}
	if size := int64(len(slurp(c.out))); size > c.fence.Log+4096 {
		t.Errorf("the log has %d bytes, %d and the runner's own lines may be", size, c.fence.Log)
	}
}

// TestNoFenceNoProgram: what cannot be confined is not started.
func TestNoFenceNoProgram(t *testing.T) {
	newCaged(t, "exit 0\n", nil) // skips all of it where no fence can be built
	for what, spoil := range map[string]func(*caged){
		"a data set is gone": func(c *caged) { must(c, os.RemoveAll(c.fence.Data["mammo"])) },
		"the code is gone":   func(c *caged) { must(c, os.RemoveAll(c.fence.Code)) },
		"several nodes":      func(c *caged) { c.env = []string{"SLURM_JOB_NODELIST=gpu[1-2]"} },
		"the other nodes do not start": func(c *caged) {
			c.fence.Network = confine.Relayed
			fake := filepath.Join(c.base, "fake")
			must(c, os.Mkdir(fake, 0o755))
			writeProgram(c.T, filepath.Join(fake, "srun"), "#!/bin/sh\necho 'srun: error: no nodes' >&2; exit 1\n")
			c.env = []string{"SLURM_JOB_NODELIST=gpu[1-2]", "PATH=" + fake + ":" + os.Getenv("PATH")}
		},
		"the system is gone":    func(c *caged) { c.fence.System = []string{"/nowhere"} },
		"no interpreter inside": func(c *caged) { c.fence.System = []string{"/usr/share"} },
		"the ledger is a folder": func(c *caged) {
			must(c, os.Mkdir(filepath.Join(filepath.Dir(c.inner), gate.LedgerFile), 0o700))
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := newCaged(t, "echo started >\"$SLUICE_JOB_DIR/story\"; echo started >/tmp/started\n", nil)
			c.config.Retries = 3
			spoil(c)
			c.start().exits(1)
			if c.story() != "" {
				t.Error("the program was started")
			}
			word, _, err := c.mail.Runner(token, c.uid)
			must(t, err)
			if word.State != checkpoint.Exited || word.LastWords == nil || !strings.Contains(slurp(c.out), "sluice: error: ") {
				t.Errorf("word %+v, log %s", word, slurp(c.out))
			}
			t.Log(word.LastWords.Why)
		})
	}
}

// TestStepInAFence: the stand-in for srun starts one task, and refuses more.
func TestStepInAFence(t *testing.T) {
	c := newCaged(t, `set -e
srun --ntasks=1 "$SLUICE" ranks -- /bin/sh -c 'echo "rank $RANK of $WORLD_SIZE" >>"$SLUICE_JOB_DIR/story"'
! srun -n 4 say "four tasks"
say end
`, nil)
	c.start().exits(0)
	story := strings.Split(strings.TrimSpace(c.story()), "\n")
	slices.Sort(story)
	if strings.Join(story, ";") != "end;rank 0 of 2;rank 1 of 2" {
		t.Errorf("story %q", story)
	}
	if log := slurp(c.out); !strings.Contains(log, `srun "$SLUICE" ranks`) {
		t.Errorf("the refusal does not say what to type: %s", log)
	}
}
