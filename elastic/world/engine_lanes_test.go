package world_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/world"
)

// TestLanesGiveWay: a sweep's further lanes save and give way to a job that waits, as few as it needs, and
// start again after it; the first one keeps its GPU. A paused sweep gives back all, and goes on when it is
// resumed. No work is lost.
func TestLanesGiveWay(t *testing.T) {
	token := strings.Repeat("5", 32)
	standing := map[string]elastic.Sweep{token: {Number: 1, Metric: "acc", Wants: 9, Bid: 1}}
	w, d, _ := shared(t, func(c *engine.Config) {
		c.Sweeps = func() map[string]elastic.Sweep { return standing }
	})
	var lanes []*world.Trainer
	for range 9 {
		lanes = append(lanes, w.Submit(world.Job{User: "ann", Args: []string{"--account=phys"}, Spec: elastic.Spec{Min: 1, Max: 1, Total: 1e6, Sweep: token}, Model: world.Amdahl(60, 0.01)}))
	}
	running := func() (n int) {
		for _, l := range lanes {
			if d.of(t, l).Job.Phase == elastic.Running {
				n++
			}
		}
		return n
	}
	d.drive(t, 5*time.Minute)
	if n := running(); n != 9 {
		t.Fatalf("%d lanes run on idle GPUs, want 9", n)
	}
	bob := w.Submit(world.Job{User: "bob", Args: []string{"--account=bio"}, Spec: elastic.Spec{Min: 4, Max: 4, Total: 60}, Model: world.Amdahl(60, 0.01)})
	d.drive(t, 3*time.Minute)
	if got := d.of(t, bob); got.Job.Phase != elastic.Running || running() != 6 || d.of(t, lanes[0]).Job.Phase != elastic.Running {
		t.Fatalf("bob's job is %s, and %d lanes run, want 6 with the first: %s", got.Job.Phase, running(), sentence(got.Why))
	}
	if log := d.log.String(); !strings.Contains(log, "before all lanes of a sweep but its first") || strings.Count(log, "open: park") != 3 {
		t.Errorf("the log does not say why 3 lanes were parked:\n%s", log)
	}
	d.drive(t, time.Hour)
	if n := running(); n != 9 || bob.Done() < 60 {
		t.Fatalf("%d lanes run after bob's job, which did %v of 60", n, bob.Done())
	}
	standing = map[string]elastic.Sweep{token: {Number: 1, Metric: "acc", Paused: true}}
	d.drive(t, 5*time.Minute)
	if n := running(); n != 0 {
		t.Fatalf("%d lanes of a paused sweep run", n)
	}
	if got := sentence(d.of(t, lanes[0]).Why); !strings.Contains(got, "sweep 1 is paused (sluice sweep resume 1)") {
		t.Errorf("a lane waits: %s", got)
	}
	standing = map[string]elastic.Sweep{token: {Number: 1, Metric: "acc", Wants: 9}}
	d.drive(t, 5*time.Minute)
	if n := running(); n != 9 {
		t.Errorf("%d lanes run again, want 9", n)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}

// TestLanesOfAnEndedSweep: lanes that wait when their sweep is over are cancelled, and none of them starts; those that run
// are left to end by themselves.
func TestLanesOfAnEndedSweep(t *testing.T) {
	token := strings.Repeat("5", 32)
	standing := map[string]elastic.Sweep{token: {Number: 1, Metric: "acc", Wants: 20, Bid: 1}}
	needless := map[string]elastic.JobID{}
	w, d, _ := shared(t, func(c *engine.Config) {
		c.Sweeps = func() map[string]elastic.Sweep { return standing }
		c.Needless = func() map[string]elastic.JobID { return needless }
	})
	var lanes []*world.Trainer
	for range 14 {
		lanes = append(lanes, w.Submit(world.Job{User: "ann", Args: []string{"--account=phys"}, Spec: elastic.Spec{Min: 1, Max: 1, Total: 1e6, Sweep: token}, Model: world.Amdahl(60, 0.01)}))
	}
	d.drive(t, 5*time.Minute)
	ran := map[*world.Trainer]bool{}
	for _, l := range lanes {
		if ran[l] = d.of(t, l).Job.Phase == elastic.Running; !ran[l] {
			needless[l.Token] = 1
		}
	}
	if len(needless) == 0 || len(needless) == len(lanes) {
		t.Fatalf("%d of %d lanes wait", len(needless), len(lanes))
	}
	standing = map[string]elastic.Sweep{token: {Number: 1, Metric: "acc", Over: true}}
	d.drive(t, time.Minute)
	for _, l := range lanes {
		if jr := d.of(t, l); jr.Ended == ran[l] {
			t.Errorf("lane %d, which ran: %t, has ended: %t (%s)", l.ID(), ran[l], jr.Ended, jr.Job.Phase)
		}
	}
	if log := d.log.String(); strings.Count(log, "a lane of a sweep that is over") != len(needless) {
		t.Errorf("%d lanes are needless, and the log has:\n%s", len(needless), log)
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}

// TestTrialJobsGrow: trials that are jobs of their own start on one GPU each while others wait. The last two
// grow on the GPUs of those that ended, though an epoch of theirs is twelve times as long; trials that come
// later start on what these two have beyond their minimum, and know at once how trials scale. No work is lost.
func TestTrialJobsGrow(t *testing.T) {
	token := strings.Repeat("5", 32)
	standing := map[string]elastic.Sweep{token: {Number: 1, Metric: "acc", Wants: 8, Bid: 1}}
	w, d, _ := shared(t, func(c *engine.Config) {
		c.Sweeps = func() map[string]elastic.Sweep { return standing }
	})
	trial := func(epochs, seconds float64) *world.Trainer {
		spec := elastic.Spec{Min: 1, Max: 5, Total: epochs, Sweep: token, Model: sweep.Model(token)}
		return w.Submit(world.Job{User: "ann", Args: []string{"--account=phys"}, Spec: spec, Model: world.Amdahl(seconds, 0.05)})
	}
	survivors := []*world.Trainer{trial(160, 60), trial(160, 60)}
	var short []*world.Trainer
	for range 8 {
		short = append(short, trial(100, 5))
	}
	standing = map[string]elastic.Sweep{token: {Number: 1, Metric: "acc", Wants: 10, Bid: 1}}
	d.drive(t, 5*time.Minute)
	for _, j := range append(survivors, short...) {
		d.has(t, "ten trials on ten GPUs", map[*world.Trainer]int{j: 1})
	}
	standing = map[string]elastic.Sweep{token: {Number: 1, Metric: "acc", Wants: 2, Bid: 1}}
	d.drive(t, 20*time.Minute)
	d.has(t, "two trials are left", map[*world.Trainer]int{survivors[0]: 5, survivors[1]: 5})
	later := []*world.Trainer{trial(500, 5), trial(500, 5)}
	standing = map[string]elastic.Sweep{token: {Number: 1, Metric: "acc", Wants: 4, Bid: 1}}
	d.drive(t, 3*time.Minute)
	for _, j := range later {
		got := d.of(t, j)
		if got.Job.Phase != elastic.Running || got.Job.Curve.Samples() == 0 {
			t.Errorf("a later trial is %s, its speed from %d samples: %s", got.Job.Phase, got.Job.Curve.Samples(), sentence(got.Why))
		}
	}
	d.drive(t, 3*time.Hour)
	for _, j := range append(append(survivors, short...), later...) {
		if !d.of(t, j).Ended {
			t.Errorf("a trial did %v epochs", j.Done())
		}
	}
	for _, bad := range w.Check() {
		t.Error(bad)
	}
}
