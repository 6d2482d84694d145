package world_test

import (
	"context"
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

// With every policy jobs run only on nodes that they accept, to the end, and Slurm rejects none.
func TestConstraintsAreKept(t *testing.T) {
	asked := []struct {
		options []string
		nodes   []string // those it accepts
	}{
		{[]string{"--constraint=fast"}, []string{"gpu1", "gpu2"}},
		{[]string{"--exclude=gpu1,gpu4"}, []string{"gpu2", "gpu3"}},
		{[]string{"--constraint=slow"}, []string{"gpu3", "gpu4"}},
		{[]string{"--constraint=fast|slow", "--exclude=gpu2"}, []string{"gpu1", "gpu3", "gpu4"}},
	}
	for _, p := range everyPolicy() {
		t.Run(p.Name, func(t *testing.T) {
			grid := fake.Grid(4, 4)
			for i := range grid {
				grid[i].Features = []string{[]string{"fast", "slow"}[i/2]}
			}
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 11, Nodes: grid}})
			d := boot(t, w, new(journal.Memory), p.Name)
			for i, a := range asked {
				w.At(time.Duration(i)*time.Minute, func() {
					w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 8, Total: 30}, Model: world.Amdahl(60, 0.05), Args: a.options})
				})
			}
			over := func() bool {
				return w.Slurm.Calls("scontrol update starttime now") > 200 || // again and again
					len(w.Trainers()) == len(asked) && !slices.ContainsFunc(w.Trainers(), func(j *world.Trainer) bool { return !j.Ended() })
			}
			if err := w.DriveUntil(context.Background(), d, 10*time.Hour, over); err != nil {
				t.Error(err)
			}
			if strings.Contains(w.Slurm.LogText(), " bad constraints\n") {
				t.Error("Slurm gave a job up")
			}
			for _, bad := range w.Check() {
				t.Error(bad)
			}
			for i, job := range w.Trainers() {
				if !job.Ended() {
					t.Errorf("%v never ended", asked[i].options)
				}
				for _, r := range job.Runs() {
					for _, share := range r.Split {
						if !slices.Contains(asked[i].nodes, share.Node) {
							t.Errorf("%v ran on %v", asked[i].options, r.Split)
						}
					}
				}
			}
		})
	}
}
