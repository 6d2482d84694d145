package world_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// sent counts the daemon's changes in Slurm from a time on.
func sent(w *world.World, from time.Time) int {
	n := 0
	for _, c := range w.Slurm.Changes() {
		if c.By == world.Daemon && !c.At.Before(from) {
			n++
		}
	}
	return n
}

// With every policy a job that Slurm refuses at any size costs a few changes in 10 min, and fewer later.
// It is tried without end.
func TestSlurmIsNotAskedForTheImpossibleAllTheTime(t *testing.T) {
	for _, p := range everyPolicy() {
		t.Run(p.Name, func(t *testing.T) {
			forbidden := true
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(2, 4), Unseen: func([]string, int) bool { return forbidden }}})
			d := boot(t, w, new(journal.Memory), p.Name)
			job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 8, Total: 5}, Model: world.Amdahl(60, 0.05)})
			start, first := w.Now(), 0
			w.At(10*time.Minute, func() { first = sent(w, start) })
			w.At(3*time.Hour, func() {
				hour := sent(w, start.Add(2*time.Hour))
				if first < 8 || first > 24 || hour < 6 || hour > 24 {
					t.Errorf("%d changes in the first ten minutes and %d in the third hour: Slurm is asked too often, or not any more", first, hour)
				}
				forbidden = false
			})
			finish(t, w, d, 6*time.Hour)
			if !job.Ended() {
				t.Error("it never ran")
			}
		})
	}
}

// finish drives the world for a time, and checks the result.
func finish(t *testing.T, w *world.World, d *daemon, span time.Duration) {
	t.Helper()
	if err := w.Drive(context.Background(), d, span); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}

// If the nodes are the reason, the job soon runs on others; if the size is, it runs on fewer GPUs, and
// is not stopped for more GPUs all the time.
func TestWhatIsRefusedIsTriedOtherwise(t *testing.T) {
	for name, tc := range map[string]struct {
		unseen func(nodes []string, gpus int) bool
		starts time.Duration // at the latest
		runs   int           // at most
	}{
		"not on the first two nodes": {func(nodes []string, _ int) bool {
			return slices.Contains(nodes, "gpu1") || slices.Contains(nodes, "gpu2")
		}, 2 * time.Minute, 8},
		"not on more than two GPUs": {func(_ []string, gpus int) bool { return gpus > 2 }, time.Minute, 12},
		"not on one GPU":            {func(_ []string, gpus int) bool { return gpus == 1 }, 15 * time.Minute, 8},
	} {
		for _, p := range []string{"lookahead", "knapsack", "welfare"} {
			t.Run(name+"/"+p, func(t *testing.T) {
				w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(3, 4), Unseen: tc.unseen}})
				d := boot(t, w, new(journal.Memory), p)
				start := w.Now()
				job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 8, Total: 100}, Model: world.Amdahl(60, 0.05)})
				finish(t, w, d, 5*time.Hour)
				runs := job.Runs()
				if !job.Ended() || len(runs) == 0 {
					t.Fatalf("it did not run to its end: %d runs\n%s", len(runs), d.log.String())
				}
				if late := runs[0].Began.Sub(start); late > tc.starts || len(runs) > tc.runs {
					t.Errorf("it started after %s and ran %d times\n%s", late, len(runs), d.log.String())
				}
			})
		}
	}
}

// TestRefusalsAreExplained records what explain shows while Slurm refuses a job, and what ends the wait.
// Read the diff before -update.
func TestRefusalsAreExplained(t *testing.T) {
	forbidden := func([]string, int) bool { return true }
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(2, 4), Unseen: func(n []string, gpus int) bool { return forbidden(n, gpus) }}})
	d := boot(t, w, new(journal.Memory), "lookahead")
	var story strings.Builder
	start, was := w.Now(), 0
	tell := func(at time.Duration, what string, do func()) {
		w.At(at, func() {
			all := sent(w, start)
			fmt.Fprintf(&story, "%s: %d changes since, %s\n%s", at, all-was, what, whys(d))
			if was = all; do != nil {
				do()
			}
		})
	}
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 8, Total: 100}, Model: world.Amdahl(60, 0.05)})
	order := func() {
		if err := d.Direct(context.Background(), 1, func(x elastic.Directive) elastic.Directive { return x }); err != nil {
			t.Error(err)
		}
	}
	tell(10*time.Second, "refused at once", nil)
	tell(5*time.Minute, "again and again, on either node; then its user orders a try", order)
	tell(6*time.Minute, "tried, and refused", nil)
	tell(20*time.Minute, "less and less often; then a node gets another feature", func() { w.Slurm.SetFeatures("gpu2", "scratch") })
	tell(21*time.Minute, "tried, and refused; then whoever looks after the site allows two GPUs", func() { forbidden = func(_ []string, gpus int) bool { return gpus > 2 } })
	tell(25*time.Minute, "it runs", nil)
	tell(45*time.Minute, "more was refused, and is tried again before long", nil)
	finish(t, w, d, 5*time.Hour)
	if !job.Ended() {
		t.Error("it never ended")
	}
	golden(t, "refused.txt", story.String())
}

// Other jobs give up GPUs for every try, and are stopped twice for that, at growing intervals.
func TestARefusedJobStopsOthersSeldom(t *testing.T) {
	for _, p := range []string{"lookahead", "knapsack"} {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(2, 4), Unseen: func(_ []string, gpus int) bool { return gpus == 3 }}})
		d := boot(t, w, new(journal.Memory), p)
		other := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 8, Total: 2000}, Model: world.Amdahl(60, 0.05)})
		w.At(30*time.Minute, func() {
			w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 3, Max: 3, Total: 2000}, Model: world.Amdahl(60, 0.05)})
		})
		finish(t, w, d, 4*time.Hour)
		if n := len(other.Runs()); n > 20 {
			t.Errorf("%s: stopped %d times in four hours", p, n)
		}
		if said := whys(d); !strings.Contains(said, "where GPUs are idle)") {
			t.Errorf("%s: explained as\n%s", p, said)
		}
	}
}

// A restarted daemon does not know of earlier refusals, and tries once more.
func TestRefusalsAreForgottenHarmlessly(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(2, 4), Unseen: func([]string, int) bool { return true }}})
	kept := new(journal.Memory)
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 8, Total: 5}, Model: world.Amdahl(60, 0.05)})
	for range 5 {
		before := w.Now()
		finish(t, w, boot(t, w, kept, "lookahead"), 10*time.Minute)
		if n := sent(w, before); n < 2 || n > 26 {
			t.Errorf("%d changes in ten minutes of a life", n)
		}
	}
}

// If Slurm refuses the update itself, as a site's plugin may, it is not repeated all the time.
func TestRefusedChangesAreNotRepeatedAllTheTime(t *testing.T) {
	for _, op := range []string{"scontrol update", "scontrol update starttime now"} {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(2, 4), Faults: fake.Plan{{On: op, Kind: fake.Refused}}}})
		d := boot(t, w, new(journal.Memory), "lookahead")
		w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 8, Total: 5}, Model: world.Amdahl(60, 0.05)})
		finish(t, w, d, 10*time.Minute)
		if n := w.Slurm.Calls(op); n < 4 || n > 8 {
			t.Errorf("%s: asked %d times in ten minutes", op, n)
		}
		for _, j := range d.Report().Jobs {
			if !strings.Contains(sentence(j.Why), "Slurm does not start it") {
				t.Errorf("%s: %s", op, sentence(j.Why))
			}
		}
	}
}
