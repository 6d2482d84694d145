package fake_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// act is one drawn action: what, on which job, with which number.
type act struct {
	what string
	job  slurm.JobID
	n    int
}

var deeds = []string{"submit", "submit", "advance", "advance", "release", "hold", "requeuehold", "requeue",
	"cancel", "size", "defer", "start", "requeue-running", "node-down", "node-return", "drain", "down"}

func (a act) do(f *fake.Fake, u *fake.Session) {
	node := fmt.Sprintf("gpu%d", 1+a.n%3)
	switch a.what {
	case "submit":
		_, _, _ = u.Submit(ctx, slurm.Submission{
			Args:  []string{fmt.Sprintf("--gpus=%d", 1+a.n%6), fmt.Sprintf("-N1-%d", 1+a.n%3)},
			Stdin: fmt.Appendf(nil, "sleep %d\n", a.n),
		})
	case "advance":
		f.Advance(time.Duration(a.n) * 300 * time.Millisecond)
	case "release":
		_ = u.Release(ctx, a.job)
	case "hold":
		_ = u.Hold(ctx, a.job)
	case "requeuehold":
		_ = u.RequeueHold(ctx, a.job)
	case "requeue":
		_ = u.Requeue(ctx, a.job)
	case "defer":
		_ = u.Defer(ctx, a.job, f.Now().Add(time.Duration(a.n)*time.Second))
	case "start":
		_ = u.Start(ctx, a.job)
	case "requeue-running":
		_ = u.RequeueRunning(ctx, a.job)
	case "cancel":
		_ = u.Cancel(ctx, a.job)
	case "size":
		_ = u.Update(ctx, a.job, slurm.Update{Nodes: []string{node}, GPUsPerNode: 1 + a.n%5, StartAfter: time.Second})
	case "node-down":
		f.NodeDown(node, "test")
	case "node-return":
		f.NodeReturn(node)
	case "drain":
		f.Drain(node, "test")
	case "down":
		f.Down(time.Duration(a.n) * time.Second)
	}
}

// TestWhateverHappensGPUsAreConserved draws sequences of actions and checks after each
// that the GPUs of jobs are those counted on nodes, and at the end that the same seed
// writes the same log.
func TestWhateverHappensGPUsAreConserved(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		acts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) act {
			return act{rapid.SampledFrom(deeds).Draw(t, "what"), slurm.JobID(rapid.IntRange(1, 8).Draw(t, "job")), rapid.IntRange(0, 500).Draw(t, "n")}
		}), 1, 60).Draw(t, "acts")
		play := func() string {
			f := fake.New(fake.Config{Seed: seed, Nodes: fake.Grid(3, 4), Jitter: time.Second})
			u := f.As("alice")
			for _, a := range acts {
				a.do(f, u)
				conserved(t, f)
			}
			f.Advance(10 * time.Minute)
			return f.LogText()
		}
		if a, b := play(), play(); a != b {
			t.Fatalf("two logs of one history differ:\n%s\n---\n%s", a, b)
		}
	})
}

func conserved(t *rapid.T, f *fake.Fake) {
	root := f.As("root").Steady()
	jobs, err := root.Jobs(ctx)
	if err != nil {
		return // an outage
	}
	nodes, _ := root.Nodes(ctx)
	held, used := 0, 0
	owner := map[string]slurm.JobID{}
	for _, j := range jobs {
		d, _ := root.Job(ctx, j.ID)
		over := d.State.Ended() && !d.Completing // Slurm shows where it was
		if running := d.State == slurm.Running; running != (len(d.Split) > 0) || !over && (running || d.Completing) != (len(d.Nodes) > 0) {
			t.Fatalf("job %d: %s completing=%t on %v with split %v", d.ID, d.State, d.Completing, d.Nodes, d.Split)
		}
		if len(d.Nodes) > 0 && !over {
			held += d.GPUs
		}
		for _, s := range d.Split {
			if len(s.IDs) != s.GPUs {
				t.Fatalf("job %d: %d GPUs, ids %v", d.ID, s.GPUs, s.IDs)
			}
			for _, id := range s.IDs {
				key := fmt.Sprint(s.Node, id)
				if owner[key] != 0 {
					t.Fatalf("GPU %s held by jobs %d and %d", key, owner[key], d.ID)
				}
				owner[key] = d.ID
			}
		}
	}
	for _, n := range nodes {
		if used += n.GPUsUsed; n.GPUsUsed > n.GPUs {
			t.Fatalf("%s counts %d of %d GPUs used", n.Name, n.GPUsUsed, n.GPUs)
		}
	}
	if used != held {
		t.Fatalf("nodes count %d GPUs used, jobs hold %d", used, held)
	}
}
