package world_test

import (
	"fmt"
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

// With every policy at most %N tasks of an array run at once, through resizes, a requeue by the user
// and a daemon that restarts without its journal. That many tasks do run, they may grow, and all
// complete.
func TestAtMostSoManyTasksOfAnArrayRun(t *testing.T) {
	for _, p := range everyPolicy() {
		t.Run(p.Name, func(t *testing.T) {
			w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(4, 4)}})
			d := boot(t, w, new(journal.Memory), p.Name)
			const tasks, limit = 8, 3
			var array []*world.Trainer
			first := elastic.JobID(0)
			for i := range tasks {
				job := w.Submit(world.Job{User: "alice", Model: world.Amdahl(60, 0.05), Spec: elastic.Spec{
					Min: 1, Max: 4, Total: 20 + float64(i), Model: "m", Array: elastic.Array{Job: first, Index: i, Count: tasks, Limit: limit}}})
				if i == 0 {
					first = elastic.JobID(job.ID())
				}
				array = append(array, job)
			}
			// Another user's comment that names the array has no effect on it.
			stranger := w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 1, Max: 1, Total: 20, Array: elastic.Array{Job: first, Index: 1, Count: 2, Limit: 1}}})
			// A task that its user holds does not keep another from running.
			_ = w.User("alice").Hold(t.Context(), slurm.JobID(array[1].ID()))
			w.At(3*time.Minute, func() {
				if len(stranger.Runs()) == 0 {
					t.Error("another user's job waits for the array")
				}
				told := 0
				for _, j := range d.Report().Jobs {
					if strings.Contains(sentence(j.Why), "waits: 3 of its array's tasks run (%3)") {
						told++
					}
				}
				if told < tasks-limit-1 {
					t.Errorf("%d tasks are told that they wait for others\n%s", told, reasons(d))
				}
			})
			w.At(10*time.Minute, func() { _ = w.User("alice").RequeueRunning(t.Context(), running(array)) })
			finish(t, w, d, 12*time.Minute)
			d = boot(t, w, new(journal.Memory), p.Name)
			w.At(20*time.Minute, func() { _ = w.User("alice").Release(t.Context(), slurm.JobID(array[1].ID())) })
			finish(t, w, d, 8*time.Hour)
			most, grown := 0, false
			for _, a := range array {
				if !a.Ended() || a.Done() < a.Job.Spec.Total {
					t.Errorf("job %d did %v of %v", a.ID(), a.Done(), a.Job.Spec.Total)
				}
				for _, run := range a.Runs() {
					most, grown = max(most, at(array, run.Began)), grown || gpusOf(run) > 1
				}
			}
			if most != limit || !grown && !p.Rigid && p.Name != "srpt" { // srpt gives jobs the sizes that they requested
				t.Errorf("%d tasks ran at once at most, of %%%d; grown: %t", most, limit, grown)
			}
		})
	}
}

// running is a running task.
func running(array []*world.Trainer) slurm.JobID {
	i := slices.IndexFunc(array, func(a *world.Trainer) bool {
		runs := a.Runs()
		return len(runs) > 0 && runs[len(runs)-1].Ended.IsZero()
	})
	return slurm.JobID(array[i].ID())
}

// at returns how many tasks ran at a time.
func at(array []*world.Trainer, when time.Time) (n int) {
	for _, a := range array {
		for _, run := range a.Runs() {
			if !run.Began.After(when) && (run.Ended.IsZero() || run.Ended.After(when)) {
				n++
			}
		}
	}
	return n
}

func reasons(d *daemon) string {
	var b strings.Builder
	for _, j := range d.Report().Jobs {
		fmt.Fprintf(&b, "%d: %d GPUs, %s\n", j.Record.ID, j.Job.GPUs(), sentence(j.Why))
	}
	return b.String()
}
