package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// abandoned is a cluster with more jobs than GPUs, each of so many minutes of work on one GPU.
func abandoned(t *testing.T, minutes float64) (*world.World, *journal.Memory, *daemon, []*world.Trainer) {
	t.Helper()
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 4)}})
	kept := new(journal.Memory)
	d := boot(t, w, kept, "lookahead")
	var jobs []*world.Trainer
	for range 12 {
		jobs = append(jobs, w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 4, Total: minutes}, Model: world.Amdahl(60, 0.05)}))
	}
	return w, kept, d, jobs
}

// TestWaitingJobsAreKeptWaiting: while sluiced runs, no job starts by itself, however long it waits: here
// for hours, several times as long as a begin time lasts. A job that Slurm starts by itself has no
// incarnation.
func TestWaitingJobsAreKeptWaiting(t *testing.T) {
	w, _, d, jobs := abandoned(t, 900)
	finish(t, w, d, 48*time.Hour)
	if strings.Contains(d.log.String(), "of incarnation 0 began") {
		t.Errorf("a job started by itself:\n%s", d.log.String())
	}
	for _, j := range jobs {
		if !j.Ended() {
			t.Errorf("job %d has not ended: %s", j.ID(), whys(d))
		}
	}
}

// TestSluicedIsGoneForGood: after Abandon every waiting job starts as an ordinary job of its size, and
// all of them complete.
func TestSluicedIsGoneForGood(t *testing.T) {
	for _, after := range []time.Duration{10 * time.Second, 5*time.Minute + 1500*time.Millisecond, 40 * time.Minute} {
		w, _, d, jobs := abandoned(t, 200)
		finish(t, w, d, after)
		w.Advance(48 * time.Hour)
		for _, j := range jobs {
			if detail, err := w.User("root").Job(context.Background(), j.ID()); !j.Ended() || j.Done() < j.Job.Spec.Total {
				t.Errorf("sluiced gone after %s: job %d did %g of %g: %s %s held=%t, %v", after, j.ID(), j.Done(), j.Job.Spec.Total, detail.State, detail.Reason, detail.Held, err)
			}
		}
	}
}

// TestUsersHoldOutlivesSluiced: a job that its user holds, through Slurm or through sluice, does not start
// when sluiced is gone; once it is released it waits for sluice, or starts if that is gone.
func TestUsersHoldOutlivesSluiced(t *testing.T) {
	for _, way := range []string{"scontrol hold", "sluice hold"} {
		w, _, d, jobs := abandoned(t, 200)
		last := jobs[len(jobs)-1]
		finish(t, w, d, time.Minute)
		var err error
		if way == "scontrol hold" {
			err = w.User("alice").Hold(t.Context(), last.ID())
		} else {
			err = d.Direct(t.Context(), elastic.JobID(last.ID()), func(o elastic.Directive) elastic.Directive { o.Hold = true; return o })
		}
		finish(t, w, d, time.Minute)
		w.Advance(48 * time.Hour)
		if n := len(last.Runs()); err != nil || n > 0 {
			t.Fatalf("%s: %v, it had %d runs", way, err, n)
		}
		if err := w.User("alice").Release(t.Context(), last.ID()); err != nil {
			t.Error(err)
		}
		w.Advance(12 * time.Hour)
		if !last.Ended() {
			t.Errorf("%s: released, and it did not run", way)
		}
	}
}

// TestReleaseOfAHoldThroughSlurm: sluice release ends a hold through Slurm, and scontrol release one
// through sluice; the job then starts when sluice has GPUs for it.
func TestReleaseOfAHoldThroughSlurm(t *testing.T) {
	for _, way := range []string{"scontrol, then sluice", "sluice, then scontrol"} {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
		d := boot(t, w, new(journal.Memory), "lookahead")
		w.Ordinary("carol", 1, 4, 20*time.Minute)
		job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 400}, Model: world.Amdahl(60, 0.05)})
		hold := func(on bool) func(elastic.Directive) elastic.Directive {
			return func(o elastic.Directive) elastic.Directive { o.Hold = on; return o }
		}
		finish(t, w, d, time.Minute)
		if way == "sluice, then scontrol" {
			_ = d.Direct(t.Context(), elastic.JobID(job.ID()), hold(true))
		} else {
			_ = w.User("alice").Hold(t.Context(), job.ID())
		}
		finish(t, w, d, 30*time.Minute)
		if got := d.of(t, job).Job; got.Phase != elastic.Waiting || !got.UserHold || len(job.Runs()) > 0 {
			t.Errorf("%s: %s, held by its user: %t", way, got.Phase, got.UserHold)
		}
		if way == "sluice, then scontrol" {
			_ = w.User("alice").Release(t.Context(), job.ID())
		} else {
			_ = d.Direct(t.Context(), elastic.JobID(job.ID()), hold(false))
		}
		finish(t, w, d, 2*time.Minute)
		if got := d.of(t, job).Job; got.Phase != elastic.Running || got.Directive.Hold || got.UserHold || got.GPUs() != 4 {
			t.Errorf("%s: %s on %d GPUs, held: %t, %t\n%s", way, got.Phase, got.GPUs(), got.Directive.Hold, got.UserHold, d.log.String())
		}
	}
}

