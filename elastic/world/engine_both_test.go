package world_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// tellStory plays the crash scenario with a daemon whose effects go through b. mend, when set, is
// called after 50 min.
func tellStory(t *testing.T, b *boundaries, meddle func(*mortal, *world.Trainer), mend func(*world.Trainer, *world.World)) (*world.World, []*world.Trainer, *mortal) {
	t.Helper()
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(3, 4)}})
	m := newMortal(t, w, b)
	jobs := story(w)
	if meddle != nil {
		b.meddle = func() { meddle(m, (*jobs)[0]) }
	}
	if mend != nil {
		w.At(50*time.Minute, func() { mend((*jobs)[0], w) })
	}
	if err := w.Drive(context.Background(), m, 4*time.Hour); err != nil {
		t.Error(err)
	}
	return w, *jobs, m
}

// TestTheUserActsAndTheDaemonDies: a user acts during a move, and the daemon dies at one of the effects
// that follow. A job that is cancelled before it was recorded in the journal need not be known.
func TestTheUserActsAndTheDaemonDies(t *testing.T) {
	const known = 8 // the first effect after the job's record was saved
	total := crashRun(t, nil, false)
	for i, a := range userActions {
		for k := known + i; k <= total; k += 8 * sampling() {
			for _, gap := range []int{0, 1} {
				b := &boundaries{kill: map[int]bool{k + gap: true}, after: gap == k%2}
				acted := false
				w, jobs, m := tellStory(t, b, func(m *mortal, j *world.Trainer) {
					if b.n == k {
						acted = a.do(context.Background(), m.w.User(j.Job.User), j.ID()) == nil
					}
				}, func(j *world.Trainer, w *world.World) {
					if a.mend != nil {
						_ = a.mend(context.Background(), w.User(j.Job.User), j.ID())
					}
				})
				for _, bad := range w.Check() {
					t.Errorf("%s at effect %d, killed %d later: %s", a.name, k, gap, bad)
				}
				for n, j := range jobs {
					if gone := n == 0 && a.ends && acted; !gone && j.Done() < j.Job.Spec.Total {
						t.Errorf("%s at effect %d, killed %d later: job %d did %v of %v", a.name, k, gap, j.ID(), j.Done(), j.Job.Spec.Total)
					}
				}
				if t.Failed() {
					t.Fatalf("died at %v\n%s", m.deaths, m.log())
				}
			}
		}
	}
}

// TestTheJournalIsLost: the daemon dies and its journal is lost. The jobs are found by their tags, and
// none waits for a request without a move.
func TestTheJournalIsLost(t *testing.T) {
	total := crashRun(t, nil, false)
	for k := 1; k <= total; k += sampling() {
		b := &boundaries{kill: map[int]bool{k: true}, after: k%2 == 0}
		w, jobs, m := tellStory(t, b, func(m *mortal, _ *world.Trainer) {
			if b.n == k { // what it writes from now on is lost
				*m.journal = journal.Memory{}
			}
		}, nil)
		for _, j := range jobs {
			if j.Done() < j.Job.Spec.Total {
				t.Errorf("lost at effect %d: job %d did %v of %v", k, j.ID(), j.Done(), j.Job.Spec.Total)
			}
		}
		for _, bad := range w.Check() {
			t.Errorf("lost at effect %d: %s", k, bad)
		}
		if t.Failed() {
			t.Fatalf("died at %v\n%s", m.deaths, m.log())
		}
	}
}

// TestRunsAreWhereTheyWereMeant: without interference Slurm runs every job on the target's nodes and with
// the target's GPUs on each.
func TestRunsAreWhereTheyWereMeant(t *testing.T) {
	_, jobs, m := tellStory(t, &boundaries{}, nil, nil)
	runs := 0
	for _, j := range jobs {
		for _, r := range j.Runs() {
			runs++
			same := len(r.Split) == len(r.Aim)
			for _, s := range r.Split {
				same = same && r.Aim.On(s.Node) == s.GPUs
			}
			if !same {
				t.Errorf("I4 job %d: run %d was meant for %s and is on %v", j.ID(), r.Restarts, r.Aim, r.Split)
			}
		}
	}
	if runs < 5 || t.Failed() {
		t.Errorf("%d runs\n%s", runs, m.log())
	}
}
