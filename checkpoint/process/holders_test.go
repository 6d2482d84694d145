package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// emulated makes device files that stand in for GPUs, as the lab's.
func emulated(t *testing.T, names ...string) (files []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		file := filepath.Join(dir, name)
		if err := syscall.Mknod(file, syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
			t.Skipf("LOUD SKIP: device files can only be made as root: %v", err)
		}
		files = append(files, file)
	}
	return files
}

func everybody(int) bool { return true }

// TestHolders: the processes that have a job's device file open are found, and no others,
// even if all the files are the same device.
func TestHolders(t *testing.T) {
	files := emulated(t, "gpu1-0", "gpu1-1", "gpu1-2")
	ours := files[:2]
	up := filepath.Join(t.TempDir(), "up")
	shell(t, `exec 7<>`+files[1]+`; echo $$ >>`+up+`; while :; do sleep 0.01; done`)
	shell(t, `exec 7<>`+files[2]+` 8</dev/null; echo $$ >>`+up+`; exec sleep 1000`)
	running := pids(t, up, 2)
	held := Released(ours, 10*time.Millisecond, func(pid int) bool { return slices.Contains(running, pid) })
	if len(held) != 1 || held[0].File != files[1] || held[0].Name != "bash" {
		t.Fatalf("held by %v of %v", held, running)
	}
	if held := Released(ours, time.Millisecond, func(int) bool { return false }); len(held) != 0 {
		t.Errorf("nobody was meant, found %v", held)
	}
	if held := Released([]string{"/no/such/file", "/etc/passwd"}, time.Hour, everybody); len(held) != 0 {
		t.Errorf("no device, held by %v", held)
	}
	family.KillAll(patience)
	if held := Released(ours, patience, everybody); len(held) != 0 {
		t.Errorf("held by %v", held)
	}
}

// TestHolderLetsGo: the wait ends with the last holder.
func TestHolderLetsGo(t *testing.T) {
	files := emulated(t, "gpu1-0")
	up := filepath.Join(t.TempDir(), "up")
	shell(t, `exec 7<>`+files[0]+`; echo $$ >>`+up+`; sleep 0.2; exec 7>&-; exec sleep 1000`)
	pids(t, up, 1)
	if held := Released(files, patience, everybody); len(held) != 0 {
		t.Errorf("held by %v", held)
	}
	nobodyLeft(t)
}

func TestStartedWith(t *testing.T) {
	c, err := family.Start(Command{Argv: []string{"sleep", "1000"}, Env: []string{"SLURM_JOB_ID=42", "X=1"}})
	if err != nil {
		t.Fatal(err)
	}
	for variable, want := range map[string]bool{"SLURM_JOB_ID=42": true, "SLURM_JOB_ID=4": false, "X=1": true, "": false} {
		if got := StartedWith(c.PID, variable); got != want {
			t.Errorf("%q: %v", variable, got)
		}
	}
	nobodyLeft(t)
	if StartedWith(c.PID, "X=1") {
		t.Error("it is gone")
	}
}

// TestWords: a program's name goes to a log as one word without control characters.
func TestWords(t *testing.T) {
	for want, p := range map[string]Process{
		"7 (python3)":                         {PID: 7, Name: "python3", State: 'S'},
		"8 (cp, hangs in the kernel)":         {PID: 8, Name: "cp", State: 'D'},
		"9 (?[31mx?)":                         {PID: 9, Name: "\x1b[31mx\xff"},
		"10 (" + strings.Repeat("?", 3) + ")": {PID: 10, Name: "\n\r\x7f"},
	} {
		if got := p.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestRunning: what the first thread of a process left running is seen.
func TestRunning(t *testing.T) {
	for _, c := range []struct {
		entry
		dead bool
	}{
		{entry{state: 'S', threads: 1}, false}, {entry{state: 'Z', threads: 1}, true}, {entry{state: 'Z', threads: 0}, true},
		{entry{state: 'Z', threads: 2}, false}, {entry{state: 'X', threads: 2}, true}, {entry{state: 'T', threads: 1}, false},
	} {
		if c.entry.dead() != c.dead {
			t.Errorf("%+v", c)
		}
	}
	if _, there := see(os.Getpid()); !there {
		t.Error("this process is not there")
	}
}
