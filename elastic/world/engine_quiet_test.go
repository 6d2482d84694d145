package world_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// TestAQuietJobIsToldOf: a job that Slurm shows running and that writes no heartbeat keeps its size and
// gets no requests. Its report says so and what to type. After a requeue it continues, and its
// history has the cause.
func TestAQuietJobIsToldOf(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
	memory := new(journal.Memory)
	d := boot(t, w, memory, "lookahead", func(c *engine.Config) { c.Period = time.Second })
	lost := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 6000}, Behaviour: world.Behaviour{Gone: 2 * time.Minute}})
	d.drive(t, 4*time.Minute)
	if got := d.of(t, lost); got.Job.GPUs() != 4 || !got.Job.Quiet.IsZero() {
		t.Fatalf("%d GPUs, quiet since %v: %s", got.Job.GPUs(), got.Job.Quiet, sentence(got.Why))
	}
	d.drive(t, 2*time.Minute)
	got, said := d.of(t, lost), len(d.log.String())
	if !strings.Contains(sentence(got.Why), "it has reported nothing since") || !strings.Contains(sentence(got.Why), "scontrol requeue 1") {
		t.Errorf("the reason does not say so: %s", sentence(got.Why))
	}
	w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 1, Max: 4, Total: 60}})
	d.drive(t, 2*time.Minute)
	if asked := strings.Count(d.log.String()[said:], "ask job 1"); asked > 0 {
		t.Errorf("it was asked %d times:\n%s", asked, d.log.String()[said:])
	}
	must(t, w.User("alice").Requeue(t.Context(), lost.ID()))
	d.drive(t, 4*time.Minute)
	runs, err := memory.Segments(t.Context(), lost.Token)
	if err != nil || len(runs) < 2 || !strings.HasPrefix(sentence(runs[1].Cause), "was requeued outside sluice; ") {
		t.Errorf("%v: its runs are %+v\n%s", err, runs, d.log.String()[said:])
	}
}

// TestAJobThatNeverSpokeIsToldOf: the same for a job whose runner has written nothing since its start.
func TestAJobThatNeverSpokeIsToldOf(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period = time.Second })
	born := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 4, Total: 6000}, Behaviour: world.Behaviour{NeverSpoke: true}})
	d.drive(t, 2*time.Minute)
	if got := d.of(t, born); got.Job.Phase != elastic.Running || !got.Job.Quiet.IsZero() {
		t.Fatalf("%s, quiet since %v", got.Job.Phase, got.Job.Quiet)
	}
	d.drive(t, 3*time.Minute)
	if got := d.of(t, born); got.Job.Quiet.IsZero() || !strings.Contains(sentence(got.Why), "it has reported nothing since") {
		t.Errorf("the reason does not say so: %s", sentence(got.Why))
	}
	must(t, w.User("alice").Requeue(t.Context(), born.ID()))
	d.drive(t, 4*time.Minute)
	if got := d.of(t, born); got.Job.Phase != elastic.Running || !got.Job.Quiet.IsZero() || got.Job.Heartbeat.IsZero() {
		t.Errorf("requeued, it is %s, quiet since %v", got.Job.Phase, got.Job.Quiet)
	}
}

// TestARetryIsToldOf: while a failed script waits for its next start the job keeps its size, and its
// report says until when. A job cannot announce that forever.
func TestARetryIsToldOf(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 3, Nodes: fake.Grid(1, 4)}})
	again := w.Now().Add(3 * time.Minute)
	d := boot(t, w, new(journal.Memory), "lookahead", func(c *engine.Config) { c.Period = time.Second })
	fails := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 2, Total: 6000}, Behaviour: world.Behaviour{Forge: func(r *checkpoint.Runner) { r.RetryAt = again }}})
	lies := w.Submit(world.Job{User: "bob", Spec: elastic.Spec{Min: 1, Max: 2, Total: 6000}, Behaviour: world.Behaviour{Forge: func(r *checkpoint.Runner) { r.RetryAt = r.Beat.Add(240 * time.Hour) }}})
	d.drive(t, 2*time.Minute)
	if got, want := sentence(d.of(t, fails).Why), "its script failed and is started again at "+again.Format(time.TimeOnly); !strings.Contains(got, want) {
		t.Errorf("%s, want %q", got, want)
	}
	if got := sentence(d.of(t, lies).Why); strings.Contains(got, "failed") {
		t.Errorf("one that says it of the next week: %s", got)
	}
	d.drive(t, 2*time.Minute)
	if got := sentence(d.of(t, fails).Why); strings.Contains(got, "failed") {
		t.Errorf("it is shown after its time: %s", got)
	}
}
