package world_test

import (
	"fmt"
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

// With every policy a job that Slurm would not start holds no GPUs and delays no other job. It starts once
// its begin time has passed, or its dependency is satisfied.
func TestWhatSlurmWouldNotStartGetsNothing(t *testing.T) {
	for _, p := range everyPolicy() {
		t.Run(p.Name, func(t *testing.T) {
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 4)}})
			d := boot(t, w, new(journal.Memory), p.Name)
			submit := func(total float64, args ...string) *world.Trainer {
				return w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 4, Max: 4, Total: total}, Model: world.Perfect(1), Args: args})
			}
			later := submit(5, "--begin=now+3600")
			first := submit(4000)
			after := submit(5, fmt.Sprintf("--dependency=afterok:%d", first.ID()))
			never := submit(5, fmt.Sprintf("--dependency=afternotok:%d", first.ID()))
			start := w.Now()
			w.At(2*time.Minute, func() {
				if first.Ended() || sent(w, start) == 0 {
					t.Error("the first, which nothing keeps from starting, does not run")
				}
			})
			w.At(59*time.Minute, func() {
				if !first.Ended() || !after.Ended() || later.Ended() || never.Ended() {
					t.Errorf("before the begin time: first %t, after %t, later %t, never %t", first.Ended(), after.Ended(), later.Ended(), never.Ended())
				}
			})
			w.At(62*time.Minute, func() {
				if !later.Ended() {
					t.Error("it did not start at its begin time")
				}
			})
			w.At(63*time.Minute, func() { _ = w.User("alice").Cancel(t.Context(), slurm.JobID(never.ID())) })
			finish(t, w, d, 70*time.Minute)
		})
	}
}

// A job whose dependency can never be satisfied starts once its user removes the dependency, although
// Slurm still shows JobHeldAdmin. A job that an administrator holds does not start.
func TestARepairedDependencyStarts(t *testing.T) {
	for _, restart := range []bool{false, true} {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(1, 4)}})
		kept := new(journal.Memory)
		d := boot(t, w, kept, "lookahead")
		submit := func(args ...string) *world.Trainer {
			return w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 1, Total: 2}, Model: world.Perfect(10), Args: args})
		}
		first := submit()
		never, held := submit(fmt.Sprintf("--dependency=afternotok:%d", first.ID())), submit()
		if err := w.User("root").AdminHold(t.Context(), slurm.JobID(held.ID())); err != nil {
			t.Fatal(err)
		}
		finish(t, w, d, 10*time.Minute)
		if said := whys(d); never.Ended() || !strings.Contains(said, "never starts: its dependency on") {
			t.Fatalf("before the repair: ended %t\n%s", never.Ended(), said)
		}
		if err := w.User("alice").Independent(t.Context(), slurm.JobID(never.ID())); err != nil {
			t.Fatal(err)
		}
		if restart {
			d = boot(t, w, kept, "lookahead")
		}
		finish(t, w, d, 10*time.Minute)
		if !never.Ended() || held.Ended() {
			t.Errorf("restarted %t: the repaired one ended %t, the held one %t\n%s", restart, never.Ended(), held.Ended(), whys(d))
		}
	}
}
