package world_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	stories "github.com/sluice-hpc/sluice/elastic/world/story"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// crashed is the panic value of a boundary: the process ends at that point.
type crashed struct{ at string }

// boundaries counts the daemon's effects and crashes before or after chosen ones.
type boundaries struct {
	n      int
	after  bool         // crash after the effect took place, else before it
	kill   map[int]bool // by number, from 1
	meddle func()       // called before every effect
}

// cross is passed at every effect; effect is what would be done.
func (b *boundaries) cross(name string, effect func() error) error {
	b.n++
	if b.meddle != nil {
		b.meddle()
	}
	if b.kill[b.n] && !b.after {
		panic(crashed{name})
	}
	err := effect()
	if b.kill[b.n] && b.after {
		panic(crashed{name})
	}
	return err
}

// crashJournal is a journal with boundaries in it. Reads pass through.
type crashJournal struct {
	*journal.Memory
	b *boundaries
}

func (c crashJournal) Intend(ctx context.Context, ins []elastic.Intent) (out []elastic.Intent, err error) {
	err = c.b.cross("intend", func() error { out, err = c.Memory.Intend(ctx, ins); return err })
	return out, err
}

func (c crashJournal) Advance(ctx context.Context, in elastic.Intent) error {
	return c.b.cross("advance", func() error { return c.Memory.Advance(ctx, in) })
}

func (c crashJournal) Close(ctx context.Context, in elastic.Intent, how elastic.Outcome, why reason.Reason, at time.Time) error {
	return c.b.cross("close", func() error { return c.Memory.Close(ctx, in, how, why, at) })
}

func (c crashJournal) SaveJobs(ctx context.Context, r []journal.JobRecord) error {
	return c.b.cross("savejobs", func() error { return c.Memory.SaveJobs(ctx, r) })
}

// mortal is a daemon that dies at boundaries and is restarted at once, with nothing but its journal.
type mortal struct {
	t       *testing.T
	w       *world.World
	journal *journal.Memory
	b       *boundaries
	change  []func(*engine.Config)
	now     *daemon
	lives   []*daemon // one per start, the present one last
	deaths  []string
}

func newMortal(t *testing.T, w *world.World, b *boundaries, change ...func(*engine.Config)) *mortal {
	m := &mortal{t: t, w: w, journal: new(journal.Memory), b: b, change: change}
	m.birth()
	return m
}

func (m *mortal) birth() {
	m.now = boot(m.t, m.w, crashJournal{m.journal, m.b}, "knapsack", func(c *engine.Config) {
		c.Slurm, c.Mailbox = stories.CountSlurm(c.Slurm, m.b.cross), stories.CountMail(c.Mailbox, m.b.cross)
		for _, f := range m.change {
			f(c)
		}
	})
	m.lives = append(m.lives, m.now)
}

// log returns the log of all its starts.
func (m *mortal) log() string {
	var b strings.Builder
	for i, d := range m.lives {
		if i > 0 {
			fmt.Fprintf(&b, "killed at %s, started again\n", m.deaths[i-1])
		}
		b.WriteString(d.log.String())
	}
	return b.String()
}

func (m *mortal) Cycle(ctx context.Context, now time.Time) (wake time.Time, err error) {
	defer func() {
		if r := recover(); r != nil {
			c, ok := r.(crashed)
			if !ok {
				panic(r)
			}
			m.deaths = append(m.deaths, fmt.Sprintf("boundary %d (%s)", m.b.n, c.at))
			m.birth()
			wake, err = now.Add(2*time.Second), nil // systemd starts it again
		}
	}()
	return m.now.Cycle(ctx, now)
}

func (m *mortal) Stirred() bool { return m.now.Stirred() }

// story is the scenario in which every crash is tried: a job takes the cluster, a second and a third
// arrive, an ordinary job wants GPUs, and ended jobs let the rest grow.
func story(w *world.World) *[]*world.Trainer {
	jobs := new([]*world.Trainer)
	submit := func(user string, max int, total float64) {
		*jobs = append(*jobs, w.Submit(world.Job{User: user, Spec: elastic.Spec{Min: 1, Max: max, Total: total}, Model: world.Amdahl(60, 0.05)}))
	}
	submit("alice", 12, 40)
	w.At(100*time.Second, func() { submit("bob", 8, 12) })
	w.At(160*time.Second, func() { submit("dave", 4, 6) })
	w.At(200*time.Second, func() { w.Ordinary("carol", 1, 2, 4*time.Minute) })
	return jobs
}

// TestCrashAtEveryBoundary kills the daemon before and after every single effect of the scenario and
// restarts it: all work is done, and nothing twice.
func TestCrashAtEveryBoundary(t *testing.T) {
	total := crashRun(t, nil, false)
	t.Logf("%d boundaries", total)
	for _, after := range []bool{false, true} {
		for k := 1; k <= total; k += oneIn() {
			crashRun(t, []int{k}, after)
		}
	}
}

// TestCrashDuringRecovery kills the daemon again soon after its restart.
func TestCrashDuringRecovery(t *testing.T) {
	total := crashRun(t, nil, false)
	stride := sampling()
	for k := 1; k <= total; k += stride {
		for _, gap := range []int{1, 4} {
			crashRun(t, []int{k, k + gap}, k%2 == 0)
		}
	}
}

func crashRun(t *testing.T, kill []int, after bool, change ...func(*engine.Config)) int {
	t.Helper()
	b := &boundaries{after: after, kill: map[int]bool{}}
	for _, k := range kill {
		b.kill[k] = true
	}
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(3, 4)}})
	m := newMortal(t, w, b, change...)
	jobs := story(w)
	if err := w.Drive(context.Background(), m, 3*time.Hour); err != nil {
		t.Errorf("killed at %v (after=%t): %v", kill, after, err)
	}
	for _, j := range *jobs {
		if j.Done() < j.Job.Spec.Total {
			t.Errorf("killed at %v (after=%t), died at %v: job %d did %v of %v\n%s", kill, after, m.deaths, j.ID(), j.Done(), j.Job.Spec.Total, m.now.log.String())
			t.FailNow()
		}
	}
	for _, bad := range w.Check() {
		t.Errorf("killed at %v (after=%t), died at %v: %s", kill, after, m.deaths, bad)
	}
	return b.n
}
