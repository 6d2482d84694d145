package world_test

import (
	"context"
	"slices"
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

// TestSlurmsOrder: under every policy that starts jobs in turn, waiting jobs start in the order of
// their priority in Slurm, to which the age is added that Slurm withholds from deferred jobs.
func TestSlurmsOrder(t *testing.T) {
	users := map[string]int64{"alice": 1000, "bob": 5000, "carol": 1000}
	for _, policy := range []string{"lookahead", "knapsack", "fcfs", "annealing"} {
		for name, c := range map[string]struct {
			weight int64
			want   []string
		}{
			"by priority":         {0, []string{"bob", "alice", "carol"}},
			"by priority and age": {1_000_000, []string{"alice", "bob", "carol"}}, // an hour is 5,952
		} {
			t.Run(policy+"/"+name, func(t *testing.T) {
				w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{
					Seed: 1, Nodes: fake.Grid(1, 4), AgeWeight: c.weight,
					Priority: func(_ slurm.JobID, user, _ string) int64 { return users[user] },
				}})
				w.Slurm.SetLimits(slurm.Limits{})
				d := boot(t, w, new(journal.Memory), policy, func(c *engine.Config) { c.Limiter = w.Client })
				whole := elastic.Spec{Min: 4, Max: 4, Total: 60}
				w.Submit(world.Job{User: "dora", Spec: elastic.Spec{Min: 4, Max: 4, Total: 600}, Model: world.Amdahl(60, 0.05)})
				jobs := map[string]*world.Trainer{}
				for i, user := range []string{"alice", "bob", "carol"} {
					w.At(time.Duration(1+60*i)*time.Minute, func() {
						jobs[user] = w.Submit(world.Job{User: user, Spec: whole, Model: world.Amdahl(60, 0.05)})
					})
				}
				if err := w.Drive(context.Background(), d, 12*time.Hour); err != nil {
					t.Fatal(err)
				}
				began := map[string]time.Time{}
				for user, j := range jobs {
					if runs := j.Runs(); len(runs) > 0 {
						began[user] = runs[0].Began
					}
				}
				got := []string{"alice", "bob", "carol"}
				slices.SortStableFunc(got, func(a, b string) int { return began[a].Compare(began[b]) })
				if len(began) != 3 || !slices.Equal(got, c.want) {
					t.Errorf("started in the order %v, want %v: %v", got, c.want, began)
				}
			})
		}
	}
}
