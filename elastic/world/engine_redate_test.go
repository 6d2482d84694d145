package world_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// redated is a world in which a job of a known speed runs, alone on 4 GPUs, with an hour of work on one.
func redated(t *testing.T) (*world.World, *daemon, *journal.Memory, *world.Trainer) {
	t.Helper()
	memory := new(journal.Memory)
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
	d := boot(t, w, memory, "lookahead")
	w.Submit(world.Job{User: "ann", Spec: elastic.Spec{Min: 1, Max: 1, Total: 6, Model: "m"}, Model: world.Amdahl(10, 0)})
	drive(t, w, d, 2*time.Minute)
	job := w.Submit(world.Job{User: "ann", Spec: elastic.Spec{Min: 1, Max: 4, Total: 360, Model: "m"}, Model: world.Amdahl(10, 0)})
	drive(t, w, d, 2*time.Minute)
	return w, d, memory, job
}

// shown is the job in the last report, and the tag in its comment.
func shown(t *testing.T, w *world.World, d *daemon, job *world.Trainer) (jr publish.JobReport, tag elastic.Tag) {
	t.Helper()
	for _, r := range d.Report().Jobs {
		if r.Record.ID == elastic.JobID(job.ID()) {
			jr = r
		}
	}
	detail, err := w.Client.Job(context.Background(), slurm.JobID(job.ID()))
	if err == nil {
		tag, err = elastic.ParseTag(detail.Comment)
	}
	if err != nil {
		t.Fatal(err)
	}
	return jr, tag
}

// A running job gets a deadline, which is judged at once, without being stopped: one that can be met is
// admitted, and is in its comment after the next cycle. An admission stays if the deadline moves to a later
// time, also over a restart of the daemon that has not written the comment yet; one that cannot be met is
// not admitted; without a deadline nothing is left of it.
func TestNewDeadline(t *testing.T) {
	w, d, memory, job := redated(t)
	ctx, id := context.Background(), elastic.JobID(job.ID())
	runs := len(job.Runs())
	in := func(after time.Duration) time.Time { return w.Now().Add(after).Truncate(time.Second).UTC() }

	due := in(2 * time.Hour)
	judged, err := engine.Redate(ctx, d.Engine, id, due, false, w.Now())
	if err != nil || judged == nil || !judged.Promised || judged.Due != elastic.DuePromised {
		t.Fatalf("two hours for one hour of work: %+v, %v", judged, err)
	}
	drive(t, w, d, time.Minute)
	if jr, tag := shown(t, w, d, job); !jr.Promised || !jr.Record.Promised || !tag.Spec.Deadline.Equal(due) || tag.Spec.Soft {
		t.Errorf("after a cycle: %+v, comment %s", jr.Decided, tag)
	}

	later := in(5 * time.Hour)
	if judged, err = engine.Redate(ctx, d.Engine, id, later, true, w.Now()); err != nil || !judged.Promised {
		t.Errorf("a later deadline: %+v, %v", judged, err)
	}
	d = boot(t, w, memory, "lookahead") // before the comment was written
	drive(t, w, d, time.Minute)
	if jr, tag := shown(t, w, d, job); !jr.Promised || !tag.Spec.Deadline.Equal(later) || !tag.Spec.Soft {
		t.Errorf("after a restart: %+v, comment %s", jr.Decided, tag)
	}

	if judged, err = engine.Redate(ctx, d.Engine, id, in(5*time.Minute), false, w.Now()); err != nil || judged.Promised || judged.Due != elastic.DueUnmet || judged.Ends.IsZero() {
		t.Errorf("five minutes for the same: %+v, %v", judged, err)
	}
	drive(t, w, d, time.Minute)
	if jr, _ := shown(t, w, d, job); jr.Promised || jr.Record.Promised || jr.Job.Phase != elastic.Running {
		t.Errorf("then: %+v", jr.Decided)
	}

	if _, err = engine.Redate(ctx, d.Engine, id, time.Time{}, false, w.Now()); err != nil {
		t.Fatal(err)
	}
	drive(t, w, d, time.Minute)
	if jr, tag := shown(t, w, d, job); jr.Due != elastic.DueUnjudged || jr.Promised || !tag.Spec.Deadline.IsZero() || tag.Spec.Soft {
		t.Errorf("without: %+v, comment %s", jr.Decided, tag)
	}
	for _, r := range job.Runs()[runs:] { // it may have grown, and was never parked
		if r.Began.IsZero() {
			t.Errorf("run %+v", r)
		}
	}
	if bad := w.Check(); len(bad) > 0 {
		t.Error(bad)
	}
}

// What is impossible is refused, and changes nothing.
func TestNewDeadlineIsRefused(t *testing.T) {
	w, d, _, job := redated(t)
	ctx, id := context.Background(), elastic.JobID(job.ID())
	due := w.Now().Add(time.Hour).Truncate(time.Second).UTC()
	for name, c := range map[string]struct {
		id   elastic.JobID
		due  time.Time
		want string
	}{
		"no such job":     {4711, due, engine.ErrNoJob.Error()},
		"half a second":   {id, due.Add(time.Second / 2), "whole seconds"},
		"the year 2300":   {id, due.AddDate(300, 0, 0), "before the year 2200"},
		"first job, over": {1, due, engine.ErrEnded.Error()},
	} {
		if _, err := engine.Redate(ctx, d.Engine, c.id, c.due, false, w.Now()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	long := strings.Repeat("x", elastic.MaxComment-300)
	_, tag := shown(t, w, d, job)
	tag.Comment = long
	comment := tag.String()
	comment += strings.Repeat("x", elastic.MaxComment-len(comment))
	if err := w.User("ann").Update(ctx, slurm.JobID(job.ID()), slurm.Update{Comment: &comment}); err != nil {
		t.Fatal(err)
	}
	drive(t, w, d, time.Minute)
	if _, err := engine.Redate(ctx, d.Engine, id, due, false, w.Now()); !errors.Is(err, engine.ErrNoRoom) {
		t.Errorf("a full comment: %v", err)
	}
	if jr, _ := shown(t, w, d, job); !jr.Record.Tag.Spec.Deadline.IsZero() || jr.Promised {
		t.Errorf("%+v", jr.Record.Tag)
	}
}
