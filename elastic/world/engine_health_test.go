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
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

func healthy(c *engine.Config) { c.Health = elastic.HealthRules{Exclude: time.Hour, PerUser: 1} }

// drive runs the daemon for a time.
func (d *daemon) drive(t *testing.T, span time.Duration) {
	t.Helper()
	if err := d.w.Drive(context.Background(), d, span); err != nil {
		t.Fatal(err)
	}
	for _, bad := range d.w.Check() {
		t.Error(bad)
	}
}

// node returns a node from the daemon's report.
func (d *daemon) node(t *testing.T, name string) (usable bool, why string) {
	t.Helper()
	for _, n := range d.Report().Nodes {
		if n.Name == name {
			return n.Usable, say.Unusable(n.Why, time.Time{})
		}
	}
	t.Fatalf("no node %s", name)
	return false, ""
}

func (d *daemon) of(t *testing.T, j *world.Trainer) publish.JobReport {
	t.Helper()
	for _, jr := range d.Report().Jobs {
		if jr.Record.ID == elastic.JobID(j.ID()) {
			return jr
		}
	}
	t.Fatalf("job %d is not reported", j.ID())
	return publish.JobReport{Job: &elastic.Job{}}
}

// TestUnfitGPUKeepsItsNodeOut: a GPU becomes unfit under a job while the rest of the cluster is busy. The
// job stays, no other job is placed on the node, users see why, and that ends when the operator
// trusts the node, or an hour after the last complaint.
func TestUnfitGPUKeepsItsNodeOut(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead", healthy)
	first := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 60}})
	d.drive(t, 2*time.Minute)
	sick := d.of(t, first).Job.Place[0].Node
	well := map[string]string{"gpu1": "gpu2", "gpu2": "gpu1"}[sick]
	if well == "" {
		t.Fatalf("on %q", sick)
	}
	second := w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 4, Max: 4, Total: 2000}})
	d.drive(t, 2*time.Minute)
	w.Break(sick, 0, "XID 79: fallen off the bus")
	d.drive(t, time.Minute)
	if usable, why := d.node(t, sick); usable || !strings.Contains(why, "UNFIT (GPU 0 (GPU-"+sick+"-0): XID 79: fallen off the bus)") {
		t.Errorf("%s: usable %v, %q", sick, usable, why)
	}
	if p := strings.Join(d.of(t, first).Problems, "\n"); !strings.Contains(p, "GPU 0 (GPU-"+sick+"-0) on "+sick+" is unfit") {
		t.Errorf("shown to alice: %q", p)
	}
	if why := sentence(d.of(t, first).Why); !strings.Contains(why, "nothing new is started on "+sick+": UNFIT") {
		t.Errorf("the job on it: %s", why)
	}
	d.drive(t, 10*time.Minute)
	if got := d.of(t, second).Job.Place; got.On(sick) > 0 || got.On(well) != 4 {
		t.Errorf("the other job is on %v, with %s unfit", got, sick)
	}
	third := w.Submit(world.Job{User: "carol", Spec: elastic.Spec{Min: 2, Max: 2, Total: 2000}})
	d.drive(t, 2*time.Minute)
	if jr := d.of(t, third); jr.Job.GPUs() > 0 || jr.Why == nil {
		t.Errorf("the third has %v: %s", jr.Job.Place, sentence(jr.Why))
	}
	// The operator trusts the node.
	if err := d.Trust(t.Context(), "n9", w.Now()); !errors.Is(err, engine.ErrNoNode) {
		t.Error(err)
	}
	if err := d.Trust(t.Context(), well, w.Now()); !errors.Is(err, engine.ErrNoComplaint) {
		t.Error(err)
	}
	if err := d.Trust(t.Context(), sick, w.Now()); err != nil {
		t.Error(err)
	}
	d.drive(t, 10*time.Minute)
	if usable, why := d.node(t, sick); !usable || d.of(t, third).Job.Place.On(sick) != 2 {
		t.Errorf("trusted, and yet: usable %v %q, job on %v", usable, why, d.of(t, third).Job.Place)
	}
	log := d.log.String()
	for _, want := range []string{"health: nothing new is placed on " + sick, "health: " + sick + " is used again"} {
		if strings.Count(log, want) != 1 {
			t.Errorf("%q: %d times in\n%s", want, strings.Count(log, want), log)
		}
	}
}

