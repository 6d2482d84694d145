package world_test

import (
	"context"
	"fmt"
	"regexp"
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

// inTurn is two daemons on one Slurm whose cycles alternate.
type inTurn struct{ a, b *daemon }

func (p inTurn) Cycle(ctx context.Context, now time.Time) (time.Time, error) {
	first, _ := p.a.Cycle(ctx, now)
	second, _ := p.b.Cycle(ctx, now)
	if second.Before(first) {
		first = second
	}
	return first, nil
}

func (p inTurn) Stirred() bool { return p.a.Stirred() || p.b.Stirred() }

// TestAUsersDaemonBesideTheClusters: each daemon moves only the jobs that were submitted to it, all jobs
// complete, and neither daemon uses GPUs of the other's jobs.
func TestAUsersDaemonBesideTheClusters(t *testing.T) {
	for _, policy := range []string{"lookahead", "knapsack", "fcfs"} {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(3, 4)}})
		cluster := boot(t, w, new(journal.Memory), policy, func(c *engine.Config) {
			c.Mine = func(sj slurm.Job) bool { return !elastic.Own(sj.Comment) }
		})
		hers := boot(t, w, new(journal.Memory), policy, func(c *engine.Config) {
			c.Slurm = w.User("alice")
			c.Mine = func(sj slurm.Job) bool { return sj.User == "alice" && elastic.Own(sj.Comment) }
		})
		for i, own := range []bool{false, true, false, true, true} {
			w.At(time.Duration(i)*2*time.Minute, func() {
				user := "alice"
				if i == 2 {
					user = "bob"
				}
				w.Submit(world.Job{User: user, Own: own, Spec: elastic.Spec{Min: 1, Max: 8, Total: 60}, Model: world.Amdahl(60, 0.05)})
			})
		}
		over := func() bool {
			return len(w.Trainers()) == 5 && !slices.ContainsFunc(w.Trainers(), func(j *world.Trainer) bool { return !j.Ended() })
		}
		if err := w.DriveUntil(context.Background(), inTurn{cluster, hers}, 10*time.Hour, over); err != nil {
			t.Error(err)
		}
		for _, bad := range w.Check() {
			t.Errorf("%s: %s", policy, bad)
		}
		for i, j := range w.Trainers() {
			if !j.Ended() {
				t.Errorf("%s: job %d of %s never ended", policy, j.ID(), j.Job.User)
			}
			about := regexp.MustCompile(fmt.Sprintf(`(?m)^ *[0-9.]+ job %d `, j.ID())) // not a move that makes room for it
			expected, other := cluster, hers
			if j.Job.Own {
				expected, other = hers, cluster
			}
			if !about.MatchString(expected.log.String()) || about.MatchString(other.log.String()) {
				t.Errorf("%s: job %d (the %d.) is looked after by the wrong sluiced", policy, j.ID(), i+1)
			}
		}
	}
}
