package world_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine"
	"github.com/sluice-hpc/sluice/elastic/world"
	"github.com/sluice-hpc/sluice/elastic/world/records"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// seedsEnv sets the number of scenarios; seedEnv plays a single scenario, with the engine's whole log.
const (
	seedsEnv = "SLUICE_CHAOS_SEEDS"
	seedEnv  = "SLUICE_CHAOS_SEED"
)

// habits is the first seed of scenarios in which every program saves on its own.
const habits = 1 << 20

// TestChaos draws random scenarios from seeds: correct and misbehaving jobs, users who change jobs through
// Slurm, node failures, outages, failing calls. In all of them no invariant is violated, and every
// job that can end does.
func TestChaos(t *testing.T) {
	if one, err := strconv.ParseUint(os.Getenv(seedEnv), 10, 64); err == nil {
		c := drawChaos(one)
		bad := c.play(t)
		t.Logf("%s\n%s", c, c.d.log())
		t.Logf("%s", c.w.Slurm.LogText())
		for _, b := range bad {
			t.Error(b)
		}
		return
	}
	seeds, err := strconv.ParseUint(os.Getenv(seedsEnv), 10, 64)
	if err != nil {
		if seeds = 30; underRace {
			seeds = 6
		}
	}
	for seed := range seeds {
		playChaos(t, seed)
		if seed%3 == 0 {
			playChaos(t, habits+seed)
		}
	}
}

func playChaos(t *testing.T, seed uint64) {
	c := drawChaos(seed)
	if bad := c.play(t); len(bad) > 0 {
		t.Errorf("%s=%d go test -run TestChaos ./elastic/world\n%s\n%s", seedEnv, seed, c, strings.Join(bad, "\n"))
	}
}

// chaos is one scenario.
type chaos struct {
	rng    *rand.Rand
	w      *world.World
	d      *mortal
	kill   map[int]bool // boundaries at which the daemon dies
	plan   fake.Plan
	change []func(*engine.Config)
	told   []string // actions of users and machines, for the failure message
	// cancelled are jobs that a user cancelled, dead those whose program ends early, holders
	// those that their user ever held.
	cancelled, odd, holders map[slurm.JobID]bool

	habits bool // every program saves on its own
}

func (c *chaos) String() string {
	return fmt.Sprintf("plan %s\n%s", c.plan, strings.Join(c.told, "\n"))
}

func drawChaos(seed uint64) *chaos {
	c := &chaos{rng: rand.New(rand.NewPCG(seed, 77)), cancelled: map[slurm.JobID]bool{}, odd: map[slurm.JobID]bool{}, holders: map[slurm.JobID]bool{}}
	nodes := 2 + c.rng.IntN(3)
	c.kill = map[int]bool{}
	for range c.rng.IntN(5) {
		c.kill[1+c.rng.IntN(150)] = true
	}
	c.drawPlan()
	people, account := []string{"alice", "bob"}, ""
	if seed%4 == 3 { // user mode: one user, without rights over others
		people, account = []string{"alice"}, "alice"
	}
	c.w = world.New(world.Config{Records: &records.Records{}, Account: account, User: account != "", Fake: fake.Config{
		Seed: seed, Nodes: fake.Grid(nodes, 4), Jitter: time.Duration(c.rng.IntN(3)) * time.Second,
		Draining: time.Duration(1+c.rng.IntN(20)) * 100 * time.Millisecond, Faults: c.plan,
	}})
	if seed%5 == 2 { // jobs are stopped in favour of others
		c.change = append(c.change, inTurns)
	}
	c.habits = seed >= habits
	for range 2 + c.rng.IntN(5) {
		c.drawJob(4*nodes, people)
	}
	for range c.rng.IntN(3) {
		gpus, runs := 1+c.rng.IntN(4), c.within(10*time.Minute)+time.Minute
		c.tell(c.within(40*time.Minute), fmt.Sprintf("ordinary job of %d GPUs for %s", gpus, runs), func() { c.w.Ordinary("carol", 1, gpus, runs) })
	}
	for range c.rng.IntN(3) {
		c.drawNodeEvent(nodes)
	}
	return c
}

