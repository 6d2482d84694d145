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
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// With every policy jobs that request a type of GPU get GPUs of it on nodes with several types, and can
// use all of them; no job is released and then waits for one.
func TestTypesOnOneNode(t *testing.T) {
	for _, p := range everyPolicy() {
		t.Run(p.Name, func(t *testing.T) {
			grid := fake.Grid(3, 6)
			for i := range grid[:2] {
				grid[i].Types = []slurm.OfType{{Type: "red", GPUs: 2}, {Type: "blue", GPUs: 4}}
			}
			grid[2].GPUType = "blue"
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: grid}})
			d := boot(t, w, new(journal.Memory), p.Name)
			kinds := []string{"red", "blue", "red", "blue", "blue"}
			for i, kind := range kinds {
				w.At(time.Duration(i)*time.Minute, func() {
					w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 6, Total: 60, Types: []string{kind}}, Model: world.Amdahl(60, 0.05), Args: []string{"--gres=gpu:" + kind + ":1"}})
				})
			}
			over := func() bool {
				return w.Slurm.Calls("scontrol update starttime now") > 200 || // again and again
					len(w.Trainers()) == len(kinds) && !slices.ContainsFunc(w.Trainers(), func(j *world.Trainer) bool { return !j.Ended() })
			}
			if err := w.DriveUntil(context.Background(), d, 20*time.Hour, over); err != nil {
				t.Error(err)
			}
			if strings.Contains(w.Slurm.LogText(), " bad constraints\n") {
				t.Error("Slurm gave a job up")
			}
			for _, bad := range w.Check() {
				t.Error(bad)
			}
			most := map[string]int{}
			for i, job := range w.Trainers() {
				if !job.Ended() {
					t.Errorf("job %d of type %s never ended", i+1, kinds[i])
				}
				for _, r := range job.Runs() {
					sum := 0
					for _, share := range r.Split {
						sum += share.GPUs
						for _, id := range share.IDs {
							if is := (id >= 2 || share.Node == "gpu3"); is != (kinds[i] == "blue") {
								t.Errorf("job %d of type %s ran on %v", i+1, kinds[i], r.Split)
							}
						}
						if kinds[i] == "red" && share.Node == "gpu3" {
							t.Errorf("job %d ran on %v", i+1, r.Split)
						}
					}
					most[kinds[i]] = max(most[kinds[i]], sum)
				}
			}
			if elasticPolicy := !slices.Contains([]string{"fcfs", "ef", "tiresias", "srpt"}, p.Name); elasticPolicy && (most["red"] < 2 || most["blue"] < 4) {
				t.Errorf("no job grew: %v", most)
			}
		})
	}
}
