package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// userActions are what a user may do to the first job of the scenario, through Slurm, at any time. mends
// is the user's later action that lets the job continue, if it needs one.
var userActions = []struct {
	name string
	do   func(context.Context, *fake.Session, slurm.JobID) error
	mend func(context.Context, *fake.Session, slurm.JobID) error
	ends bool // the job is meant to be gone
}{
	{name: "cancel", do: func(ctx context.Context, u *fake.Session, id slurm.JobID) error { return u.Cancel(ctx, id) }, ends: true},
	{name: "hold", do: func(ctx context.Context, u *fake.Session, id slurm.JobID) error { return u.Hold(ctx, id) },
		mend: func(ctx context.Context, u *fake.Session, id slurm.JobID) error { return u.Release(ctx, id) }},
	{name: "release", do: func(ctx context.Context, u *fake.Session, id slurm.JobID) error { return u.Release(ctx, id) }},
	{name: "requeue", do: func(ctx context.Context, u *fake.Session, id slurm.JobID) error { return u.Requeue(ctx, id) }},
	{name: "requeuehold", do: func(ctx context.Context, u *fake.Session, id slurm.JobID) error { return u.RequeueHold(ctx, id) },
		mend: func(ctx context.Context, u *fake.Session, id slurm.JobID) error { return u.Release(ctx, id) }},
	{name: "update nodes", do: func(ctx context.Context, u *fake.Session, id slurm.JobID) error {
		return u.Update(ctx, id, slurm.Update{AnyNodes: true, NodeCount: 1, GPUsPerNode: 1})
	}},
	{name: "remove the comment", do: func(ctx context.Context, u *fake.Session, id slurm.JobID) error {
		empty := ""
		return u.Update(ctx, id, slurm.Update{Comment: &empty})
	}, mend: func(ctx context.Context, u *fake.Session, id slurm.JobID) error { return u.Release(ctx, id) }},
}

// TestTheUserWins lets the user act right before every effect of the daemon: the other jobs complete, a
// cancelled job stays cancelled, and no job is lost or run twice.
func TestTheUserWins(t *testing.T) {
	total := crashRun(t, nil, false)
	stride := sampling()
	for i, a := range userActions {
		t.Run(a.name, func(t *testing.T) {
			for k := 1; k <= total; k += stride {
				userRun(t, i, k)
			}
		})
	}
}

func userRun(t *testing.T, action, k int, change ...func(*engine.Config)) {
	t.Helper()
	ctx := context.Background()
	a := userActions[action]
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(3, 4)}})
	b := &boundaries{}
	m := newMortal(t, w, b, change...)
	jobs := story(w)
	victim := (*jobs)[0]
	acted := false
	b.meddle = func() {
		if b.n == k {
			// Slurm may refuse: not every action is possible in every state.
			acted = a.do(ctx, w.User(victim.Job.User), victim.ID()) == nil
		}
	}
	if a.mend != nil {
		w.At(50*time.Minute, func() { _ = a.mend(ctx, w.User(victim.Job.User), victim.ID()) })
	}
	if err := w.Drive(ctx, m, 6*time.Hour); err != nil {
		t.Errorf("%s before effect %d: %v\n%s", a.name, k, err, m.now.log.String())
	}
	for _, bad := range w.Check() {
		t.Errorf("%s before effect %d: %s", a.name, k, bad)
	}
	for i, j := range *jobs {
		gone := i == 0 && a.ends && acted
		if whole := j.Done() >= j.Job.Spec.Total; whole == gone && !(gone && whole) {
			t.Errorf("%s before effect %d (accepted: %t): job %d did %v of %v", a.name, k, acted, j.ID(), j.Done(), j.Job.Spec.Total)
		}
	}
	if t.Failed() {
		t.Fatalf("log:\n%s", m.now.log.String())
	}
}

// If the tag of a job is removed during a move that its user requested, the move ends at once, although
// the directive is not in the comment yet.
func TestTagTakenAwayDuringAnOrder(t *testing.T) {
	ctx := context.Background()
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
	d := boot(t, w, new(journal.Memory), "knapsack")
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 20}, Save: 20 * time.Second})
	w.At(2*time.Minute, func() {
		if err := d.Direct(ctx, elastic.JobID(job.ID()), func(elastic.Directive) elastic.Directive { return elastic.Directive{Pin: 2} }); err != nil {
			t.Fatal(err)
		}
	})
	taken := false
	for range 600 {
		if err := w.Drive(ctx, d, time.Second); err != nil {
			t.Fatal(err)
		}
		if !taken && strings.Contains(d.log.String(), "R2 asked to save") {
			mine := "mine"
			taken = w.User("alice").Update(ctx, job.ID(), slurm.Update{Comment: &mine}) == nil
		}
	}
	if log := d.log.String(); !taken || strings.Contains(log, "forgotten") || !strings.Contains(log, "its user removed the sluice comment") || job.State() != slurm.Completed {
		t.Errorf("taken %t, %s\n%s", taken, job.State(), log)
	}
	if n := len(job.Runs()); n != 1 {
		t.Errorf("%d runs", n)
	}
}