func (c *chaos) within(d time.Duration) time.Duration {
	return time.Duration(c.rng.Int64N(int64(d))).Truncate(100 * time.Millisecond)
}

func (c *chaos) tell(at time.Duration, what string, do func()) {
	c.happens(at, what, func() { c.insist(do) })
}

func (c *chaos) happens(at time.Duration, what string, do func()) {
	c.told = append(c.told, fmt.Sprintf("%8.1f %s", at.Seconds(), what))
	c.w.At(at, do)
}

// insist does something now, or as soon as slurmctld answers, as a user who tries again.
func (c *chaos) insist(do func()) {
	if _, err := c.w.User("root").Jobs(context.Background()); err != nil {
		c.w.At(c.w.Now().Sub(c.began())+15*time.Second, func() { c.insist(do) })
		return
	}
	do()
}

// drawPlan draws injected faults of the daemon's calls.
func (c *chaos) drawPlan() {
	reads := []fake.Kind{fake.Garbage, fake.Empty, fake.Half, fake.Stale, fake.LostReply}
	changes := []fake.Kind{fake.LostReply, fake.LostReply, fake.LostRequest, fake.Refused, fake.Denied, fake.Garbage}
	for range c.rng.IntN(20) {
		ops := slices.Concat(fake.Ops(), fake.DeferOps())
		op := ops[c.rng.IntN(len(ops))]
		f := fake.Fault{On: op, Nth: 1 + c.rng.IntN(12), After: c.rng.IntN(2) == 0}
		switch {
		case c.rng.IntN(8) == 0:
			f.Kind, f.For = fake.Down, time.Duration(1+c.rng.IntN(600))*time.Second
		case op == "squeue" || strings.HasPrefix(op, "scontrol show"):
			f.Kind, f.Nth = reads[c.rng.IntN(len(reads))], 1+c.rng.IntN(200)
		default:
			f.Kind = changes[c.rng.IntN(len(changes))]
		}
		c.plan = append(c.plan, f)
	}
	for _, op := range []string{"launch", "drain"} {
		if c.rng.IntN(3) == 0 {
			c.plan = append(c.plan, fake.Fault{On: op, Nth: 1 + c.rng.IntN(6), Kind: fake.Slow, For: time.Duration(1+c.rng.IntN(90)) * time.Second})
		}
	}
}

// drawJob draws a job and what its user does to it.
func (c *chaos) drawJob(cluster int, people []string) {
	j := world.Job{
		User: people[c.rng.IntN(len(people))],
		Spec: elastic.Spec{Min: 1 + c.rng.IntN(2), Total: float64(5 + c.rng.IntN(40)), AllowUneven: c.rng.IntN(2) == 0},
		Save: time.Duration(1+c.rng.IntN(20)) * time.Second, Load: time.Duration(1+c.rng.IntN(20)) * time.Second,
		Model: world.Amdahl(float64(60+c.rng.IntN(300)), c.rng.Float64()*0.3),
	}
	j.Spec.Max = j.Spec.Min + c.rng.IntN(cluster)
	if c.rng.IntN(4) == 0 {
		j.Spec.Signal = "USR2"
	}
	if c.rng.IntN(4) == 0 {
		j.Every = float64(1 + c.rng.IntN(3))
	}
	if c.habits {
		j.Spec.Habit, j.Every = true, max(j.Every, 1)
	}
	odd := c.rng.IntN(4) == 0
	if odd {
		j.Behaviour = []world.Behaviour{{Silent: true}, {Deaf: true}, {Stuck: true}, {SaveError: "disk full"}, {Extra: 3 * time.Minute},
			{Lie: 5}, {ForgetLast: true}, {ExitAt: 1.5, ExitCode: 1}, {OnRequest: true}, {OnRequest: true, ExitCode: 9}}[c.rng.IntN(10)]
	}
	at := c.within(15 * time.Minute)
	var job *world.Trainer
	c.tell(at, fmt.Sprintf("%s submits %d-%d GPUs, %g units, uneven=%t %+v", j.User, j.Spec.Min, j.Spec.Max, j.Spec.Total, j.Spec.AllowUneven, j.Behaviour), func() {
		job = c.w.Submit(j)
		c.odd[job.ID()] = j.ExitAt > 0 || j.OnRequest
	})
	for c.rng.IntN(2) == 0 {
		c.drawMeddling(at+time.Second+c.within(30*time.Minute), j.User, func() *world.Trainer { return job })
	}
	// In the end all users release the jobs that they held.
	c.tell(2*time.Hour, j.User+" lets go", func() {
		if job != nil && c.holders[job.ID()] {
			_ = c.w.User(j.User).Release(context.Background(), job.ID())
		}
	})
}

