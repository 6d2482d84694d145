package world_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// TestOrdinaryJobOfLowerPriority: of an elastic and an ordinary job that wait for the same GPUs, the one
// of higher priority starts first, whoever gives the GPUs back: an ordinary job that ends, or an elastic
// one that shrinks.
func TestOrdinaryJobOfLowerPriority(t *testing.T) {
	for _, policy := range []string{"lookahead", "knapsack", "fcfs"} {
		for name, prio := range map[string]map[string]int64{
			"elastic first":  {"alice": 5000, "carol": 1000},
			"ordinary first": {"alice": 1000, "carol": 5000},
		} {
			for _, holder := range []string{"ordinary", "elastic"} {
				t.Run(policy+"/"+name+"/"+holder, func(t *testing.T) {
					if holder == "elastic" && policy == "fcfs" {
						t.Skip("fcfs shrinks no job")
					}
					w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{
						Seed: 3, Nodes: fake.Grid(1, 4), Priority: func(_ slurm.JobID, user, _ string) int64 { return prio[user] + 1 },
					}})
					d := boot(t, w, new(journal.Memory), policy)
					if holder == "ordinary" {
						w.Ordinary("dora", 1, 4, 20*time.Minute)
					} else {
						w.Submit(world.Job{User: "dora", Spec: elastic.Spec{Min: 1, Max: 4, Total: 4000}, Model: world.Amdahl(60, 0.05)})
					}
					finish(t, w, d, 10*time.Minute)
					ordinary := w.Ordinary("carol", 1, 2, 30*time.Hour)
					job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 3, Max: 3, Total: 20}, Model: world.Perfect(60)})
					finish(t, w, d, 3*time.Hour)
					o, err := w.User("root").Job(t.Context(), ordinary)
					if err != nil || o.State != slurm.Running {
						t.Fatalf("%s, %v\n%s", o.State, err, d.log.String())
					}
					if first := len(job.Runs()) > 0; first != (name == "elastic first") || first && !job.Runs()[0].Began.Before(o.Start) {
						t.Errorf("the elastic job ran %d times, the ordinary one began at %s\n%s", len(job.Runs()), o.Start, d.log.String())
					}
				})
			}
		}
	}
}
