package world_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
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

// limiter returns a site's limits or an error.
type limiter struct {
	limits slurm.Limits
	err    error
	asked  int
}

func (l *limiter) Limits(context.Context) (slurm.Limits, error) {
	l.asked++
	return l.limits, l.err
}

// groupOf bounds the GPUs of all jobs in the partition, by its QOS.
func groupOf(n int) slurm.Limits {
	return slurm.Limits{
		Partitions: []slurm.Partition{{Name: "gpu", Up: true, QOS: "part"}},
		QOS:        []slurm.QOS{{Name: "part", Group: []slurm.Amount{{Of: slurm.OfGPUs, N: n}}}},
	}
}

// whys returns the reasons of live jobs, as explain shows them.
func whys(d *daemon) string {
	var b strings.Builder
	for _, j := range d.Report().Jobs {
		if !j.Ended {
			fmt.Fprintf(&b, "  job %d has %d: %s\n", j.Job.ID, j.Job.GPUs(), sentence(j.Why))
		}
	}
	return b.String()
}

// TestLimitsAreExplained records what explain shows while limits change. The jobs never have more than
// the limit, except when it is lowered below what runs. Read the diff before -update.
func TestLimitsAreExplained(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	site := &limiter{limits: groupOf(5), err: errors.New("slurmdbd does not answer")}
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Limiter = site })
	var story strings.Builder
	tell := func(at time.Duration, what string, do func()) {
		w.At(at, func() {
			fmt.Fprintf(&story, "%s: %s\n%s", at, what, whys(d))
			if do != nil {
				do()
			}
		})
	}
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 8, Total: 400}, Model: world.Amdahl(60, 0.02)})
	w.At(2*time.Second, func() { w.Ordinary("carol", 1, 2, 20*time.Minute) })
	tell(2*time.Minute, "the limits could not be read yet; then they can", func() { site.err = nil })
	tell(8*time.Minute, "5 for all, of which an ordinary job has 2", func() {
		w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 3, Max: 4, Total: 400}, Model: world.Amdahl(60, 0.02)})
	})
	tell(12*time.Minute, "somebody waits who needs 3 beside the ordinary job", nil)
	tell(24*time.Minute, "the ordinary job has ended", func() { site.limits = groupOf(2) })
	tell(30*time.Minute, "2 for all: less than what runs", func() { site.limits = groupOf(8) })
	tell(40*time.Minute, "8 for all", nil)
	if err := w.Drive(context.Background(), d, 5*time.Hour); err != nil {
		t.Error(err)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	golden(t, "limits.txt", story.String())
}
