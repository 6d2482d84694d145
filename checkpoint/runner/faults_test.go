package runner_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// seed commits checkpoints 1 to n before a run.
func (l *live) seed(n int) {
	l.Helper()
	base := filepath.Join(l.dir, checkpoint.Checkpoints)
	must(l, os.MkdirAll(base, 0o700))
	d, err := checkpoint.OpenDir(base)
	must(l, err)
	defer d.Close()
	s := checkpoint.NewSeries(d, checkpoint.Identity{Job: jobID, Token: token})
	for i := range n {
		name := checkpoint.Name(i + 1)
		must(l, os.MkdirAll(filepath.Join(base, name), 0o700))
		must(l, os.WriteFile(filepath.Join(base, name, "model"), []byte("weights"), 0o600))
		must(l, s.Commit(l.Context(), name, checkpoint.Manifest{Step: int64(i + 1), Created: time.Unix(1e9, 0)}))
	}
}

func (l *live) saved() []string {
	entries, _ := os.ReadDir(filepath.Join(l.dir, checkpoint.Checkpoints))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestResumesNewestValid(t *testing.T) {
	l := newJob(t, `say "$SLUICE_RESUME"; until [ -e $SLUICE_JOB_DIR/go ]; do sleep 0.01; done`)
	l.seed(4)
	must(t, os.WriteFile(filepath.Join(l.dir, "checkpoints", "00000004", "model"), []byte("WEIGHTS"), 0o600))
	must(t, os.Remove(filepath.Join(l.dir, "checkpoints", "00000003", "manifest.json")))
	must(t, l.mail.Aim(token, checkpoint.Target{Job: jobID, Incarnation: 7, Checkpoint: "00000004"}))
	l.start()
	w := l.reach(checkpoint.Training)
	if w.Resumed != "00000002" || len(w.Skipped) != 2 || !strings.Contains(w.Note, "00000004 was to be resumed") {
		t.Errorf("word %+v", w)
	}
	l.tells(filepath.Join(l.dir, "checkpoints", "00000002"))
	// The damaged ones are newer than the proved one and stay for who wants to
	// look at them.
	if got := l.saved(); !slices.Equal(got, []string{"00000001", "00000002", "00000003", "00000004"}) {
		t.Errorf("left %v", got)
	}
}

// TestPrunes: as soon as a newer one is proved, and never before.
func TestPrunes(t *testing.T) {
	l := newJob(t, `say up; until [ -e $SLUICE_JOB_DIR/go ]; do sleep 0.01; done; SUM=$(printf '0%.0s' {1..64}) save 6 ""; sleep 1; save 7 ""; sleep 100`)
	l.seed(5)
	l.config.Keep = 3
	l.start().tells("up")
	l.until("all but three are gone", func() bool { return len(l.saved()) == 3 })
	must(t, os.WriteFile(filepath.Join(l.dir, "go"), nil, 0o644))
	l.until("what is older than 7 is pruned", func() bool { return slices.Equal(l.saved(), []string{"00000005", "00000006", "00000007"}) })
	if !strings.Contains(slurp(l.errs), "00000006 cannot be used") {
		t.Errorf("said %q", slurp(l.errs))
	}
}

// TestNobodyComesBack: sluiced was killed after a request. The GPUs must not idle.
func TestNobodyComesBack(t *testing.T) {
	l := newJob(t, trainer)
	l.config.Patience = 200 * time.Millisecond
	l.start()
	now := time.Now().Add(-time.Hour) // another machine's clock
	request := checkpoint.Request{Job: jobID, ID: "a", Asked: now, Deadline: now.Add(100 * time.Millisecond)}
	must(t, l.mail.Ask(token, request))
	l.tells("on after 1")
	if w := l.reach(checkpoint.Training); w.Answer != nil {
		t.Errorf("the answer stands: %+v", w.Answer)
	}
	// sluiced is back and prolongs.
	request.Deadline = now.Add(time.Hour)
	must(t, l.mail.Ask(token, request))
	if w := l.reach(checkpoint.Waiting); w.Answer.Checkpoint != "00000002" {
		t.Errorf("answer %+v", w.Answer)
	}
}

func TestGarbageRequest(t *testing.T) {
	l := newJob(t, trainer).start()
	l.ask("a")
	l.reach(checkpoint.Waiting)
	p := filepath.Join(l.outbox, token, checkpoint.RequestFile)
	must(t, os.WriteFile(p, []byte("{\x1b[31m"), 0o644))
	l.until("it says so", func() bool { return strings.Contains(slurp(l.errs), "request.json:1:2: malformed") })
	if w := l.word(); w.State != checkpoint.Waiting || strings.Contains(slurp(l.errs), "\x1b") {
		t.Errorf("word %+v, stderr %q: garbage withdraws nothing", w, slurp(l.errs))
	}
	l.withdraw()
	l.reach(checkpoint.Training)
}

// TestSignals: a shell without a trap does not die of what its children take.
func TestSignals(t *testing.T) {
	l := newJob(t, `bash -c 'trap "echo got USR1 >>$SLUICE_JOB_DIR/story" USR1; trap "exit 7" USR2; echo up >>$SLUICE_JOB_DIR/story; while :; do sleep 0.01; done'
exit $?`).start()
	l.tells("up")
	l.cmd.Process.Signal(syscall.SIGUSR1)
	l.tells("got USR1")
	l.cmd.Process.Signal(syscall.SIGHUP)
	l.until("it says that nobody listens", func() bool { return strings.Contains(slurp(l.errs), "SIGHUP") })
	l.cmd.Process.Signal(syscall.SIGUSR2)
	l.exits(7)
}

// TestDiskFull: no file of the runner's own ends the job, and what could not be
// said is said when there is room again.
func TestDiskFull(t *testing.T) {
	base := t.TempDir()
	if err := syscall.Mount("tmpfs", base, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("LOUD SKIP: a small file system can only be mounted as root: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(base, syscall.MNT_DETACH) })
	l := newJobIn(t, base, `while [ ! -e /tmp/go.$PPID ]; do sleep 0.01; done; rm /tmp/go.$PPID; exit 5`)
	l.start()
	l.reach(checkpoint.Training)
	ballast := filepath.Join(base, "ballast")
	fill(t, ballast)
	before := l.word()
	l.until("it says that the disk is full", func() bool { return strings.Contains(slurp(l.errs), "no space left on device (free some space") })
	if w := l.word(); w.State != checkpoint.Training || w.Beat != before.Beat {
		t.Errorf("the old word does not stand: %+v", w)
	}
	must(t, os.Remove(ballast))
	l.until("its word is fresh", func() bool { return l.word().Beat.After(before.Beat) })
	fill(t, ballast)
	must(t, os.WriteFile("/tmp/go."+strconv.Itoa(l.cmd.Process.Pid), nil, 0o644))
	l.exits(5)
	if strings.Count(slurp(l.errs), "\n") > 20 {
		t.Errorf("says too much: %q", slurp(l.errs))
	}
}

func fill(t *testing.T, p string) {
	t.Helper()
	f, err := os.Create(p)
	must(t, err)
	defer f.Close()
	for {
		if _, err := f.Write(make([]byte, 4096)); err != nil {
			return
		}
	}
}

// TestFolderGone: the job's folder was removed; the job still ends by itself.
func TestFolderGone(t *testing.T) {
	l := newJob(t, `touch $SLUICE_JOB_DIR/began; until [ ! -e $SLUICE_JOB_DIR ]; do sleep 0.01; done; sleep 0.3; exit 6`).start()
	l.reach(checkpoint.Training)
	l.until("the script has begun", func() bool { _, err := os.Stat(filepath.Join(l.dir, "began")); return err == nil })
	must(t, os.Rename(l.dir, filepath.Join(t.TempDir(), "away")))
	l.exits(6)
}

// TestManifestsByTheThousand: a folder full of junk holds nothing up.
func TestManifestsByTheThousand(t *testing.T) {
	l := newJob(t, trainer)
	for i := range 3000 {
		must(t, os.MkdirAll(filepath.Join(l.dir, "checkpoints", checkpoint.Name(i+1)), 0o700))
	}
	l.start().reach(checkpoint.Training)
	if w := l.word(); w.Resumed != "" || len(w.Skipped) > 16 {
		t.Errorf("word %+v", w)
	}
}
