package world_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// TestOutagesAreAskedAboutSlowly: I7, a slurmctld that does not answer is queried at growing intervals,
// however busy sluiced was, and at the usual intervals once it answers.
func TestOutagesAreAskedAboutSlowly(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(3, 4)}})
	began, asked := w.Now(), 0
	m := newMortal(t, w, &boundaries{}, func(c *engine.Config) {
		c.Slurm = dark{c.Slurm, func(query string) (bool, error) {
			if at := w.Now().Sub(began); at < 124*time.Second || at > 64*time.Minute { // during a move
				return false, nil
			}
			asked++
			return false, &slurm.Error{Op: query, Err: slurm.ErrControllerDown}
		}}
	})
	jobs := story(w)
	if err := w.Drive(context.Background(), m, 3*time.Hour); err != nil {
		t.Error(err)
	}
	if asked == 0 || asked > 80 {
		t.Errorf("asked %d times in an hour", asked)
	}
	for _, j := range *jobs {
		if j.Done() < j.Job.Spec.Total {
			t.Errorf("job %d did %v of %v", j.ID(), j.Done(), j.Job.Spec.Total)
		}
	}
}

// TestMissingJobsAreFewQuestions: I7, a list that lacks many jobs is not used, and does not cause one
// query for each of them.
func TestMissingJobsAreFewQuestions(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(10, 4)}})
	began, asked, most, short := w.Now(), 0, 0, 0
	m := newMortal(t, w, &boundaries{}, func(c *engine.Config) {
		c.Slurm = dark{c.Slurm, func(query string) (bool, error) {
			if at := w.Now().Sub(began); at < 5*time.Minute || at > 10*time.Minute {
				return false, nil
			}
			if query == "jobs" {
				asked, short = 0, short+1
				return true, nil
			}
			if query == "job" {
				asked++
				most = max(most, asked)
			}
			return false, nil
		}}
	})
	var jobs []*world.Trainer
	for range 40 {
		jobs = append(jobs, w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 1, Total: 20}}))
	}
	if err := w.Drive(context.Background(), m, time.Hour); err != nil {
		t.Error(err)
	}
	if short == 0 || most == 0 || most > 16 {
		t.Errorf("%d short lists, and up to %d questions after one", short, most)
	}
	for _, j := range jobs {
		if len(j.Runs()) != 1 || j.Done() < 20 {
			t.Errorf("job %d: %d runs, %v of 20 units", j.ID(), len(j.Runs()), j.Done())
		}
	}
}
