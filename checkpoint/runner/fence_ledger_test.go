package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/gate"
)

// counting are runs of one confined job that go on at once, each as one that began just now.
type counting struct {
	*testing.T
	vault, job string
	now        time.Time
}

func (c *counting) run() *run {
	fenced := confine.Fence{Inner: filepath.Join(c.vault, "inner"), Numbers: 1000}
	r := &run{Config: Config{Fence: &fenced, Stderr: os.Stderr, Now: func() time.Time { return c.now }}, complaints: map[string]string{}}
	r.fence = &fence{builder: builder{Fence: fenced}}
	r.job.jobDir = c.job
	var err error
	if r.fence.ledger, err = r.fence.stored(); err != nil {
		c.Fatal(err)
	}
	return r
}

func (c *counting) left() string {
	data, _ := os.ReadFile(filepath.Join(c.job, checkpoint.ProgressFile))
	return string(data)
}

// TestTwoRunnersCountTogether: while a node is lost to Slurm and not to its programs, two runs of a job pass numbers on.
// Together they pass no more than one may, no faster, and give no two checkpoints the same name.
func TestTwoRunnersCountTogether(t *testing.T) {
	c := &counting{t, t.TempDir(), t.TempDir(), time.Unix(1_800_000_000, 0)}
	both := []*run{c.run(), c.run()}
	for i := range 40 {
		c.now = c.now.Add(gate.Pause)
		for _, r := range both {
			before := c.left()
			r.passOne(checkpoint.Progress{Event: "progress", Done: float64(i)})
			if r == both[1] && c.left() != before {
				t.Fatalf("two lines at the same time: %s", c.left())
			}
		}
		both[0], both[1] = both[1], both[0]
	}
	if n := len(c.left()); n > 1000 || n < 900 {
		t.Errorf("%d bytes left, 1000 may", n)
	}
	names := map[string]bool{}
	for i, r := range both {
		w, err := r.outward(checkpoint.Runner{Resumed: []string{"00000011", "00000012"}[i]})
		if err != nil || names[w.Resumed] {
			t.Errorf("%q, %v", w.Resumed, err)
		}
		names[w.Resumed] = true
	}
}

// TestLedgerHeldByAnother: what another runner is changing is not changed, and not passed on uncounted; once it is free
// again it is. A ledger that is gone counts as spent.
func TestLedgerHeldByAnother(t *testing.T) {
	c := &counting{t, t.TempDir(), t.TempDir(), time.Unix(1_800_000_000, 0)}
	r := c.run()
	held, err := os.OpenFile(filepath.Join(c.vault, ledgerLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	r.passOne(checkpoint.Progress{Event: "progress", Done: 0.5})
	if _, err := r.outward(checkpoint.Runner{Resumed: "00000011"}); err == nil || c.left() != "" || r.fence.queue.Empty() {
		t.Errorf("%v, %q", err, c.left())
	}
	if err := unix.Flock(int(held.Fd()), unix.LOCK_UN); err != nil {
		t.Fatal(err)
	}
	p, _ := r.fence.queue.Next()
	r.passOne(p)
	if !strings.Contains(c.left(), "0.5") {
		t.Errorf("%q", c.left())
	}
	if err := os.Remove(filepath.Join(c.vault, gate.LedgerFile)); err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(time.Minute)
	r.passOne(checkpoint.Progress{Event: "progress", Done: 0.75})
	if strings.Contains(c.left(), "0.75") {
		t.Errorf("%q", c.left())
	}
}

// TestEarlyLineWaits: a line that comes just after one of another runner is not lost, and the last one leaves.
func TestEarlyLineWaits(t *testing.T) {
	c := &counting{t, t.TempDir(), t.TempDir(), time.Unix(1_800_000_000, 0)}
	one, other := c.run(), c.run()
	one.passOne(checkpoint.Progress{Event: "progress", Done: 0.5})
	other.passOne(checkpoint.Progress{Event: "finished", Done: 1})
	if other.fence.queue.Empty() || strings.Contains(c.left(), "finished") {
		t.Fatalf("it is lost, or left too early: %q", c.left())
	}
	other.Now = func() time.Time { c.now = c.now.Add(gate.Pause / 2); return c.now }
	other.fence.read = other.job.progressSize()
	other.passLast()
	if !strings.Contains(c.left(), "finished") {
		t.Errorf("the last line has not left: %q", c.left())
	}
}
