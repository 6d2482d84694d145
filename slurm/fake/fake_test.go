package fake_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

var ctx = context.Background()

// cluster is a fake with two users and an operator.
type cluster struct {
	*testing.T
	*fake.Fake
	alice, bob, sluice *fake.Session
}

func start(t *testing.T, cfg fake.Config) *cluster {
	t.Helper()
	if cfg.Nodes == nil {
		cfg.Nodes = fake.Grid(2, 4)
	}
	cfg.Operators = []string{"sluice"}
	f := fake.New(cfg)
	return &cluster{t, f, f.As("alice"), f.As("bob"), f.As("sluice")}
}

// submit submits a job of alice that sleeps for an hour.
func (c *cluster) submit(args ...string) slurm.JobID {
	c.Helper()
	id, _, err := c.alice.Submit(ctx, slurm.Submission{Args: args, Stdin: []byte("#!/bin/sh\nsleep 1h\n")})
	c.must(err)
	return id
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) job(id slurm.JobID) slurm.Detail {
	c.Helper()
	d, err := c.alice.Job(ctx, id)
	c.must(err)
	return d
}

// shows checks state, reason and split in one line.
func (c *cluster) shows(id slurm.JobID, want string) {
	c.Helper()
	d := c.job(id)
	got := fmt.Sprintf("%s %s", d.State, d.Reason)
	for _, s := range d.Split {
		got += fmt.Sprintf(" %s:%d", s.Node, s.GPUs)
	}
	if d.Completing {
		got += " completing"
	}
	if got != want {
		c.Errorf("job %d: got %q, want %q", id, got, want)
	}
}

func TestResizeKeepsTheID(t *testing.T) {
	c := start(t, fake.Config{})
	id := c.submit("--hold", "--requeue", "--gpus=1", "-N1")
	c.shows(id, "PENDING JobHeldUser")
	c.must(c.sluice.Release(ctx, id))
	c.Advance(time.Second)
	c.shows(id, "RUNNING None gpu1:1")

	c.must(c.sluice.RequeueHold(ctx, id))
	c.shows(id, "PENDING job_requeued_in_held_state completing")
	c.Advance(time.Second)
	c.shows(id, "PENDING job_requeued_in_held_state")
	c.must(c.sluice.Update(ctx, id, slurm.Update{Nodes: []string{"gpu1", "gpu2"}, GPUsTotal: 6, StartAfter: time.Second}))
	c.must(c.alice.Release(ctx, id)) // it is a user hold
	c.Advance(3 * time.Second)
	c.shows(id, "RUNNING None gpu1:4 gpu2:2")
	if d := c.job(id); d.Restarts != 1 || d.GPUs != 6 || d.NodeCount != 2 {
		t.Errorf("restarts=%d gpus=%d nodes=%d, want 1 6 2", d.Restarts, d.GPUs, d.NodeCount)
	}
}

func TestRequeueWaits(t *testing.T) {
	c := start(t, fake.Config{})
	id := c.submit("--gpus=1")
	c.Advance(time.Second)
	c.must(c.alice.Requeue(ctx, id))
	c.Advance(120 * time.Second)
	c.shows(id, "PENDING BeginTime")
	c.Advance(3 * time.Second)
	c.shows(id, "RUNNING None gpu1:1")
}

func TestStartTimeWrittenTooEarlyIsOverwritten(t *testing.T) {
	c := start(t, fake.Config{Draining: 5 * time.Second})
	id := c.submit("--gpus=1")
	c.Advance(time.Second)
	c.must(c.sluice.RequeueHold(ctx, id))
	c.must(c.sluice.Update(ctx, id, slurm.Update{StartAfter: time.Second}))
	c.Advance(6 * time.Second)
	c.must(c.sluice.Release(ctx, id))
	c.Advance(60 * time.Second)
	c.shows(id, "PENDING BeginTime")
}

func TestLaunchInTheSecondOfTheKillIsRevoked(t *testing.T) {
	c := start(t, fake.Config{Draining: 100 * time.Millisecond, Scheduling: 50 * time.Millisecond})
	id := c.submit("--gpus=1")
	c.Advance(time.Second)
	c.must(c.alice.RequeueHold(ctx, id))
	c.Advance(200 * time.Millisecond)
	c.must(c.alice.SetStart(ctx, id, c.Now()))
	c.must(c.alice.Release(ctx, id))
	c.Advance(2 * time.Second)
	c.shows(id, "FAILED None")
}

func TestErrors(t *testing.T) {
	c := start(t, fake.Config{})
	id := c.submit("--gpus=1")
	c.Advance(time.Second)
	note := "x"
	for name, tc := range map[string]struct{ got, want error }{
		"size while running":    {c.alice.Update(ctx, id, slurm.Update{GPUsTotal: 2}), slurm.ErrWrongState},
		"comment while running": {c.alice.Update(ctx, id, slurm.Update{Comment: &note}), nil},
		"other user's cancel":   {c.bob.Cancel(ctx, id), slurm.ErrPermission},
		"unknown job":           {c.alice.Release(ctx, 999), slurm.ErrNotFound},
		"cancel of an unknown":  {c.alice.Cancel(ctx, 999), nil},
		"operator's hold":       {c.sluice.Hold(ctx, id), nil},
	} {
		if !errors.Is(tc.got, tc.want) {
			t.Errorf("%s: got %v, want %v", name, tc.got, tc.want)
		}
	}
}

func TestAnImpossibleSizeIsAcceptedAndMended(t *testing.T) {
	c := start(t, fake.Config{})
	id := c.submit("--hold", "--gpus=1", "-N1")
	c.must(c.alice.Update(ctx, id, slurm.Update{Nodes: []string{"gpu1"}, GPUsTotal: 99}))
	c.must(c.alice.Release(ctx, id))
	c.Advance(time.Minute)
	c.shows(id, "PENDING BadConstraints")
	c.must(c.alice.Update(ctx, id, slurm.Update{Nodes: []string{"gpu1"}, GPUsTotal: 3, StartAfter: time.Second}))
	c.Advance(3 * time.Second)
	c.shows(id, "RUNNING None gpu1:3")
}

func TestForgetting(t *testing.T) {
	c := start(t, fake.Config{})
	id := c.submit("--gpus=1")
	c.Advance(time.Second)
	c.must(c.alice.Cancel(ctx, id))
	c.Advance(299 * time.Second)
	c.shows(id, "CANCELLED None")
	c.Advance(2 * time.Second)
	if _, err := c.alice.Job(ctx, id); !errors.Is(err, slurm.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

func TestOutage(t *testing.T) {
	c := start(t, fake.Config{Faults: fake.MustParse("at 10s: down 1m")})
	id, _, err := c.alice.Submit(ctx, slurm.Submission{Args: []string{"--gpus=1"}, Stdin: []byte("sleep 20\n")})
	c.must(err)
	c.Advance(30 * time.Second)
	if _, err := c.alice.Jobs(ctx); !errors.Is(err, slurm.ErrControllerDown) {
		t.Errorf("got %v, want ErrControllerDown", err)
	}
	c.Advance(41 * time.Second)
	c.shows(id, "COMPLETED None")
}
