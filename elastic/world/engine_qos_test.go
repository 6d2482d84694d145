package world_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
)

// withQOS has the site's shares and these QOS count.
func withQOS(w *world.World, names ...string) {
	l := slurm.Limits{FairShare: slurm.FairShare{Weight: 1000, HalfLife: 7 * 24 * time.Hour}}
	for _, name := range names {
		l.QOS = append(l.QOS, slurm.QOS{Name: name})
	}
	w.Slurm.SetLimits(l)
}

// inQOS hands in a job of 1 to 10 GPUs in an account and a QOS, as its user.
func inQOS(w *world.World, qos, account, user string) *world.Trainer {
	return w.Submit(world.Job{User: user, Args: []string{"--account=" + account, "--qos=" + qos}, Spec: elastic.Spec{Min: 1, Max: 10, Total: 1e6}, Model: world.Amdahl(60, 0.01)})
}

// TestScavengersGiveBack: jobs of a scavenger QOS have what no other wants, also within an account, and
// shrink to their minimum as soon as others want it. No job is stopped.
func TestScavengersGiveBack(t *testing.T) {
	w, d, _ := shared(t, func(c *engine.Config) { c.QOS = map[string]share.QOS{"low": {Scavenger: true}} })
	withQOS(w, "low", "normal")
	low := inQOS(w, "low", "phys", "ann")
	d.drive(t, 10*time.Minute)
	d.has(t, "alone", map[*world.Trainer]int{low: 10})
	bob := inQOS(w, "normal", "bio", "bob")
	d.drive(t, 5*time.Minute)
	d.has(t, "another account wants them", map[*world.Trainer]int{low: 1, bob: 9})
	ann := inQOS(w, "normal", "phys", "ann")
	d.drive(t, 5*time.Minute)
	if n := d.of(t, ann).Job.GPUs() + d.of(t, bob).Job.GPUs(); n != 9 || d.of(t, low).Job.Phase != elastic.Running {
		t.Errorf("the others have %d GPUs, want 9, and the scavenger is %s", n, d.of(t, low).Job.Phase)
	}
}

// TestGuaranteeOfAQOS: jobs of a QOS with a guarantee have so many GPUs whatever their account's shares.
func TestGuaranteeOfAQOS(t *testing.T) {
	w, d, _ := shared(t, func(c *engine.Config) { c.QOS = map[string]share.QOS{"urgent": {Guarantee: 8}} })
	withQOS(w, "urgent", "normal")
	ann := inQOS(w, "normal", "phys", "ann")
	d.drive(t, 10*time.Minute)
	bob := inQOS(w, "urgent", "bio", "bob")
	d.drive(t, 5*time.Minute)
	d.has(t, "8 are guaranteed", map[*world.Trainer]int{bob: 8, ann: 2})
}
