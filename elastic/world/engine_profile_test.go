package world_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// worlds returns the sizes of a job's runs in order.
func worlds(t *world.Trainer) string {
	var sizes []string
	for _, r := range t.Runs() {
		gpus := 0
		for _, s := range r.Split {
			gpus += s.GPUs
		}
		sizes = append(sizes, fmt.Sprint(gpus))
	}
	return strings.Join(sizes, " ")
}

// TestProfileInTheFirstMinutes: a job that is as fast on two GPUs as on eight is measured on 1, 2, 4 and
// 8 in its first minutes, long before an epoch is over, and then stays at few. The event log is
// the specification.
func TestProfileInTheFirstMinutes(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 1, Nodes: fake.Grid(2, 8)}})
	d := boot(t, w, new(journal.Memory), "lookahead")
	bends := func(gpus, _ int) float64 { return 1200/float64(gpus) + 100*float64(gpus) }
	job := w.Submit(world.Job{Spec: elastic.Spec{Min: 1, Max: 8, Total: 20, Profile: []int{1, 2, 4, 8}}, Model: bends, Steps: 600})
	if err := w.Drive(context.Background(), d, 6*time.Hour); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	// 3 and 4 GPUs take 700 s an epoch each, the least there is.
	if got := worlds(job); !strings.HasPrefix(got, "1 2 4 8 ") || strings.HasSuffix(got, " 8") {
		t.Errorf("it ran on %s", got)
	}
	golden(t, "profile.txt", d.log.String())
}

// TestProfileGivesWay: an ordinary job that arrives during a measurement gets its GPUs as soon as without
// one.
func TestProfileGivesWay(t *testing.T) {
	for _, p := range policy.All {
		t.Run(p.Name, func(t *testing.T) {
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 2, Nodes: fake.Grid(1, 8)}})
			d := boot(t, w, new(journal.Memory), p.Name)
			job := w.Submit(world.Job{Spec: elastic.Spec{Min: 1, Max: 8, Total: 20, Profile: []int{1, 2, 4, 8}}, Model: world.Amdahl(600, 0.05), Steps: 300})
			w.At(25*time.Second, func() { w.Ordinary("carol", 1, 6, 10*time.Minute) })
			if err := w.Drive(context.Background(), d, 5*time.Minute); err != nil {
				t.Error(err)
			}
			for _, bad := range w.Check() {
				t.Error(bad)
			}
			for _, r := range job.Runs() {
				at := r.Began.Sub(job.Runs()[0].Began)
				gpus := 0
				for _, s := range r.Split {
					gpus += s.GPUs
				}
				if at > time.Minute && gpus > 2 && !p.Rigid {
					t.Errorf("on %d GPUs %v after its start, with an ordinary job that wants 6 of 8", gpus, at)
				}
			}
		})
	}
}

// TestProfileOfAModel: a second job of the model need not be measured again.
func TestProfileOfAModel(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead")
	spec := elastic.Spec{Min: 1, Max: 4, Total: 10, Model: "resnet", Profile: []int{1, 2, 4}}
	first := w.Submit(world.Job{Spec: spec, Model: world.Amdahl(600, 0.05), Steps: 300})
	var second *world.Trainer
	w.At(15*time.Minute, func() { second = w.Submit(world.Job{Spec: spec, Model: world.Amdahl(600, 0.05), Steps: 300}) })
	if err := w.Drive(context.Background(), d, 4*time.Hour); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	if got := worlds(first); !strings.HasPrefix(got, "1 2 4") {
		t.Errorf("the first ran on %s", got)
	}
	if got := worlds(second); got != "4" {
		t.Errorf("the second ran on %s", got)
	}
}