func (c *chaos) drawMeddling(at time.Duration, user string, job func() *world.Trainer) {
	ctx := context.Background()
	what := []string{"cancels", "holds", "releases", "requeues", "requeueholds", "resizes"}[c.rng.IntN(6)]
	c.tell(at, user+" "+what, func() {
		if job() == nil {
			return // not submitted because of an outage
		}
		u, id := c.w.User(user), job().ID()
		switch what {
		case "cancels":
			if u.Cancel(ctx, id) == nil {
				c.cancelled[id] = true
			}
		case "holds":
			c.holders[id] = true
			_ = u.Hold(ctx, id)
		case "releases":
			_ = u.Release(ctx, id)
		case "requeues":
			_ = u.Requeue(ctx, id)
		case "requeueholds":
			c.holders[id] = true
			_ = u.RequeueHold(ctx, id)
		case "resizes":
			_ = u.Update(ctx, id, slurm.Update{Nodes: []string{"gpu1"}, GPUsPerNode: 3, CPUs: 1, StartAfter: time.Second})
		}
	})
}

func (c *chaos) drawNodeEvent(nodes int) {
	name := fmt.Sprintf("gpu%d", 1+c.rng.IntN(nodes))
	at := c.within(40 * time.Minute)
	if c.rng.IntN(2) == 0 {
		c.happens(at, name+" fails", func() { c.w.Slurm.NodeDown(name, "chaos") })
	} else {
		c.happens(at, name+" is drained", func() { c.w.Slurm.Drain(name, "chaos") })
	}
	if nodes > 2 && name != "gpu1" && c.rng.IntN(4) == 0 {
		return // it does not return
	}
	back := at + time.Second + c.within(20*time.Minute)
	c.happens(back, name+" returns", func() { c.w.Slurm.NodeReturn(name) })
}

// play plays the scenario and returns what is wrong at its end.
func (c *chaos) play(t *testing.T) []string {
	t.Helper()
	c.d = newMortal(t, c.w, &boundaries{kill: c.kill, after: c.rng.IntN(2) == 0}, c.change...)
	if c.rng.IntN(3) == 0 {
		c.w.Mail.Fault = func(op, _ string) error {
			if c.rng.IntN(60) == 0 {
				return fmt.Errorf("%s: no space left on device", op)
			}
			return nil
		}
	}
	over := func() bool { return c.w.Now().Sub(c.began()) > 2*time.Hour && c.w.Over() }
	if err := c.w.DriveUntil(context.Background(), c.d, 12*time.Hour, over); err != nil {
		return []string{err.Error()}
	}
	c.w.Advance(10 * time.Second)
	bad := c.w.Check()
	last := map[slurm.JobID]slurm.State{}
	for _, end := range c.w.Slurm.Ends() {
		last[end.Job] = end.State
	}
	for _, job := range c.w.Trainers() {
		id := job.ID()
		switch {
		case !job.Ended():
			d, _ := c.w.User("root").Job(context.Background(), id)
			bad = append(bad, fmt.Sprintf("job %d never ended: %s held=%t %s, %g units done", id, d.State, d.Held, d.Reason, job.Done()))
		case last[id] != slurm.Completed && !c.cancelled[id] && !c.odd[id]:
			bad = append(bad, fmt.Sprintf("job %d ended as %s with %g of %g units", id, last[id], job.Done(), job.Job.Spec.Total))
		}
	}
	return bad
}

func (c *chaos) began() time.Time { return time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC) }
