package runner_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// frozen returns a folder on a file system of its own, and what makes everybody
// who writes there hang in the kernel, and what ends that.
func frozen(t *testing.T) (base string, freeze, thaw func()) {
	t.Helper()
	dir := t.TempDir()
	image, base := filepath.Join(dir, "image"), filepath.Join(dir, "fs")
	must(t, os.Mkdir(base, 0o755))
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 16<<20))
	for _, command := range [][]string{{"mkfs.ext4", "-q", image}, {"mount", "-o", "loop", image, base}} {
		if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Skipf("LOUD SKIP: no file system that can be frozen: %v: %v: %s", command, err, out)
		}
	}
	do := func(what string) func() {
		return func() {
			if out, err := exec.Command("fsfreeze", what, base).CombinedOutput(); err != nil && what == "--freeze" {
				t.Errorf("%v: %s", err, out)
			}
		}
	}
	t.Cleanup(func() { exec.Command("umount", base).Run() })
	return base, do("--freeze"), do("--unfreeze")
}

// TestFileSystemHangs: what writes there hangs where no signal reaches it, and so
// does the runner. The script is told all the same that it is to end, and its end
// is the job's.
func TestFileSystemHangs(t *testing.T) {
	base, freeze, thaw := frozen(t)
	defer thaw() // before the cleanups, which would wait for what hangs
	for script, want := range map[string]int{
		`trap "exit 9" TERM; while :; do sleep 0.01; done`:                          9,
		`until [ -e /tmp/go.$PPID ]; do sleep 0.05; done; rm /tmp/go.$PPID; exit 6`: 6,
	} {
		l := newJobIn(t, base, script)
		l.config.Stuck = 300 * time.Millisecond
		l.start()
		w := l.reach(checkpoint.Training)
		freeze()
		l.until("it says so", func() bool { return strings.Contains(slurp(l.errs), "a file system does not answer") })
		if want == 9 {
			l.stop()
		} else {
			must(t, os.WriteFile("/tmp/go."+itoa(w.PID), nil, 0o644))
		}
		l.until("the script has ended", func() bool { // a writer that hangs goes with the file system only
			return strings.Contains(slurp("/proc/"+itoa(w.PID)+"/stat"), ") Z ") || gone(w.PID) || len(children(w.PID)) == 0
		})
		thaw()
		l.exits(want)
		must(t, os.RemoveAll(l.dir))
	}
}

// TestFileSystemHangsAfterAnAnswer: a script that saved and ended is to be started
// again, or moved. While the file system does not answer that waits: exit 0 would
// make the job complete.
func TestFileSystemHangsAfterAnAnswer(t *testing.T) {
	base, freeze, thaw := frozen(t)
	defer thaw()
	for name, early := range map[string]bool{"before it hangs": true, "meanwhile": false} {
		l := newJobIn(t, base, `say "from ${SLUICE_RESUME##*/}"; await; save 1 "$request"; until [ -e /tmp/go.$PPID ]; do sleep 0.05; done; exit 0`)
		l.config.Stuck = 300 * time.Millisecond
		l.start()
		pid := l.reach(checkpoint.Training).PID
		l.ask("a")
		l.reach(checkpoint.Waiting)
		goes := "/tmp/go." + itoa(pid)
		t.Cleanup(func() { os.Remove(goes) })
		ends := func() {
			must(t, os.WriteFile(goes, nil, 0o644))
			l.until("the script has ended", func() bool { return len(children(pid)) == 0 })
		}
		if early {
			ends()
			l.until("the script's end is told", func() bool { return l.word().Exit != nil })
		}
		freeze()
		l.until("it says so", func() bool { return strings.Contains(slurp(l.errs), "a file system does not answer") })
		if !early {
			ends()
		}
		time.Sleep(4 * l.config.Stuck)
		thaw()
		select {
		case <-l.done:
			t.Errorf("%s: the job ended: %v", name, l.cmd.ProcessState)
		default:
			os.Remove(goes)
			l.withdraw()
			l.tells("from 00000001")
			l.stop()
			l.exits(143)
		}
		must(t, os.RemoveAll(l.dir))
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

func gone(pid int) bool { return slurp("/proc/"+itoa(pid)+"/stat") == "" }

// children are the processes that a process has.
func children(pid int) []string {
	var all []string
	lists, _ := filepath.Glob("/proc/" + itoa(pid) + "/task/*/children")
	for _, list := range lists {
		all = append(all, strings.Fields(slurp(list))...)
	}
	return all
}
