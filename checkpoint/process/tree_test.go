package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// python is a program in Python; the test is skipped without.
func python(t *testing.T, program string) *Child {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("LOUD SKIP: no python3")
	}
	c, err := family.Start(Command{Argv: []string{path, "-c", program}, Env: []string{"PATH=" + os.Getenv("PATH")}, Stderr: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// pids waits until a file holds so many numbers.
func pids(t *testing.T, file string, n int) []int {
	t.Helper()
	var out []int
	until(t, file+" is written", func() bool {
		b, _ := os.ReadFile(file)
		out = nil
		for _, f := range strings.Fields(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				out = append(out, pid)
			}
		}
		return len(out) >= n
	})
	return out
}

func nobodyLeft(t *testing.T) {
	t.Helper()
	if left := family.KillAll(patience); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if left := look().below(os.Getpid()); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

// TestSlippery: whatever a tree does to stay, nothing of it does.
func TestSlippery(t *testing.T) {
	for what, program := range map[string]string{
		"daemonised": `
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open(UP, "a").write(f"{os.getpid()}\n"); time.sleep(1000)
    os._exit(0)
time.sleep(1000)`,
		"blocks every signal": `
import os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
open(UP, "a").write(f"{os.getpid()}\n"); time.sleep(1000)`,
		"stopped": `
import os, signal, time
if os.fork() == 0:
    open(UP, "a").write(f"{os.getpid()}\n"); os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(1000)`,
		"its first thread ended": `
import os, threading, time, ctypes
def work():
    time.sleep(0.1); open(UP, "a").write(f"{os.getpid()}\n"); time.sleep(1000)
threading.Thread(target=work).start()
ctypes.CDLL(None).pthread_exit(None)`,
		"a subreaper below": `
import os, time, ctypes
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
if os.fork() == 0:
    if os.fork() == 0:
        open(UP, "a").write(f"{os.getpid()}\n"); time.sleep(1000)
    os._exit(0)
time.sleep(1000)`,
		"forks and goes, for ever": `
import os, time
open(UP, "a").write(f"{os.getpid()}\n")
end = time.time() + 20
while time.time() < end:
    if os.fork() == 0: continue
    os._exit(0)`,
		"forks in all directions": `
import os, time, resource
open(UP, "a").write(f"{os.getpid()}\n")
for i in range(7):
    os.fork()
end = time.time() + 20
while time.time() < end:
    if os.fork() == 0: time.sleep(0.02); os._exit(0)
    time.sleep(0.005)
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError: pass`,
		"children that are zombies": `
import os, time
for i in range(100):
    if os.fork() == 0: os._exit(0)
open(UP, "a").write(f"{os.getpid()}\n"); time.sleep(1000)`,
	} {
		t.Run(what, func(t *testing.T) {
			up := filepath.Join(t.TempDir(), "up")
			python(t, "UP="+strconv.Quote(up)+program)
			pids(t, up, 1)
			nobodyLeft(t)
		})
	}
}

// TestDrainWakesTheStopped: a stopped process gets the SIGTERM too.
func TestDrainWakesTheStopped(t *testing.T) {
	up := filepath.Join(t.TempDir(), "up")
	c := python(t, "UP="+strconv.Quote(up)+`
import os, signal, sys
signal.signal(signal.SIGTERM, lambda *_: (open(UP, "a").write("told\n"), os._exit(6)))
open(UP, "a").write(f"{os.getpid()}\n"); os.kill(os.getpid(), signal.SIGSTOP)
while True: signal.pause()`)
	pid := pids(t, up, 1)[0]
	until(t, "it is stopped", func() bool { e, _ := see(pid); return e.state == 'T' })
	if left := family.Drain(patience, patience, "srun"); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if e := ended(t, c); e.Code != 6 {
		t.Errorf("%+v: it was not told", e)
	}
}

// TestStrangersAreSafe: a number that became another's is not signalled, nor is
// the child of one that got a descendant's number.
func TestStrangersAreSafe(t *testing.T) {
	own := shell(t, "sleep 1000 & echo; wait")
	until(t, "its child is there", func() bool { return len(look().below(os.Getpid())) == 2 })
	c := look()
	child := c.below(os.Getpid())[1]
	for what, change := range map[string]func(processTable){
		"the number is another's":          func(c processTable) { e := c[child]; e.start--; c[child] = e },
		"its parent's number is another's": func(c processTable) { e := c[own.PID]; e.start--; c[own.PID] = e },
		"its parent is another by now":     func(c processTable) { e := c[child]; e.parent = os.Getpid(); c[child] = e },
		"its parent was not seen":          func(c processTable) { delete(c, own.PID) },
		"its parent is not known here":     func(c processTable) { e := c[own.PID]; e.parent = 1; c[own.PID] = e },
	} {
		other := look()
		change(other)
		if other.signal(child, syscall.SIGKILL) {
			t.Errorf("%s: it was killed", what)
		}
	}
	if e, there := see(child); !there || e.dead() {
		t.Fatal("it was killed")
	}
	if !c.signal(child, syscall.SIGKILL) {
		t.Error("the one that is meant is not reached")
	}
	nobodyLeft(t)
	// Collected long ago: its number may be another group's.
	ended(t, own)
	if err := own.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
}

// TestOutsidersAreSafe: what this process's family did not start is not touched,
// though it has the same user, session and variables.
func TestOutsidersAreSafe(t *testing.T) {
	up := filepath.Join(t.TempDir(), "up")
	shell(t, `(setsid sleep 1000 & echo $! >`+up+`)`)
	pid := pids(t, up, 1)[0]
	until(t, "it is ours", func() bool { e, _ := see(pid); return e.parent == os.Getpid() })
	nobodyLeft(t)
	if e, there := see(os.Getppid()); !there || e.dead() {
		t.Error("the parent is gone")
	}
}

// TestCannotBeKilled: what has become another user's is named, in time.
func TestCannotBeKilled(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("LOUD SKIP: only root can make a process that a user cannot end")
	}
	dir, err := os.MkdirTemp("/tmp", "sluice-process-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	os.Chmod(dir, 0o777) // error: the test fails below
	program := filepath.Join(dir, "test")
	copyFile(t, os.Args[0], program)
	cmd := exec.Command(program)
	cmd.Env = []string{asUser + "=" + dir, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := os.Chmod(program, os.ModeSetuid|0o755); err != nil {
		t.Fatal(err)
	}
	said, err := os.Create(filepath.Join(dir, "said")) // no pipe: who stays holds it
	if err != nil {
		t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdout, cmd.Stderr = said, said
	err = cmd.Run()
	out, _ := os.ReadFile(said.Name())
	stays := pids(t, filepath.Join(dir, "pid"), 1)[0]
	syscall.Kill(stays, syscall.SIGKILL)
	if want := strconv.Itoa(stays) + " ("; err != nil || !strings.Contains(string(out), "left: ["+want) {
		t.Errorf("%v: %s", err, out)
	}
}

const asUser = "SLUICE_TEST_AS_USER"

// beUser is TestCannotBeKilled's user: a program he started becomes root's.
func beUser(dir string) {
	if dir == "root" {
		if err := syscall.Setresuid(0, 0, 0); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.WriteFile(filepath.Join(filepath.Dir(os.Args[0]), "pid"), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o644)
		time.Sleep(patience)
		os.Exit(0)
	}
	syscall.Setresuid(65534, 65534, 65534) // the file's set-user-ID bit is for the program below
	family, err := Found()
	if err == nil {
		_, err = family.Start(Command{Argv: []string{os.Args[0]}, Env: []string{asUser + "=root"}, Stderr: os.Stderr})
	}
	if err != nil {
		os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	for n := 0; n < 500; n++ {
		if b, _ := os.ReadFile(filepath.Join(dir, "pid")); strings.HasSuffix(string(b), "\n") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	var words []string
	for _, p := range family.KillAll(200 * time.Millisecond) {
		words = append(words, p.String())
	}
	os.Stdout.WriteString("left: " + "[" + strings.Join(words, " ") + "]\n")
	os.Exit(0)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}
