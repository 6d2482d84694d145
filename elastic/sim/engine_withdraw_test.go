package sim_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// before is a daemon that something happens to right before it looks.
type before struct {
	*mortal
	do func(now time.Time)
}

func (b before) Cycle(ctx context.Context, now time.Time) (time.Time, error) {
	b.do(now)
	return b.mortal.Cycle(ctx, now)
}

// withdrawnRun plays one story: a job is asked to save for a move and answers; its user
// holds it in the same moment, so that the move is off, and a second later lets go of
// it again. The job trains on, but its runner cannot say so for ten minutes: the user's
// quota is full. The daemon is killed at the n-th effect behind the hold, 0 = never. It
// returns how many effects there were.
func withdrawnRun(t *testing.T, n int, after bool) int {
	t.Helper()
	w := sim.New(sim.Config{Recorded: true, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
	began := w.Now()
	b := &boundaries{after: after, kill: map[int]bool{}}
	m := newMortal(t, w, b)
	var stuck *checkpoint.Runner // what the runner said last
	full := false
	job := w.Submit(sim.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 30}, Behaviour: sim.Behaviour{Forge: func(r *checkpoint.Runner) {
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
	held := 0
	d := before{m, func(now time.Time) {
		if stuck == nil || stuck.Answer == nil || held > 0 {
			return
		}
		if held = b.n; n > 0 {
			b.kill[held+n] = true
		}
		if err := w.User("alice").Hold(t.Context(), job.ID()); err != nil {
			t.Error(err)
		}
		w.At(now.Sub(began)+time.Second, func() {
			if err := w.User("alice").Release(t.Context(), job.ID()); err != nil {
				t.Error(err)
			}
		})
		w.At(now.Sub(began)+10*time.Minute, func() { full = false })
	}}
	if err := w.Drive(t.Context(), d, 3*time.Hour); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	switch log := m.log(); {
	case held == 0 || !strings.Contains(log, string(elastic.UserWon)):
		t.Errorf("the move was not called off by its user\n%s", log)
	case !job.Ended() || job.Done() < 30:
		t.Errorf("ended: %t, with %g units done\n%s", job.Ended(), job.Done(), log)
	case t.Failed():
		t.Logf("killed at effect %d behind the hold (after=%t), died at %v\n%s", n, after, m.deaths, log)
	}
	return b.n - held
}

// TestAnAnswerDiesWithItsMove: a request is withdrawn once its move is closed, never
// before. Were it the other way round, a daemon killed in between would find the move
// open and the answer of a job that trains on again, and stop it.
func TestAnAnswerDiesWithItsMove(t *testing.T) {
	if total := withdrawnRun(t, 0, false); total < 3 {
		t.Errorf("%d effects", total)
	}
	for n := 1; n <= 4 && !t.Failed(); n++ {
		withdrawnRun(t, n, false)
		withdrawnRun(t, n, true)
	}
}
