package conform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// check is the test of one promise.
type check struct {
	*testing.T
	Subject
	ctx   context.Context
	row   string
	nodes []string // its own nodes
	args  []string // further options of every job
	jobs  []slurm.JobID
	made  []func(context.Context) error // run when its jobs are gone, to undo what it made
}

// Scripts the checks run; the fake understands them too.
const (
	long     = "#!/bin/sh\nexec sleep 600\n"
	failing  = "#!/bin/sh\nexit 3\n"
	stubborn = "#!/bin/sh\ntrap 'sleep 3; exit 0' TERM\nsleep 600 & wait\n"
)

func (c *check) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// fails checks the kind of an error; nil means none.
func (c *check) fails(what string, got, want error) {
	c.Helper()
	if !errors.Is(got, want) || (want == nil && got != nil) {
		c.Errorf("%s: got error %v, want %v", what, got, want)
	}
}

// submit submits a script as the owner, for the check's first node unless args say
// otherwise. The job is cancelled after the check.
func (c *check) submit(script string, args ...string) slurm.JobID {
	c.Helper()
	base := []string{"--requeue", "--output=/dev/null", "--job-name=conform"}
	if words := strings.Join(args, " "); !strings.Contains(words, "--nodelist") && !strings.Contains(words, "--reservation") && len(c.nodes) > 0 && len(c.nodes) < len(c.Nodes) {
		base = append(base, "--nodelist="+c.nodes[0])
	}
	id, _, err := c.Owner.Submit(c.ctx, slurm.Submission{
		Args: slices.Concat(base, c.args, args), Dir: "/tmp", Stdin: []byte(script)})
	c.must(err)
	c.jobs = append(c.jobs, id)
	return id
}

// held submits a held one-node job, as sluice does.
func (c *check) held(gpus int, args ...string) slurm.JobID {
	c.Helper()
	return c.submit(long, append([]string{"--hold", "--nodes=1", "--ntasks=1", fmt.Sprintf("--gres=gpu:%d", gpus)}, args...)...)
}

// running submits such a job and waits until it runs.
func (c *check) running(script string, gpus int, args ...string) slurm.JobID {
	c.Helper()
	id := c.submit(script, append([]string{"--nodes=1", "--ntasks=1", fmt.Sprintf("--gres=gpu:%d", gpus)}, args...)...)
	c.runs(id)
	return id
}

// failed submits a job that fails and waits until it has.
func (c *check) failed() slurm.JobID {
	c.Helper()
	id := c.submit(failing, "--nodes=1", "--ntasks=1", "--gres=gpu:1")
	c.ends(id, slurm.Failed)
	return id
}

// completing returns a job that was requeued and held and whose last run is still being
// cleaned up after do was applied to it. On a slow machine a script may be ended before
// its shell has set the trap that delays its end, or the clean-up may end too soon: then
// another job is tried with more time.
func (c *check) completing(do func(slurm.JobID)) slurm.JobID {
	c.Helper()
	return c.completingBy(c.Owner.RequeueHold, do)
}

// completingBy is completing with another way to requeue the job.
func (c *check) completingBy(requeue func(context.Context, slurm.JobID) error, do func(slurm.JobID)) slurm.JobID {
	c.Helper()
	for wait := time.Second; wait < c.Patience; wait *= 2 {
		id := c.running(stubborn, 2)
		for end := c.Now().Add(wait); c.Now().Before(end); {
			c.Step()
		}
		c.must(requeue(c.ctx, id))
		do(id)
		if c.job(id).Completing {
			return id
		}
		c.must(c.Owner.Cancel(c.ctx, id))
		c.until(id, "ended", isOver)
	}
	c.Fatal("no job was ever seen completing")
	return 0
}

// seenCompleting is completing with both answers about the job, each given while it was completing. On
// a busy machine its last run may be cleaned up between the two questions: then it tries another job.
func (c *check) seenCompleting() (slurm.JobID, map[string]slurm.Job) {
	c.Helper()
	for range 5 {
		id := c.completing(func(slurm.JobID) {})
		seen := map[string]slurm.Job{"job": c.job(id).Job, "list": c.listed(id)}
		if c.job(id).Completing {
			return id, seen
		}
		c.must(c.Owner.Cancel(c.ctx, id))
		c.until(id, "ended", isOver)
	}
	c.Fatal("every job was cleaned up while it was asked about")
	return 0, nil
}

// pastStart waits until a begin time of the next second is in the past: Slurm keeps one that is
// still ahead when the last run has been cleaned up.
func (c *check) pastStart() {
	c.Helper()
	for end := c.Now().Add(2 * time.Second); c.Now().Before(end); {
		c.Step()
	}
}

