package fake_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

var update = flag.Bool("update", false, "rewrite testdata from what is seen")

// TestTheLogOfAResize compares the log of a whole resize with faults, line by line.
func TestTheLogOfAResize(t *testing.T) {
	plan := fake.MustParse("scontrol release #2: lost-reply; launch #3: slow 10s; at 1m0s: node-down gpu2; at 2m0s: down 30s")
	c := start(t, fake.Config{Seed: 42, Jitter: 500 * time.Millisecond, Faults: plan})
	id := c.submit("--hold", "--requeue", "--gpus=1", "-N1")
	other, _, err := c.bob.Submit(ctx, slurm.Submission{Args: []string{"--gpus=2", "-w", "gpu1"}, Stdin: []byte("sleep 130\n")})
	c.must(err)
	c.must(c.sluice.Release(ctx, id))
	c.Advance(10 * time.Second)
	c.must(c.sluice.RequeueHold(ctx, id))
	c.Advance(2 * time.Second)
	c.must(c.sluice.Update(ctx, id, slurm.Update{Nodes: []string{"gpu1", "gpu2"}, GPUsTotal: 4, CPUs: 2, StartAfter: time.Second}))
	if err := c.sluice.Release(ctx, id); err == nil {
		t.Error("the reply was not lost")
	}
	c.Advance(50 * time.Second)
	_ = c.bob.Cancel(ctx, id)
	c.Advance(4 * time.Minute)
	c.must(c.alice.Cancel(ctx, id))
	_ = c.alice.Cancel(ctx, other)
	c.Advance(6 * time.Minute)
	c.logged("testdata/resize.log", plan)
}

// TestTheLogOfADeferral does so for a resize by begin times.
func TestTheLogOfADeferral(t *testing.T) {
	plan := fake.MustParse("scontrol update starttime #2: lost-reply; at 20s: down 10s")
	c := start(t, fake.Config{Seed: 42, Jitter: 500 * time.Millisecond, Faults: plan})
	id := c.submit("--begin=now+7200", "--requeue", "--gpus=1", "-N1")
	c.must(c.sluice.Start(ctx, id))
	c.Advance(10 * time.Second)
	c.must(c.sluice.RequeueRunning(ctx, id))
	c.must(c.sluice.Defer(ctx, id, c.Now().Add(time.Minute)))
	c.Advance(2 * time.Second)
	c.must(c.sluice.Update(ctx, id, slurm.Update{Nodes: []string{"gpu1", "gpu2"}, GPUsTotal: 4, CPUs: 2}))
	if err := c.sluice.Defer(ctx, id, c.Now().Add(time.Minute)); err == nil {
		t.Error("the reply was not lost")
	}
	c.Advance(2 * time.Minute) // it starts by itself
	_ = c.sluice.Defer(ctx, id, c.Now().Add(time.Minute))
	c.must(c.alice.Cancel(ctx, id))
	c.Advance(time.Second)
	c.logged("testdata/defer.log", plan)
}

// logged compares the log with a file, or writes it.
func (c *cluster) logged(file string, plan fake.Plan) {
	c.Helper()
	t, got := c.T, "plan "+plan.String()+"\n"+c.LogText()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("the log differs (%v); go test -update rewrites it, then read the diff. Now:\n%s", err, got)
	}
}
