package world_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/world"
)

// scavengers gives a daemon of which jobs of the QOS low are scavengers that run on 5 of 10 GPUs each.
func scavengers(t *testing.T, preempt bool) (*world.World, *daemon, [2]*world.Trainer) {
	w, d, _ := shared(t, func(c *engine.Config) {
		c.QOS = map[string]share.QOS{"low": {Scavenger: true}}
		c.Limits.Preempt, c.Limits.Overload = preempt, 1
	})
	withQOS(w, "low", "normal")
	low := [2]*world.Trainer{}
	for i := range low {
		low[i] = needs(w, "low", "phys", "ann", 5, 1e6)
	}
	d.drive(t, 10*time.Minute)
	d.has(t, "alone", map[*world.Trainer]int{low[0]: 5, low[1]: 5})
	return w, d, low
}

func needs(w *world.World, qos, account, user string, least int, total float64) *world.Trainer {
	return w.Submit(world.Job{User: user, Args: []string{"--account=" + account, "--qos=" + qos}, Spec: elastic.Spec{Min: least, Max: 10, Total: total}, Model: world.Amdahl(60, 0.01)})
}

// TestScavengersAreParked: with preempt a scavenger at its minimum is parked for a job that waits, says why,
// and does not come back while others want its GPUs; then it resumes. Its minimum is that job's in the
// division too. No other job is stopped, and no work is lost.
func TestScavengersAreParked(t *testing.T) {
	w, d, low := scavengers(t, true)
	bob := needs(w, "normal", "bio", "bob", 4, 60)
	d.drive(t, 3*time.Minute)
	if got := d.of(t, bob); got.Job.Phase != elastic.Running || got.Job.GPUs() < 4 {
		t.Fatalf("bob's job is %s on %d GPUs: %s", got.Job.Phase, got.Job.GPUs(), sentence(got.Why))
	}
	parked, runs := low[0], low[1]
	if d.of(t, parked).Job.Phase == elastic.Running {
		parked, runs = runs, parked
	}
	if got := d.of(t, parked); got.Job.Phase != elastic.Waiting || d.of(t, runs).Job.Phase != elastic.Running {
		t.Fatalf("the scavengers are %s and %s, want one of them parked", got.Job.Phase, d.of(t, runs).Job.Phase)
	}
	eve := needs(w, "normal", "phys", "ann", 6, 60) // needs the other's GPUs
	d.drive(t, 3*time.Minute)
	if got := d.of(t, runs); got.Job.Phase != elastic.Waiting {
		t.Errorf("the other scavenger is %s on %d GPUs: %s", got.Job.Phase, got.Job.GPUs(), sentence(got.Why))
	}
	d.drive(t, time.Hour)
	for name, j := range map[string]*world.Trainer{"bob": bob, "eve": eve} {
		if j.Done() < j.Job.Spec.Total {
			t.Errorf("%s's job did %v of %v", name, j.Done(), j.Job.Spec.Total)
		}
	}
	d.has(t, "alone again", map[*world.Trainer]int{low[0]: 5, low[1]: 5})
	log := d.log.String()
	if n := strings.Count(log, "open: park"); n != 2 {
		t.Errorf("%d jobs were parked, want 2", n)
	}
	if want := "jobs of QOS low get only GPUs that no other job wants"; !strings.Contains(log, want) {
		t.Errorf("the log does not say %q", want)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
	if t.Failed() {
		t.Log(log)
	}
}

// TestScavengersKeepTheirMinimum: without preempt none is parked.
func TestScavengersKeepTheirMinimum(t *testing.T) {
	w, d, low := scavengers(t, false)
	bob := needs(w, "normal", "bio", "bob", 4, 60)
	d.drive(t, 5*time.Minute)
	d.has(t, "others wait", map[*world.Trainer]int{low[0]: 5, low[1]: 5, bob: 0})
}
