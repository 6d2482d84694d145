package process

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestKillStarted: what was started with a variable is killed, also what starts while it is watched for; what has another
// value is not.
func TestKillStarted(t *testing.T) {
	sleeps := func(value string) *exec.Cmd {
		cmd := exec.Command("sleep", "60")
		cmd.Env = append(os.Environ(), "SLUICE_TEST_STARTED="+value)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		return cmd
	}
	name := t.TempDir()
	first, other := sleeps(name), sleeps(name+"x")
	late := make(chan *exec.Cmd, 1)
	go func() {
		time.Sleep(200 * time.Millisecond)
		late <- sleeps(name)
	}()
	if left := KillStarted([]string{"SLUICE_TEST_STARTED=" + name}, time.Second, 5*time.Second); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for _, cmd := range []*exec.Cmd{first, <-late} {
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != -1 {
			t.Errorf("%v", err)
		}
	}
	if !mine(other.Process.Pid) || !StartedWith(other.Process.Pid, "SLUICE_TEST_STARTED="+name+"x") {
		t.Error("the other one was killed too")
	}
}
