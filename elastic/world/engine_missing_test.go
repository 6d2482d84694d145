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
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// asking counts queries, and can omit jobs from the next answers.
type asking struct {
	slurm.Client
	bulk, single int
	half         int // number of next answers without jobs
}

func (a *asking) Jobs(ctx context.Context) ([]slurm.Job, error) {
	a.bulk++
	if a.half > 0 {
		a.half--
		return nil, nil
	}
	return a.Client.Jobs(ctx)
}

func (a *asking) Job(ctx context.Context, id slurm.JobID) (slurm.Detail, error) {
	a.single++
	return a.Client.Job(ctx, id)
}

// onceThere returns records of jobs that ran when sluiced went down and that Slurm has purged since.
func onceThere(t *testing.T, kept *journal.Memory, many int, now time.Time) {
	t.Helper()
	records := make([]journal.JobRecord, many)
	for i := range records {
		token := fmt.Sprintf("%032x", 1_000_000+i)
		records[i] = journal.JobRecord{
			Token:    token,
			Identity: journal.Identity{ID: elastic.JobID(1_000_000 + i), Owner: elastic.Owner{User: "alice", UID: 7000}, SlurmUID: 7000, Partition: "gpu"},
			Life:     journal.Life{State: "RUNNING", Submitted: now.Add(-48 * time.Hour), FirstRun: now.Add(-47 * time.Hour)},
			Tag:      elastic.Tag{Spec: elastic.Spec{Token: token, Min: 1}},
		}
	}
	if err := kept.SaveJobs(t.Context(), records); err != nil {
		t.Fatal(err)
	}
}

// Jobs that ended while sluiced was down and that Slurm has purged: however many there are, the first
// cycle ends all of them, with one more query for all jobs and 16 for single ones, and a job
// submitted meanwhile starts.
func TestManyEndedDuringAnOutage(t *testing.T) {
	for _, many := range []int{16, 300, 10_000} {
		w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
		kept := new(journal.Memory)
		onceThere(t, kept, many, w.Now())
		job := w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 1, Max: 4, Total: 1000}})
		a := &asking{Client: w.Client}
		d := boot(t, w, kept, "lookahead", func(c *engine.Config) { c.Slurm = a })
		began := time.Now()
		if _, err := d.Cycle(t.Context(), w.Now()); err != nil {
			t.Fatalf("of %d jobs: the first cycle decided nothing: %v", many, err)
		}
		t.Logf("%d jobs: %v", many, time.Since(began))
		if a.bulk > 2 || a.single > 16 {
			t.Errorf("of %d jobs Slurm was asked %d times for all and %d times for one", many, a.bulk, a.single)
		}
		if left, _ := kept.Jobs(t.Context(), w.Now()); len(left) != 1 {
			t.Errorf("of %d jobs %d are in the journal as alive, want bob's", many, len(left))
		}
		drive(t, w, d, 10*time.Second)
		if len(job.Runs()) == 0 {
			t.Errorf("after %d ended jobs bob's does not run\n%s", many, d.log.String()[:min(2000, d.log.Len())])
		}
	}
}

// An answer that lacks jobs, even twice, ends no job if another answer has them.
func TestHalfAnAnswerEndsNoJob(t *testing.T) {
	for half := 1; half <= 2; half++ {
		w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(8, 4)}})
		for range 30 {
			w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 1, Total: 1000}})
		}
		a := &asking{Client: w.Client}
		d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Slurm = a })
		drive(t, w, d, time.Minute)
		a.half = half
		if _, err := d.Cycle(t.Context(), w.Now()); err == nil {
			t.Errorf("%d answers without jobs were accepted", half)
		}
		drive(t, w, d, time.Minute)
		log := d.log.String()
		if strings.Contains(log, " ended: ") || !strings.Contains(log, " sighted: ") {
			t.Errorf("after %d answers without jobs:\n%s", half, log)
		}
	}
}

