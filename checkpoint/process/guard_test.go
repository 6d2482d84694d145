package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

const asHead = "SLUICE_TEST_AS_HEAD"

// beHead is a head whose own head watches over it: the outer starts the inner,
// which watches the outer and starts a program of its own.
func beHead() {
	file := os.Getenv(asHead)
	inner := os.Getenv("INNER") != ""
	var over <-chan struct{}
	if inner {
		outer, _ := strconv.Atoi(os.Getenv("OUTER"))
		over = Orphaned(func(pid int, _ string) bool { return pid == outer })
	}
	family, err := Found()
	if err != nil {
		os.Exit(1)
	}
	command := Command{Argv: []string{"sleep", "1000"}}
	if !inner {
		// A shell between the two: it, not the inner one, dies with the outer.
		command = Command{Argv: []string{"bash", "-c", `"$0"; exit 1`, os.Args[0]},
			Env: []string{asHead + "=" + file, "INNER=1", "OUTER=" + strconv.Itoa(os.Getpid()), "PATH=" + os.Getenv("PATH")}}
	}
	child, err := family.Start(command)
	if err != nil {
		os.Exit(1)
	}
	f, _ := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	f.WriteString(strconv.Itoa(os.Getpid()) + " " + strconv.Itoa(child.PID) + "\n")
	<-over
	family.KillAll(patience)
	os.Exit(0)
}

// TestHeadKilled: when a head is killed so is what it started, and a family
// further down that watches it ends by itself.
func TestHeadKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{asHead + "=" + file, "PATH=" + os.Getenv("PATH")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	all := pids(t, file, 4) // this test's family reaps the first
	syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)
	for _, pid := range all {
		until(t, "process "+strconv.Itoa(pid)+" is gone", func() bool { e, there := see(pid); return !there || e.dead() })
	}
	nobodyLeft(t)
}

func TestNobodyToWatch(t *testing.T) {
	if over := Orphaned(func(int, string) bool { return false }); over != nil {
		t.Error("something is watched")
	}
	over := Orphaned(func(pid int, _ string) bool { return pid == os.Getppid() })
	select {
	case <-over:
		t.Error("the parent is here")
	case <-time.After(10 * time.Millisecond):
	}
}
