package world_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// crowded is a Slurm with many ordinary jobs beside those of the fake. It counts queries.
type crowded struct {
	slurm.Client
	many        []slurm.Job
	jobs, nodes int
}

func (c *crowded) Jobs(ctx context.Context) ([]slurm.Job, error) {
	c.jobs++
	own, err := c.Client.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	return slices.Concat(own, c.many), nil
}

// ordinary returns one of many jobs: most wait for GPUs, some for something else, some have ended.
func ordinary(i int, partition string, now time.Time) slurm.Job {
	j := slurm.Job{
		ID: slurm.JobID(10_000_000 + i), Name: fmt.Sprintf("sweep-%d", i), User: fmt.Sprintf("user%d", i%500), UID: uint32(5000 + i%500),
		Account: "physics", Partition: partition, QOS: "normal", State: slurm.Pending, Reason: "Priority", NodeCount: 1, GPUs: i % 3,
		Submit: now.Add(-time.Hour), WorkDir: fmt.Sprintf("/home/user%d", i%500), Comment: fmt.Sprintf("run %d of a sweep", i),
	}
	switch i % 10 {
	case 7:
		j.Reason = "Dependency"
	case 8:
		j.State, j.Reason = slurm.Completed, ""
	case 9:
		j.Held, j.Reason = true, "JobHeldUser"
	}
	return j
}

func (c *crowded) Nodes(ctx context.Context) ([]slurm.Node, error) {
	c.nodes++
	return c.Client.Nodes(ctx)
}

// live returns the bytes in use after a garbage collection.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// counted is an engine that counts the queries of every cycle.
type counted struct {
	*engine.Engine
	t *testing.T
	c *crowded
}

// Cycle runs the engine's cycle and fails the test if it made more than two queries.
func (c *counted) Cycle(ctx context.Context, now time.Time) (time.Time, error) {
	jobs, nodes := c.c.jobs, c.c.nodes
	wake, err := c.Engine.Cycle(ctx, now)
	if err != nil {
		c.t.Errorf("a cycle decided nothing: %v", err)
	}
	if c.c.jobs != jobs+1 || c.c.nodes > nodes+1 {
		c.t.Errorf("a cycle made %d queries for jobs and %d for nodes", c.c.jobs-jobs, c.c.nodes-nodes)
	}
	return wake, err
}

// crowdOf returns a large count, reduced under the race detector.
func crowdOf(many int) int {
	if underRace {
		return many / 5
	}
	return many
}

// beside is a world with 100,000 ordinary jobs in a partition, and an engine on it.
func beside(t *testing.T, partition string) (*world.World, *counted) {
	t.Helper()
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(4, 4)}})
	c := &crowded{Client: w.Client}
	for i := range crowdOf(100_000) {
		c.many = append(c.many, ordinary(i, partition, w.Now()))
	}
	return w, &counted{boot(t, w, new(journal.Memory), "lookahead", func(cfg *engine.Config) {
		cfg.Slurm, cfg.Period, cfg.Transition = c, 3*time.Minute, 20*time.Second
	}).Engine, t, c}
}

// TestHundredThousandOrdinaryJobs: F17, beside 100,000 ordinary jobs sluice moves its jobs as usual, with
// two queries a cycle, and uses no more memory after many cycles than after few.
func TestHundredThousandOrdinaryJobs(t *testing.T) {
	w, d := beside(t, "cpu")
	job := world.Job{User: "alice", Spec: elastic.Spec{Min: 1, Max: 16, Total: 30}, Model: world.Amdahl(60, 0.05)}
	w.Submit(job)
	w.At(time.Minute, func() { w.Submit(job) }) // the first job has to shrink
	drive(t, w, d, 4*time.Minute)
	before := live()
	drive(t, w, d, 15*time.Minute)
	grown := live() - before
	t.Logf("%d cycles, %d MB in use, %d KB of them new", d.c.jobs, before>>20, grown>>10)
	if grown > 8<<20 {
		t.Errorf("%d cycles later %d bytes more are in use", d.c.jobs, grown)
	}
	for i, j := range w.Trainers() {
		if j.Done() < j.Job.Spec.Total || i == 0 && len(j.Runs()) < 2 {
			t.Errorf("job %d did %v of %v in %d runs", j.ID(), j.Done(), j.Job.Spec.Total, len(j.Runs()))
		}
	}
	runtime.KeepAlive(d)
}

// TestHundredThousandWaiting: F17, if 46,000 ordinary jobs wait for the same GPUs, a cycle still decides:
// sluice's job keeps its minimum and takes no more.
func TestHundredThousandWaiting(t *testing.T) {
	w, d := beside(t, "gpu")
	j := w.Submit(world.Job{User: "alice", Spec: elastic.Spec{Min: 2, Max: 16, Total: 1000}, Model: world.Amdahl(60, 0.05)})
	drive(t, w, d, 3*time.Minute)
	r := d.Report()
	if len(r.Demands) < crowdOf(40_000) || len(r.Jobs) != 1 || r.Jobs[0].Job.GPUs() != 2 || len(j.Runs()) != 1 {
		t.Errorf("%d wait; %d jobs of its own, on %d GPUs, in %d runs", len(r.Demands), len(r.Jobs), r.Jobs[0].Job.GPUs(), len(j.Runs()))
	}
}

func drive(t *testing.T, w *world.World, d world.Cycler, span time.Duration) {
	t.Helper()
	if err := w.Drive(context.Background(), d, span); err != nil {
		t.Fatal(err)
	}
}

// TestThousandsOfOwnJobs: F17, with 3,000 jobs of its own, most of which wait, sluice loses none, makes
// no more queries than with three, and uses no more memory over time.
func TestThousandsOfOwnJobs(t *testing.T) {
	w := world.New(world.Config{Fake: fake.Config{Seed: 7, Nodes: fake.Grid(16, 4)}})
	c := &crowded{Client: w.Client}
	d := &counted{boot(t, w, new(journal.Memory), "lookahead", func(cfg *engine.Config) {
		cfg.Slurm, cfg.Period, cfg.Transition = c, time.Minute, 20*time.Second
	}).Engine, t, c}
	many := crowdOf(3000)
	for i := range many {
		w.Submit(world.Job{User: fmt.Sprintf("user%d", i%50), Spec: elastic.Spec{Min: 1, Max: 4, Total: 1e6}, Model: world.Amdahl(60, 0.05)})
	}
	drive(t, w, d, 4*time.Minute)
	before := live()
	drive(t, w, d, 8*time.Minute)
	grown := live() - before
	running := 0
	for _, j := range d.Report().Jobs {
		if j.Job.Phase == elastic.Running {
			running++
		}
	}
	t.Logf("%d cycles, %d MB in use, %d KB of them new, %d run", c.jobs, before>>20, grown>>10, running)
	if n := len(d.Report().Jobs); n != many || running != 64 {
		t.Errorf("%d of %d jobs are known, %d run", n, many, running)
	}
	if grown > 4<<20 {
		t.Errorf("%d cycles later %d bytes more are in use", c.jobs, grown)
	}
	runtime.KeepAlive(d)
}
