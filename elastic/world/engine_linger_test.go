package world_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// unlucky loses the node of a job just as the job is stopped for its move, and may kill the daemon
// during the repair.
type unlucky struct {
	slurm.Client
	lose func()
	half func(slurm.JobID) bool
}

func (u unlucky) RequeueRunning(ctx context.Context, id slurm.JobID) error {
	defer u.lose()
	return u.Client.RequeueRunning(ctx, id)
}

func (u unlucky) RequeueLingering(ctx context.Context, id slurm.JobID) error {
	if u.half(id) {
		panic(crashed{"half of clear"})
	}
	return u.Client.RequeueLingering(ctx, id)
}

// lingering plays a job that shrinks for another on its node, is requeued by its user, or shrinks at
// the user's request while another node is idle. It loses its node while it is completing, on a
// release of Slurm that continues to count it there.
func lingering(t *testing.T, way int, away time.Duration, kill []int, after, half bool, faults ...string) (total int, log string) {
	t.Helper()
	b := &boundaries{after: after, kill: map[int]bool{}}
	for _, k := range kill {
		b.kill[k] = true
	}
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(min(way, 2), 4), Draining: 2 * time.Second, Lingering: true, Faults: fake.MustParse(strings.Join(faults, "; "))}})
	begin, lost := w.Now(), false
	lose := func() {
		if !lost {
			lost = true
			w.Slurm.NodeDown("gpu1", "crashed")
			w.At(w.Now().Sub(begin)+away, func() { w.Slurm.NodeReturn("gpu1") })
		}
	}
	m := newMortal(t, w, b, func(c *engine.Config) {
		c.Slurm = unlucky{c.Slurm, lose, func(id slurm.JobID) bool {
			was := half
			if half = false; was && w.Slurm.As("root").Cancel(context.Background(), id) != nil {
				t.Error("cannot cancel")
			}
			return was
		}}
	})
	alice := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 4, Total: 40}, Model: world.Amdahl(60, 0.05)})
	w.At(100*time.Second, func() {
		switch way {
		case 1:
			w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 2, Max: 4, Total: 10}, Model: world.Amdahl(60, 0.05)})
			return
		case 3:
			kill := b.kill
			b.kill = nil // its effects are outside of a cycle, where no daemon is killed
			_ = m.now.Direct(context.Background(), elastic.JobID(alice.ID()), func(elastic.Directive) elastic.Directive { return elastic.Directive{Pin: 2} })
			b.kill = kill
			return
		}
		if err := w.Slurm.As("alice").Requeue(context.Background(), alice.ID()); err != nil {
			t.Error(err)
		}
		lose()
	})
	if err := w.Drive(context.Background(), m, 3*time.Hour); err != nil {
		t.Errorf("killed at %v (after=%t): %v", kill, after, err)
	}
	for _, bad := range w.Check() {
		t.Errorf("killed at %v (after=%t), died at %v: %s", kill, after, m.deaths, bad)
	}
	if alice.Done() < 40 {
		t.Fatalf("killed at %v (after=%t), died at %v: alice's job did %v of 40\n%s", kill, after, m.deaths, alice.Done(), m.log())
	}
	nodes, err := w.Client.Nodes(context.Background())
	for _, n := range nodes {
		if err != nil || n.GPUsUsed != 0 {
			t.Errorf("killed at %v (after=%t): %d GPUs of %s are still counted as used, %v", kill, after, n.GPUsUsed, n.Name, err)
		}
	}
	return b.n, m.log()
}

// TestNodeLostWhileCleanedAway: the stale allocation is cleared before the job is started again, and that
// is logged, wherever sluiced dies meanwhile.
func TestNodeLostWhileCleanedAway(t *testing.T) {
	for way := 1; way <= 3; way++ {
		away := 20 * time.Second
		if way == 2 { // Slurm does not delay this requeue, so sluice has to look before the node is back
			away = 40 * time.Second
		}
		total, log := lingering(t, way, away, nil, false, false)
		for _, want := range []string{"open: clear", "job 1 act: clear job 1 of its last run", "Slurm still counts it on gpu1"} {
			if strings.Count(log, want) != 1 {
				t.Errorf("way %d: %q is said %d times:\n%s", way, want, strings.Count(log, want), log)
			}
		}
		for k := 1; k <= total; k += sampling() {
			lingering(t, way, away, []int{k}, false, false)
			lingering(t, way, away, []int{k}, true, false)
		}
	}
}

// TestKilledInTheMiddleOfClearing: the job is cancelled, and the daemon dies before it requeues it.
func TestKilledInTheMiddleOfClearing(t *testing.T) {
	_, log := lingering(t, 1, 20*time.Second, nil, false, true)
	if want := "(half of clear)"; strings.Count(log, want) != 1 {
		t.Errorf("died %d times\n%s", strings.Count(log, want), log)
	}
	if n := strings.Count(log, "act: clear job 1"); n != 2 {
		t.Errorf("cleared %d times\n%s", n, log)
	}
}

// TestClearedNodeIsLeftAlone: the node was lost for less time than between two cycles, and Slurm still
// has to send it the kill request for the previous run.
func TestClearedNodeIsLeftAlone(t *testing.T) {
	_, log := lingering(t, 1, 100*time.Millisecond, nil, false, false)
	var cleared, started float64
	for line := range strings.Lines(log) {
		var at float64
		if _, err := fmt.Sscan(line, &at); err != nil {
			continue
		}
		switch {
		case strings.Contains(line, "job 1 open: clear"):
			cleared = at
		case strings.Contains(line, "job 1 open: start") && cleared > 0 && started == 0:
			started = at
		}
	}
	if cleared == 0 || started < cleared+settling.Seconds() {
		t.Errorf("cleared at %.1f s, started at %.1f s\n%s", cleared, started, log)
	}
}

// TestRefusedClearing: a clearing that Slurm refuses, even for minutes, is tried again, and the job is
// not started before: it would get no GPUs, and those chosen for it would stay counted as used.
func TestRefusedClearing(t *testing.T) {
	for times, moves := range map[int]int{1: 1, 200: 2} {
		var faults []string
		for n := range times {
			faults = append(faults, fmt.Sprintf("scontrol requeue pending #%d: refused", n+1))
		}
		_, log := lingering(t, 1, 20*time.Second, nil, false, false, faults...)
		if n := strings.Count(log, "job 1 open: clear"); n < moves {
			t.Errorf("refused %d times: %d moves\n%s", times, n, log)
		}
		if strings.Contains(log, "the launch failed") || strings.Count(log, "cleared of it first") > 1 {
			t.Errorf("refused %d times: to be started before it was cleared\n%s", times, log)
		}
	}
}
