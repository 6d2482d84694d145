package world_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// TestOrdersNeedNoCycle: a job submitted since the last cycle is found and held at once, also during a
// cycle before an effect; it never starts.
func TestOrdersNeedNoCycle(t *testing.T) {
	ctx := context.Background()
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 4)}})
	var d *daemon
	var inside func()
	d = boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) {
		c.Between = func() {
			if f := inside; f != nil {
				inside = nil
				f()
			}
		}
	})
	spec := elastic.Spec{Min: 1, Max: 4, Total: 100}
	first := w.Submit(world.Job{User: "ann", Spec: spec, Model: world.Amdahl(10, 0)})
	if err := w.Drive(ctx, d, time.Minute); err != nil {
		t.Fatal(err)
	}
	hold := func(job *world.Trainer) {
		id := elastic.JobID(job.ID())
		if !d.Meet(ctx, id, w.Now()) {
			t.Errorf("job %d is not found", id)
		}
		if err := d.Direct(ctx, id, func(o elastic.Directive) elastic.Directive { o.Hold = true; return o }); err != nil {
			t.Error(err)
		}
		for _, jr := range d.Report().Jobs {
			if jr.Record.ID == id && jr.Job.Phase == elastic.Waiting {
				return
			}
		}
		t.Errorf("job %d is not in the report", id)
	}
	second := w.Submit(world.Job{User: "ann", Spec: spec, Model: world.Amdahl(10, 0)})
	hold(second)
	third := w.Submit(world.Job{User: "ann", Spec: spec, Model: world.Amdahl(10, 0)})
	fourth := w.Submit(world.Job{User: "ann", Spec: spec, Model: world.Amdahl(10, 0)})
	inside = func() { hold(fourth) }
	if err := w.Drive(ctx, d, 10*time.Minute); err != nil {
		t.Fatal(err)
	}
	if second.Done() > 0 || fourth.Done() > 0 || third.Done() == 0 || first.Done() == 0 {
		t.Errorf("done: %v %v %v %v; the second and the fourth were held", first.Done(), second.Done(), third.Done(), fourth.Done())
	}
	if d.Meet(ctx, 9999, w.Now()) {
		t.Error("found a job that does not exist")
	}
}

// TestReportsAreFresh: what a job has written since the last cycle is in the report. It is read once, and
// Slurm is not queried.
func TestReportsAreFresh(t *testing.T) {
	ctx := context.Background()
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(1, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period = time.Hour })
	job := w.Submit(world.Job{User: "ann", Spec: elastic.Spec{Min: 4, Max: 4, Total: 100}, Model: world.Amdahl(40, 0)})
	if err := w.Drive(ctx, d, 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	stale := d.Report()
	d.Refresh(w.Now())
	fresh := d.Report()
	if was, is := stale.Jobs[0], fresh.Jobs[0]; is.Record.Done <= was.Record.Done || is.Record.Done < job.Done()-2 || is.Job.Done != is.Record.Done || !is.Job.Speaks {
		t.Errorf("done %v of which %v was shown, and is now %v", job.Done(), was.Record.Done, is.Record.Done)
	}
	if fresh.Jobs[0].ETA.IsZero() || !fresh.At.Equal(stale.At) || stale.Jobs[0].Record.Done != 0 || stale.Jobs[0].Job.Done != 0 {
		t.Errorf("ends %v, seen at %v", fresh.Jobs[0].ETA, fresh.At)
	}
	if run := fresh.Jobs[0].Run; run.DoneTo != fresh.Jobs[0].Record.Done || stale.Jobs[0].Run.DoneTo != 0 || !run.Ended.IsZero() {
		t.Errorf("its run is shown as %+v", run)
	}
	if d.Refresh(w.Now()); d.Report() != fresh {
		t.Error("published again though nothing was written")
	}
}

// TestATakenReportStays: a report that a reader has is changed neither by new progress nor by later
// cycles. The memory of other reports is reused.
func TestATakenReportStays(t *testing.T) {
	ctx := context.Background()
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(2, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead")
	for _, total := range []float64{1, 40, 80} {
		w.Submit(world.Job{User: "ann", Spec: elastic.Spec{Min: 1, Max: 4, Total: total}, Model: world.Amdahl(40, 0.05)})
	}
	var taken []*publish.Report
	var was [][]elastic.Job
	for n := range 40 {
		if err := w.Drive(ctx, d, 20*time.Second); err != nil {
			t.Fatal(err)
		}
		if n%4 > 1 {
			continue // no reader took that one
		}
		r := d.Report()
		var jobs []elastic.Job
		for _, jr := range r.Jobs {
			jobs = append(jobs, *jr.Job)
		}
		taken, was = append(taken, r), append(was, jobs)
		if n%4 == 0 {
			d.Refresh(w.Now())
		}
	}
	ended := 0
	for n, r := range taken {
		for i, jr := range r.Jobs {
			if !reflect.DeepEqual(*jr.Job, was[n][i]) {
				t.Fatalf("report %d, job %d: %+v became %+v", n, jr.Record.ID, was[n][i], *jr.Job)
			}
			if jr.Ended {
				ended++
			}
			if id := jr.Job.ID; id != 0 == jr.Ended {
				t.Fatalf("report %d, job %d, ended: %t, has the job of %d", n, jr.Record.ID, jr.Ended, id)
			}
		}
	}
	if ended == 0 {
		t.Error("no job ended")
	}
}