// rewrite changes the id in the job's comment, as its user can with scontrol.
func rewrite(t *testing.T, w *world.World, user string, id slurm.JobID, n int) {
	t.Helper()
	comment := elastic.Tag{Spec: elastic.Spec{Token: fmt.Sprintf("%032x", 1<<40+n), Min: 4}, Directive: elastic.Directive{Hold: true}}.String()
	if err := w.User(user).Update(t.Context(), id, slurm.Update{Comment: &comment}); err != nil {
		t.Fatal(err)
	}
}

// eves submits jobs that stay held.
func eves(t *testing.T, w *world.World, many int) (ids []slurm.JobID) {
	t.Helper()
	for n := range many {
		spec := elastic.Spec{Token: fmt.Sprintf("%032x", n+1), Min: 4}
		ids = append(ids, tagged(t, w, "eve", elastic.Tag{Spec: spec, Directive: elastic.Directive{Hold: true}}.String()))
	}
	return ids
}

// Eve rewrites the id in the comments of many of her jobs, once: no cycle fails, Slurm gets no more
// queries than usual, nothing is adopted, and alice's job starts.
func TestTokensRewrittenOnce(t *testing.T) {
	for _, many := range []int{300, 1000} {
		w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
		a := &asking{Client: w.Client}
		kept := new(journal.Memory)
		d := boot(t, w, kept, "lookahead", func(c *engine.Config) { c.Slurm = a })
		ids := eves(t, w, many)
		w.At(time.Minute, func() {
			for n, id := range ids {
				rewrite(t, w, "eve", id, n)
			}
		})
		var job *world.Trainer
		w.At(65*time.Second, func() { job = w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 1000}}) })
		drive(t, w, d, 3*time.Minute)
		unharmed(t, d, kept, a, many+1)
		if len(job.Runs()) == 0 {
			t.Errorf("%d comments rewritten: alice's job does not run", many)
		}
	}
}

// unharmed fails the test if a cycle failed, more records were made than there are jobs, or Slurm was
// queried for single jobs.
func unharmed(t *testing.T, d *daemon, kept *journal.Memory, a *asking, jobs int) {
	t.Helper()
	records, err := kept.Jobs(t.Context(), time.Time{})
	if err != nil || len(records) != jobs || len(d.Report().Jobs) != jobs {
		t.Errorf("%d records and %d jobs in the report, want %d (%v)", len(records), len(d.Report().Jobs), jobs, err)
	}
	log := d.log.String()
	if a.single > 0 || strings.Contains(log, " blind: ") || strings.Contains(log, " ended: ") {
		t.Errorf("%d queries for single jobs\n%s", a.single, log[:min(len(log), 2000)])
	}
	if n := strings.Count(log, "the id in its comment was changed"); n > jobs {
		t.Errorf("it was said %d times of %d jobs", n, jobs)
	}
}

// Ten of eve's jobs get another id every 3 s for 95 min: no record is added.
func TestTokensRewrittenForEver(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
	a := &asking{Client: w.Client}
	kept := new(journal.Memory)
	d := boot(t, w, kept, "lookahead", func(c *engine.Config) { c.Slurm = a })
	ids := eves(t, w, 10)
	n := 0
	for at := time.Minute; at < 95*time.Minute; at += 3 * time.Second {
		w.At(at, func() {
			for _, id := range ids {
				n++
				rewrite(t, w, "eve", id, n)
			}
		})
	}
	drive(t, w, d, 96*time.Minute)
	unharmed(t, d, kept, a, 10)
	if n < 18_000 {
		t.Fatalf("only %d comments were written", n)
	}
}

// A job that ended and that its user requeued with another id is still the same job: no record is
// added either.
func TestTokenRewrittenOverARequeue(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
	a := &asking{Client: w.Client}
	kept := new(journal.Memory)
	d := boot(t, w, kept, "lookahead", func(c *engine.Config) { c.Slurm = a })
	job := w.Submit(world.Job{User: "eve", Spec: elastic.Spec{Min: 1, Max: 4, Total: 1000}})
	w.At(time.Minute, func() {
		if err := w.User("eve").RequeueHold(t.Context(), job.ID()); err != nil {
			t.Error(err)
		}
		rewrite(t, w, "eve", job.ID(), 1)
	})
	_ = w.Drive(context.Background(), d, 3*time.Minute)
	unharmed(t, d, kept, a, 1)
}
