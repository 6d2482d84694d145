package world_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

var ctx = context.Background()

// hand does what the engine does, one resize at a time.
type hand struct {
	*testing.T
	*world.World
}

func newHand(t *testing.T, cfg world.Config) *hand {
	t.Helper()
	if cfg.Fake.Nodes == nil {
		cfg.Fake.Nodes = fake.Grid(2, 4)
	}
	return &hand{t, world.New(cfg)}
}

func (h *hand) must(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

func (h *hand) check(want ...string) {
	h.Helper()
	got := h.Check()
	if len(got) != len(want) {
		h.Fatalf("got %d broken promises, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i := range want {
		if !strings.Contains(got[i], want[i]) {
			h.Errorf("got %q, want it to say %q", got[i], want[i])
		}
	}
}

// place writes a held job's size and lets it start.
func (h *hand) place(job *world.Trainer, checkpointName string, to nodes.Placement) {
	h.Helper()
	h.must(h.Mail.Withdraw(job.Token))
	h.must(h.Mail.Aim(job.Token, checkpoint.Target{Split: to, Checkpoint: checkpointName}))
	h.must(h.Client.Update(ctx, job.ID(), slurm.Update{Nodes: to.Nodes(), GPUsTotal: to.GPUs(), StartAfter: time.Second}))
	h.must(h.Client.Release(ctx, job.ID()))
}

// resize asks for a checkpoint, waits for it and moves the job.
func (h *hand) resize(job *world.Trainer, to nodes.Placement) {
	h.Helper()
	h.must(h.Mail.Ask(job.Token, checkpoint.Request{ID: "r"}))
	h.Advance(time.Minute)
	word, ok, err := h.Mail.Runner(job.Token, uid(h, job))
	if err != nil || !ok || word.Answer == nil {
		h.Fatalf("no answer: %v %v %+v", ok, err, word)
	}
	h.must(h.Client.RequeueHold(ctx, job.ID()))
	h.Advance(2 * time.Second)
	h.place(job, word.Answer.Checkpoint, to)
}

func uid(h *hand, job *world.Trainer) uint32 {
	d, err := h.Client.Job(ctx, job.ID())
	h.must(err)
	return d.UID
}

func TestAJobTrainsThroughAResize(t *testing.T) {
	h := newHand(t, world.Config{})
	job := h.Submit(world.Job{Spec: elastic.Spec{Max: 8}})
	h.place(job, "", nodes.Placement{{Node: "gpu1", GPUs: 1}})
	h.Advance(150 * time.Second) // 2.4 units of 60 s after the start
	h.resize(job, nodes.Placement{{Node: "gpu1", GPUs: 4}, {Node: "gpu2", GPUs: 2}})
	h.Advance(200 * time.Second)
	if job.State() != slurm.Completed {
		t.Errorf("state %s, want COMPLETED", job.State())
	}
	runs := job.Runs()
	if len(runs) != 2 || runs[1].Start != runs[0].Done || runs[1].Done != 10 || runs[0].Done != runs[0].Saved {
		t.Errorf("runs: %+v", runs)
	}
	lines, _, _, err := h.Mail.Progress(job.Token, 5000, 0)
	if err == nil {
		var events []string
		for _, l := range lines {
			events = append(events, l.Event)
		}
		t.Log(events)
	}
	h.check()
}

func TestTheCheckerSeesUnsavedWorkStopped(t *testing.T) {
	h := newHand(t, world.Config{})
	job := h.Submit(world.Job{})
	h.place(job, "", nodes.Placement{{Node: "gpu1", GPUs: 1}})
	h.Advance(100 * time.Second)
	h.must(h.Client.RequeueHold(ctx, job.ID()))
	h.check("I3 job 1: run 0 was stopped by sluiced (requeuehold) with 1.")
}

func TestTheCheckerSeesAnOldCheckpointChosen(t *testing.T) {
	h := newHand(t, world.Config{})
	job := h.Submit(world.Job{Every: 1, Behaviour: world.Behaviour{Obedient: true}})
	h.place(job, "", nodes.Placement{{Node: "gpu1", GPUs: 1}})
	h.Advance(200 * time.Second)
	h.must(h.User("alice").RequeueHold(ctx, job.ID())) // users may lose their own work
	h.Advance(2 * time.Second)
	h.place(job, "00000001", nodes.Placement{{Node: "gpu1", GPUs: 1}})
	h.Advance(10 * time.Second)
	h.check("I3 job 1: run 1 resumed at 1 units although 3 were saved")
}

func TestTheCheckerSeesForeignHands(t *testing.T) {
	h := newHand(t, world.Config{})
	id := h.Ordinary("bob", 1, 2, time.Hour)
	h.Advance(time.Second)
	h.must(h.Client.Cancel(ctx, id))
	h.check("I8 job 1: scancel by sluiced")
}

// In a world with records the audit checks the same. Here sluiced's client acts although no engine has
// logged anything.
func TestTheAuditSeesUnannouncedEffects(t *testing.T) {
	h := newHand(t, world.Config{Records: &records.Records{}})
	h.Records.Starts(h.Now())
	job := h.Submit(world.Job{})
	h.place(job, "", nodes.Placement{{Node: "gpu1", GPUs: 1}})
	h.Advance(10 * time.Second)
	h.check("audit: I5 job 1", "Slurm released it for sluiced")
}

func TestTheCheckerSeesASizeTheJobDoesNotAccept(t *testing.T) {
	h := newHand(t, world.Config{})
	job := h.Submit(world.Job{Spec: elastic.Spec{Min: 2, Max: 2}})
	h.place(job, "", nodes.Placement{{Node: "gpu1", GPUs: 3}})
	h.Advance(10 * time.Second)
	h.check("I4 job 1: run 0 was to have 3 GPUs")
}

func TestMisbehaviour(t *testing.T) {
	for name, tc := range map[string]struct {
		b     world.Behaviour
		state slurm.State // after a request and a minute
		word  func(checkpoint.Runner) bool
	}{
		"deaf":    {world.Behaviour{Deaf: true}, slurm.Running, func(r checkpoint.Runner) bool { return r.State == checkpoint.Training && r.Answer == nil }},
		"stuck":   {world.Behaviour{Stuck: true}, slurm.Running, func(r checkpoint.Runner) bool { return r.State == checkpoint.Saving && r.Answer == nil }},
		"error":   {world.Behaviour{SaveError: "disk full"}, slurm.Running, func(r checkpoint.Runner) bool { return r.Answer.Error == "disk full" }},
		"exits 0": {world.Behaviour{OnRequest: true}, slurm.Completed, func(r checkpoint.Runner) bool { return r.Exit.Code == 0 }},
		"exits 1": {world.Behaviour{OnRequest: true, ExitCode: 1}, slurm.Failed, func(r checkpoint.Runner) bool { return r.Exit.Code == 1 }},
		"slow":    {world.Behaviour{Extra: time.Hour}, slurm.Running, func(r checkpoint.Runner) bool { return r.State == checkpoint.Saving }},
		"well":    {world.Behaviour{}, slurm.Running, func(r checkpoint.Runner) bool { return r.State == checkpoint.Waiting && r.Answer.Checkpoint != "" }},
		"fails":   {world.Behaviour{ExitAt: 0.5, ExitCode: 3}, slurm.Failed, func(r checkpoint.Runner) bool { return r.Exit.Code == 3 }},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHand(t, world.Config{})
			job := h.Submit(world.Job{Behaviour: tc.b})
			h.place(job, "", nodes.Placement{{Node: "gpu1", GPUs: 1}})
			h.Advance(50 * time.Second)
			h.must(h.Mail.Ask(job.Token, checkpoint.Request{ID: "r"}))
			h.Advance(time.Minute)
			word, _, err := h.Mail.Runner(job.Token, uid(h, job))
			h.must(err)
			if job.State() != tc.state || !tc.word(word) {
				t.Errorf("state %s, word %+v", job.State(), word)
			}
			h.check()
		})
	}
}

func TestAWithdrawnRequestLetsTheJobTrainOn(t *testing.T) {
	h := newHand(t, world.Config{})
	job := h.Submit(world.Job{})
	h.place(job, "", nodes.Placement{{Node: "gpu1", GPUs: 1}})
	h.Advance(50 * time.Second)
	for range 3 { // while saving, then while waiting
		h.must(h.Mail.Ask(job.Token, checkpoint.Request{ID: "r"}))
		h.Advance(1500 * time.Millisecond)
		h.must(h.Mail.Withdraw(job.Token))
		h.Advance(10 * time.Second)
	}
	h.Advance(12 * time.Minute)
	if job.State() != slurm.Completed || job.Done() != 10 {
		t.Errorf("%s with %g units done", job.State(), job.Done())
	}
	h.check()
}