// TestAJobLeavesAnUnfitGPU: a job on an unfit GPU migrates once, at its size and without lost work, as
// soon as other GPUs are idle. A job on the fit GPUs of the node stays there.
func TestAJobLeavesAnUnfitGPU(t *testing.T) {
	for _, policy := range []string{"lookahead", "knapsack", "afs"} {
		w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
		d := boot(t, w, new(journal.Memory), policy, healthy)
		first := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 2000}})
		w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 2, Max: 2, Total: 2000}})
		busy := w.Submit(world.Job{User: "carol", Spec: elastic.Spec{Min: 4, Max: 4, Total: 5}})
		d.drive(t, time.Minute)
		sick := d.of(t, first).Job.Place[0].Node
		w.Break(sick, 0, "XID 79: fallen off the bus")
		d.drive(t, time.Hour)
		var stayed, left int
		for _, jr := range d.Report().Jobs {
			switch at := jr.Job.Place; {
			case jr.Record.ID == elastic.JobID(busy.ID()):
			case at.On(sick) == 2 && jr.Record.Restarts == 0:
				stayed++
			case at.On(sick) == 0 && at.GPUs() == 2 && jr.Record.Restarts == 1 && jr.Record.Done > 50:
				left++
			}
		}
		if log := d.log.String(); busy.Done() != 5 || stayed != 1 || left != 1 || !strings.Contains(log, "with 2 GPUs: one of its GPUs is unfit") {
			t.Errorf("%s: %d stayed, %d left\n%s", policy, stayed, left, log)
		}
	}
}

// TestUnfitWordsRunOut: an hour after the last complaint the node is used again.
func TestUnfitWordsRunOut(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead", healthy)
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 10}})
	w.Break("gpu1", 0, "lost")
	w.Break("gpu1", 1, "lost")
	d.drive(t, 15*time.Minute) // it ends meanwhile
	next := w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 1, Max: 1, Total: 1}})
	d.drive(t, 30*time.Minute)
	if next.Done() > 0 {
		t.Error("placed on a node that is out")
	}
	d.drive(t, 40*time.Minute)
	if next.Done() != 1 {
		t.Errorf("not placed after an hour: %+v", d.Report().Health)
	}
}

// TestARestartForgetsNothingOfGPUs: after restarts the daemon neither places a job on a GPU on which one
// has just failed, nor excludes a trusted node on which the same job still complains.
func TestARestartForgetsNothingOfGPUs(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
	kept := new(journal.Memory)
	d := boot(t, w, kept, "lookahead", healthy)
	w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 10}})
	w.Break("gpu1", 0, "lost")
	d.drive(t, 15*time.Minute) // it ends meanwhile
	d = boot(t, w, kept, "lookahead", healthy)
	second := w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 2, Max: 2, Total: 1000}})
	d.drive(t, 10*time.Minute)
	if usable, why := d.node(t, "gpu1"); usable || d.of(t, second).Job.GPUs() > 0 {
		t.Errorf("forgotten by a restart: usable %v, %q", usable, why)
	}
	kept.Fail = func(op string) error { return map[string]error{"SaveHealth": errors.New("disk full")}[op] }
	if err := d.Trust(t.Context(), "gpu1", w.Now()); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("trust that is not recorded: %v", err)
	}
	if d.drive(t, time.Minute); d.of(t, second).Job.GPUs() > 0 {
		t.Error("trust that is not recorded is in force")
	}
	kept.Fail = nil
	if err := d.Trust(t.Context(), "gpu1", w.Now()); err != nil {
		t.Fatal(err)
	}
	d.drive(t, 10*time.Minute) // bob's job is placed there and complains: a complaint of another job
	if err := d.Trust(t.Context(), "gpu1", w.Now()); err != nil {
		t.Fatal(err)
	}
	d = boot(t, w, kept, "lookahead", healthy)
	third := w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 1, Max: 1, Total: 1000}})
	d.drive(t, 10*time.Minute)
	if usable, why := d.node(t, "gpu1"); !usable || d.of(t, second).Job.GPUs() != 2 || d.of(t, third).Job.GPUs() != 1 {
		t.Errorf("trust forgotten by a restart: usable %v, %q", usable, why)
	}
}

