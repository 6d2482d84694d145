package world_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// asShipped is [resize] as sluice.toml has it.
func asShipped(c *engine.Config) {
	c.Limits = elastic.Limits{
		Cooldown: 30 * time.Second, Every: 30 * time.Second, Payback: 2, Grace: 5 * time.Minute, MaxGrace: 4 * time.Hour,
		Confirm: 2 * time.Minute, Moves: 8, DeafAfter: 3,
	}
}

// TestJobsThatNeverAnswerDelayNoOthers: a user has 12 jobs that never answer and claim to need years for
// it, by --grace or by the interval of their own checkpoints, on a cluster on which all of them
// could grow. Another user's job still grows within 15 min, on idle GPUs that were reserved for
// them.
func TestJobsThatNeverAnswerDelayNoOthers(t *testing.T) {
	deaf := func(j world.Job) world.Job {
		j.Deaf, j.Spec.Grace = true, 200000*time.Hour
		return j
	}
	rare := func(j world.Job) world.Job {
		j.Spec.Habit, j.Every, j.Liar = true, 0.1, true
		j.Forge = func(r *checkpoint.Runner) { r.Rhythm, r.Answer = 1e8, nil }
		return j
	}
	for name, how := range map[string]func(world.Job) world.Job{"grace": deaf, "rhythm": rare} {
		w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(8, 4)}})
		d := boot(t, w, new(journal.Memory), "lookahead", asShipped, func(c *engine.Config) { c.Transition = 5 * time.Second })
		w.Ordinary("carol", 5, 20, 10*time.Minute)
		for range 12 {
			w.Submit(how(world.Job{User: "mallory", Spec: elastic.Spec{Min: 1, Max: 4, Total: 400}, Model: world.Perfect(600)}))
		}
		d.drive(t, 20*time.Minute)
		honest := w.Submit(world.Job{User: "ada", Spec: elastic.Spec{Min: 1, Max: 8, Total: 100}, Model: world.Perfect(300)})
		d.drive(t, 25*time.Minute)
		if runs := honest.Runs(); len(runs) == 0 {
			t.Errorf("%s: the other user's job does not run after 25 minutes\n%s", name, d.log.String())
		} else if got := gpusOf(runs[len(runs)-1]); got < 8 {
			t.Errorf("%s: the other user's job has %d GPUs after 25 minutes, want 8\n%s", name, got, d.log.String())
		}
		for _, bad := range w.Check() {
			t.Errorf("%s: %s", name, bad)
		}
	}
}