// TestHeldJobsOfAnOlderSluice: jobs that an older sluice holds are deferred, and those that their users
// hold stay held. It is tried with the daemon killed before each effect of the conversion.
func TestHeldJobsOfAnOlderSluice(t *testing.T) {
	for kill := range 8 {
		w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
		w.Ordinary("carol", 1, 4, 20*time.Minute)
		older := func() *world.Trainer {
			return w.Submit(world.Job{User: "alice", Older: true, Spec: elastic.Spec{Min: 4, Max: 4, Total: 5}, Model: world.Perfect(10)})
		}
		waits, ordered, admins := older(), older(), older()
		comment := "sluice/1 id=" + ordered.Token + " inc=0 min=4 max=4 hold=1"
		if err := w.User("alice").Update(t.Context(), ordered.ID(), slurm.Update{Comment: &comment}); err != nil {
			t.Fatal(err)
		}
		if err := w.User("root").AdminHold(t.Context(), admins.ID()); err != nil {
			t.Fatal(err)
		}
		b := &boundaries{kill: map[int]bool{kill: true}}
		m := newMortal(t, w, b)
		if err := w.Drive(t.Context(), m, 10*time.Minute); err != nil {
			t.Fatal(err)
		}
		held := func(j *world.Trainer) bool {
			d, err := w.User("root").Job(context.Background(), j.ID())
			return err == nil && d.Held
		}
		if held(waits) || !held(ordered) || !held(admins) {
			t.Errorf("killed at %d: held: the one that waits %t, by its user's order %t, by an administrator %t\n%s", kill, held(waits), held(ordered), held(admins), m.log())
		}
		if err := w.Drive(t.Context(), m, 20*time.Minute); err != nil {
			t.Fatal(err)
		}
		if !waits.Ended() || ordered.Ended() || admins.Ended() {
			t.Errorf("killed at %d: ended: %t, %t, %t\n%s", kill, waits.Ended(), ordered.Ended(), admins.Ended(), m.log())
		}
	}
}

// TestUsersBeginTimeThroughSlurm: a begin time that its user sets through Slurm for a waiting job is kept,
// though it is sooner than a week: the job starts soon after it, and not before, also if sluiced is
// restarted. One that is taken back lets it start at once.
func TestUsersBeginTimeThroughSlurm(t *testing.T) {
	for _, way := range []string{"kept", "taken back", "sluiced is restarted"} {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
		kept := new(journal.Memory)
		d := boot(t, w, kept, "lookahead")
		w.Ordinary("carol", 1, 4, 20*time.Minute)
		job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 20}, Model: world.Amdahl(60, 0.05)})
		finish(t, w, d, 5*time.Minute)
		begin := func(in time.Duration) {
			if err := w.User("alice").Defer(t.Context(), job.ID(), w.Slurm.Now().Add(in)); err != nil {
				t.Fatal(err)
			}
			finish(t, w, d, 2*time.Minute)
		}
		begin(3 * time.Hour)
		after := 3 * time.Hour
		switch way {
		case "taken back":
			begin(4 * time.Minute)
			after = 50 * time.Minute // carol's job ends 20 minutes before
		case "sluiced is restarted":
			d = boot(t, w, kept, "lookahead")
		}
		finish(t, w, d, after-30*time.Minute)
		early := len(job.Runs())
		finish(t, w, d, time.Hour)
		if (early > 0) != (way == "taken back") || len(job.Runs()) == 0 {
			t.Errorf("%s: %d runs before, %d after\n%s", way, early, len(job.Runs()), d.log.String())
		}
	}
}