func (c *check) job(id slurm.JobID) slurm.Detail {
	c.Helper()
	d, err := c.Owner.Job(c.ctx, id)
	c.must(err)
	return d
}

// listed returns the job as the bulk query shows it.
func (c *check) listed(id slurm.JobID) slurm.Job {
	c.Helper()
	jobs, err := c.Owner.Jobs(c.ctx)
	c.must(err)
	for _, j := range jobs {
		if j.ID == id {
			return j
		}
	}
	c.Fatalf("job %d is not listed", id)
	return slurm.Job{}
}

// until waits for the job to satisfy the condition.
func (c *check) until(id slurm.JobID, what string, is func(slurm.Detail) bool) slurm.Detail {
	c.Helper()
	end := c.Now().Add(c.Patience)
	for {
		d := c.job(id)
		if is(d) {
			return d
		}
		if c.Now().After(end) {
			c.Fatalf("job %d is not %s after %s: %s", id, what, c.Patience, text(d))
		}
		c.Step()
	}
}

// text is a job in one line.
func text(d slurm.Detail) string {
	return fmt.Sprintf("state=%s completing=%t held=%t reason=%q restarts=%d nodes=%v split=%v want=%d GPUs on %d nodes %v",
		d.State, d.Completing, d.Held, d.Reason, d.Restarts, d.Nodes, d.Split, d.GPUs, d.NodeCount, d.ReqNodes)
}

func isRunning(d slurm.Detail) bool { return d.State == slurm.Running && !d.Completing }
func isPending(d slurm.Detail) bool { return d.State == slurm.Pending && !d.Completing }
func isOver(d slurm.Detail) bool    { return d.State.Ended() && !d.Completing }

func (c *check) runs(id slurm.JobID) slurm.Detail {
	c.Helper()
	return c.until(id, "running", isRunning)
}

func (c *check) pends(id slurm.JobID) slurm.Detail {
	c.Helper()
	return c.until(id, "pending", isPending)
}

func (c *check) ends(id slurm.JobID, state slurm.State) slurm.Detail {
	c.Helper()
	return c.until(id, string(state), func(d slurm.Detail) bool { return isOver(d) && d.State == state })
}

// stays checks that something remains true for a few seconds.
func (c *check) stays(id slurm.JobID, what string, is func(slurm.Detail) bool) {
	c.Helper()
	for end := c.Now().Add(4 * time.Second); c.Now().Before(end); c.Step() {
		if d := c.job(id); !is(d) {
			c.Fatalf("job %d does not stay %s: %s", id, what, text(d))
		}
	}
}

// resize takes a running job through all steps of a resize, as its owner.
func (c *check) resize(id slurm.JobID, u slurm.Update) slurm.Detail {
	c.Helper()
	return c.resizeBy(c.Owner, id, u)
}

func (c *check) resizeBy(who slurm.Client, id slurm.JobID, u slurm.Update) slurm.Detail {
	c.Helper()
	before := c.job(id)
	c.must(who.RequeueHold(c.ctx, id))
	c.pends(id)
	if u.CPUs == 0 {
		u.CPUs = max(len(u.Nodes), u.NodeCount)
	}
	u.StartAfter = time.Second
	c.must(who.Update(c.ctx, id, u))
	c.must(who.Release(c.ctx, id))
	d := c.runs(id)
	if d.Restarts != before.Restarts+1 {
		c.Errorf("%d restarts, want %d", d.Restarts, before.Restarts+1)
	}
	return d
}

// splitIs checks the job's GPUs per node.
func (c *check) splitIs(d slurm.Detail, want ...int) {
	c.Helper()
	var got []int
	for _, s := range d.Split {
		got = append(got, s.GPUs)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		c.Errorf("split %v, want %v: %s", got, want, text(d))
	}
}

// clean cancels the check's jobs and waits until they have left their nodes.
func (c *check) clean() {
	ctx := context.Background()
	for _, id := range c.jobs {
		_ = c.Operator.Cancel(ctx, id)
	}
	end := c.Now().Add(c.Patience)
	for _, id := range c.jobs {
		for c.Now().Before(end) {
			d, err := c.Operator.Job(ctx, id)
			if errors.Is(err, slurm.ErrNotFound) || err == nil && isOver(d) {
				break
			}
			c.Step()
		}
	}
}

// undo reverts what the check made beside its jobs.
func (c *check) undo() {
	for _, do := range c.made {
		if err := do(context.Background()); err != nil {
			c.Error(err)
		}
	}
}