// TestAGPUThatKillsItsJob: the last report of a job that failed counts.
func TestAGPUThatKillsItsJob(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(2, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead", healthy)
	job := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 10},
		Behaviour: world.Behaviour{ExitAt: 3.5, ExitCode: 1}})
	w.At(105*time.Second, func() { w.Break("gpu1", 1, "XID 95: uncontained memory error") })
	d.drive(t, 95*time.Second)
	if place := d.of(t, job).Job.Place; place.On("gpu1") != 2 {
		t.Fatalf("on %v", place)
	}
	d.drive(t, 2*time.Minute)
	if state := d.of(t, job).Record.State; state != "FAILED" {
		t.Fatalf("the job is %s", state)
	}
	if usable, why := d.node(t, "gpu1"); usable || !strings.Contains(why, "XID 95") {
		t.Errorf("usable %v, %q, after\n%s", usable, why, d.log.String())
	}
}

// TestALiarTakesOneNode: a user whose jobs all report their GPUs as unfit can exclude at most one node.
func TestALiarTakesOneNode(t *testing.T) {
	w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 5, Nodes: fake.Grid(4, 2)}})
	d := boot(t, w, new(journal.Memory), "lookahead", healthy)
	for n := 1; n <= 4; n++ {
		for g := range 2 {
			w.Break(fmt.Sprintf("gpu%d", n), g, "lost")
		}
	}
	for range 4 {
		w.Submit(world.Job{User: "mallory", Spec: elastic.Spec{Min: 1, Max: 1, Total: 1000}})
	}
	d.drive(t, 30*time.Minute)
	out := 0
	for _, f := range d.Report().Health {
		if f.Excluded {
			out++
		}
	}
	if out != 1 {
		t.Errorf("%d nodes are out: %+v", out, d.Report().Health)
	}
}

// TestIdleGPUsDrawNoMore: of two jobs with the same measured speeds, the one that keeps its GPUs busy gets
// GPUs that become free. If utilisation is not known, it makes no difference.
func TestIdleGPUsDrawNoMore(t *testing.T) {
	for _, lazy := range []string{"alice", "carol", ""} {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 8)}})
		w.Utilisation = func(j *world.Trainer) float64 {
			switch {
			case lazy == "":
				return -1
			case j.Job.User == lazy:
				return 0.125
			}
			return 0.875
		}
		d := boot(t, w, new(journal.Memory), "lookahead", healthy)
		// Another job has the rest of the node until both have settled.
		alice := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 6, Total: 1000}})
		carol := w.Submit(world.Job{User: "carol", Spec: elastic.Spec{Min: 2, Max: 6, Total: 1000}})
		w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 4, Max: 4, Total: 100}})
		d.drive(t, 26*time.Minute)
		size := map[string]int{"alice": d.of(t, alice).Job.GPUs(), "carol": d.of(t, carol).Job.GPUs()}
		if busy := map[string]string{"alice": "carol", "carol": "alice"}[lazy]; busy != "" && (size[lazy] != 2 || size[busy] != 6) {
			t.Errorf("%s's GPUs are idle, and sizes are %v", lazy, size)
		}
		if jr := d.of(t, alice); jr.Gauged != (lazy != "") || jr.Gauged && jr.Utilisation != map[string]float64{"alice": 0.125, "carol": 0.875}[lazy] {
			t.Errorf("alice's GPUs are reported as %v %v", jr.Gauged, jr.Utilisation)
		}
	}
}

// TestSlicesAreOfAFixedNumber: a job on MIG slices keeps its number of them, whatever is free, and its
// reason says so.
func TestSlicesAreOfAFixedNumber(t *testing.T) {
	for _, policy := range []string{"lookahead", "knapsack", "afs", "srpt"} {
		w := world.New(world.Config{Records: &records.Records{}, Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 7)}})
		w.MIG = true
		d := boot(t, w, new(journal.Memory), policy, healthy)
		first := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 2, Total: 20}})
		job := w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 1, Max: 7, Total: 1000}})
		d.drive(t, time.Minute)
		started := d.of(t, job).Job.GPUs()
		d.drive(t, time.Hour)
		if first.Done() != 20 {
			t.Errorf("%s: %v done", policy, first.Done())
		}
		jr := d.of(t, job)
		if jr.Job.GPUs() != started || started == 0 || started == 7 || !strings.Contains(sentence(jr.Why), "it runs on MIG slices, whose number sluice does not change") {
			t.Errorf("%s: %d slices at first, now %d: %s", policy, started, jr.Job.GPUs(), sentence(jr.Why))
		}
	}
}
