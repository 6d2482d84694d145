package world_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// half is the adversary that always claims half of its length.
func half(t *testing.T) adversary {
	t.Helper()
	i := slices.IndexFunc(adversaries, func(a adversary) bool { return a.name == steadyHalf })
	if i < 0 {
		t.Fatal("there is no such adversary")
	}
	return adversaries[i]
}

// stretchOf returns a job's Stretch from the last report.
func stretchOf(t *testing.T, d *daemon, tr *world.Trainer) elastic.Stretch {
	t.Helper()
	for _, jr := range d.Engine.Report().Jobs {
		if jr.Record.Token == tr.Token && !jr.Ended {
			return jr.Job.Stretch
		}
	}
	t.Fatalf("job %d is not in the report", tr.ID())
	return elastic.Stretch{}
}

// TestLengthsAreLearned: if a user's jobs take twice their declared work, later jobs are expected to do
// so too, also after a restart of sluiced. If jobs take what they declared, or stop early, nothing
// is learned.
func TestLengthsAreLearned(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(3, 4)}})
	kept, lies := new(journal.Memory), half(t)
	d := boot(t, w, kept, "lookahead")
	submit := func(user string, n uint64) *world.Trainer {
		j := world.Job{User: user, Spec: elastic.Spec{Min: 1, Max: 4, Total: 20}, Model: world.Amdahl(60, 0.05)}
		switch user {
		case "ada":
			j.ForgeLine = lies.reports(n, j)
		case "cyd":
			j.ExitAt = 8
		}
		return w.Submit(j)
	}
	users := []string{"ada", "bea", "cyd"}
	for n := range uint64(4) {
		for _, user := range users {
			submit(user, n)
		}
		if err := w.Drive(context.Background(), d, 3*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	expected := func(when string) {
		t.Helper()
		var jobs []*world.Trainer
		for _, user := range users {
			jobs = append(jobs, submit(user, 9))
		}
		if err := w.DriveUntil(context.Background(), d, time.Minute, func() bool { return false }); err != nil {
			t.Fatal(err)
		}
		if s := stretchOf(t, d, jobs[0]); math.Abs(s.Factor-2) > 0.3 || s.Jobs < 4 {
			t.Errorf("%s: of the liar's job %+v is expected, want twice as much", when, s)
		}
		for _, tr := range jobs[1:] {
			if s := stretchOf(t, d, tr); s != (elastic.Stretch{}) {
				t.Errorf("%s: of a job of %s %+v is expected, want what it declared", when, tr.Job.User, s)
			}
		}
		if err := w.Drive(context.Background(), d, 3*time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	expected("at first")
	d = boot(t, w, kept, "lookahead")
	expected("after a restart")
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}

// TestSteadyHalf: a user whose jobs always claim half of their length gains little with the first job,
// and nothing once earlier jobs have ended. The scenes are those in which the gain was largest
// while a job beyond its declared total still counted as almost done.
func TestSteadyHalf(t *testing.T) {
	unraced(t)
	a, first, known := half(t), new(gains), new(gains)
	mine := func(job int) bool { return job%3 == 0 } // ada's
	for n := range liars(t, 6) {
		s := drawScene(uint64(21 + n))
		honestly := new(journal.Memory)
		honest := s.playOn(t, honestly, "lookahead", a, allHonest)
		first.add(honest, s.play(t, "lookahead", a, oneLies(s)), s.theLiar())
		lying := s.playOn(t, pastOf(t, honestly, "ada"), "lookahead", a, mine)
		for k := range s.jobs {
			if mine(k) {
				known.add(honest, lying, k)
			}
		}
	}
	for what, g := range map[string]*gains{"by the first job": first, "once known": known} {
		t.Log(what, g)
		if share, off := g.spared(); share-off > 0.05 {
			t.Errorf("%s the liar's jobs take %.1f %% less", what, 100*share)
		}
	}
}

// pastOf returns a journal with a user's ended jobs that took twice their declared work.
func pastOf(t *testing.T, from *journal.Memory, user string) *journal.Memory {
	t.Helper()
	all, err := from.Jobs(context.Background(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var past []journal.JobRecord
	for n, r := range all {
		if r.Owner.User == user {
			r.Token, r.ID, r.Ended = fmt.Sprintf("past%d", n), elastic.JobID(9000+n), r.Submitted.Add(-time.Hour)
			r.Ending = journal.Ending{How: journal.Completed, Declared: 5000, Had: 10_000}
			past = append(past, r)
		}
	}
	kept := new(journal.Memory)
	if err := kept.SaveJobs(context.Background(), past); err != nil {
		t.Fatal(err)
	}
	return kept
}
