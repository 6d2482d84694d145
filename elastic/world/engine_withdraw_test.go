package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// before is a daemon with an action right before each observation.
type before struct {
	*mortal
	do func(now time.Time)
}

func (b before) Cycle(ctx context.Context, now time.Time) (time.Time, error) {
	b.do(now)
	return b.mortal.Cycle(ctx, now)
}

// callOffs are how a move ends after its job answered: its user holds the job at the same time and
// releases it a second later, or Slurm refuses to stop it.
var callOffs = []struct {
	name   string
	faults fake.Plan
	holds  bool
	how    elastic.Outcome
}{
	{name: "its user holds the job", holds: true, how: elastic.UserWon},
	{name: "Slurm refuses to stop it", faults: fake.Plan{{On: "scontrol requeue incomplete", Nth: 1, Kind: fake.Refused}}, how: elastic.Abandoned},
}

// withdrawnRun plays one scenario: a job is asked to save for a move and answers, and the move is called
// off. The job continues, but its runner cannot write that for 10 min, because the user's quota is
// exhausted. The daemon is killed at the n-th effect after the answer; 0 = never. It returns the
// number of effects.
func withdrawnRun(t *testing.T, off, n int, after bool) int {
	t.Helper()
	c := callOffs[off]
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4), Faults: c.faults}})
	began := w.Now()
	b := &boundaries{after: after, kill: map[int]bool{}}
	m := newMortal(t, w, b)
	var stuck *checkpoint.Runner // the runner's last status
	full := false
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 30}, Behaviour: world.Behaviour{Forge: func(r *checkpoint.Runner) {
		if full && stuck != nil {
			*r = *stuck
		}
		said := *r
		stuck, full = &said, full || r.Answer != nil && r.Answer.Committed.Sub(began) < 5*time.Minute
	}}})
	w.At(2*time.Minute, func() {
		if err := m.now.Direct(t.Context(), elastic.JobID(job.ID()), func(elastic.Directive) elastic.Directive { return elastic.Directive{Pin: 2} }); err != nil {
			t.Error(err)
		}
	})
	answered := 0
	d := before{m, func(now time.Time) {
		if stuck == nil || stuck.Answer == nil || answered > 0 {
			return
		}
		if answered = b.n; n > 0 {
			b.kill[answered+n] = true
		}
		w.At(now.Sub(began)+10*time.Minute, func() { full = false })
		if !c.holds {
			return
		}
		if err := w.User("alice").Hold(t.Context(), job.ID()); err != nil {
			t.Error(err)
		}
		w.At(now.Sub(began)+time.Second, func() {
			if err := w.User("alice").Release(t.Context(), job.ID()); err != nil {
				t.Error(err)
			}
		})
	}}
	if err := w.Drive(t.Context(), d, 3*time.Hour); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	switch log := m.log(); {
	case answered == 0 || n == 0 && !strings.Contains(log, "close: "+string(c.how)):
		t.Errorf("the move was not called off\n%s", log)
	case !job.Ended() || job.Done() < 30:
		t.Errorf("ended: %t, with %g units done\n%s", job.Ended(), job.Done(), log)
	case t.Failed():
		t.Logf("killed at effect %d behind the answer (after=%t), died at %v\n%s", n, after, m.deaths, log)
	}
	return b.n - answered
}

// TestAnAnswerDiesWithItsMove: a request is withdrawn only after its move is closed. In the other order a
// daemon killed in between would find an open move with the answer of a job that has continued
// training, and stop it.
func TestAnAnswerDiesWithItsMove(t *testing.T) {
	for off, c := range callOffs {
		t.Run(c.name, func(t *testing.T) {
			if total := withdrawnRun(t, off, 0, false); total < 3 {
				t.Errorf("%d effects", total)
			}
			for n := 1; n <= 4 && !t.Failed(); n++ {
				withdrawnRun(t, off, n, false)
				withdrawnRun(t, off, n, true)
			}
		})
	}
}
