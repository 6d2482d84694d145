package conform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// partitions are the promises about what partitions require of their jobs. Slurm checks
// this when a job is started, also for sizes that an operator writes. So sluice keeps
// within it itself (elastic.Cap).
var partitions = []promise{
	{"a job beyond its partition's MaxTime waits", 1, func(c *check) {
		p := c.partition("MaxTime=10")
		id, endless := c.submit(long, p.option(), "--gres=gpu:1", "--time=20"), c.submit(long, p.option(), "--gres=gpu:1", "--time=UNLIMITED")
		c.waits(id, "PartitionTimeLimit")
		c.waits(endless, "PartitionTimeLimit")
		p.set("MaxTime=20")
		c.runs(id)
		p.set("MaxTime=UNLIMITED")
		c.runs(endless)
	}},
	{"a job without a time limit gets its partition's", 1, func(c *check) {
		p := c.partition("MaxTime=10")
		id := c.held(1, p.option())
		c.timeLimit(id, 10)
		c.must(c.Owner.Release(c.ctx, id))
		c.runs(id)
		p.set("MaxTime=5")
		c.timeLimit(id, 10)
		c.must(c.Owner.RequeueHold(c.ctx, id))
		c.pends(id)
		c.timeLimit(id, 5)
		c.again(id)
		c.runs(id)
		c.timeLimit(id, 5)
	}},
	{"a lowered MaxTime binds a running job when it is started again", 1, func(c *check) {
		p := c.partition("MaxTime=30")
		id := c.running(long, 1, p.option(), "--time=20")
		p.set("MaxTime=10")
		c.stays(id, "running", isRunning)
		c.must(c.Operator.RequeueHold(c.ctx, id))
		c.pends(id)
		c.again(id)
		c.waits(id, "PartitionTimeLimit")
		p.set("MaxTime=20")
		c.runs(id)
	}},
	{"a partition's MaxNodes binds an operator's size", 2, func(c *check) {
		p := c.partition("MaxNodes=1")
		id := c.written(slurm.Update{Nodes: c.nodes, GPUsPerNode: 1, CPUs: 2}, p.option(), "--nodelist="+c.nodes[0])
		c.waits(id, "PartitionNodeLimit")
		p.set("MaxNodes=2")
		c.splitIs(c.runs(id), 1, 1)
	}},
	{"a partition's MinNodes binds an operator's size", 2, func(c *check) {
		p := c.partition("MinNodes=2")
		id := c.written(slurm.Update{Nodes: c.nodes[:1], GPUsPerNode: 2, CPUs: 1}, p.option(), "--nodelist="+c.nodes[0])
		c.waits(id, "PartitionNodeLimit")
		p.set("MinNodes=1")
		c.splitIs(c.runs(id), 2)
	}},
	{"a job with too many nodes for the partition waits, as submitted", 2, func(c *check) {
		p := c.partition("MaxNodes=1")
		id := c.submit(long, p.option(), "--nodes=2", "--gres=gpu:1", "--nodelist="+strings.Join(c.nodes, ","))
		c.waits(id, "PartitionNodeLimit")
	}},
	{"a partition's MaxCPUsPerNode counts all its jobs together", 1, func(c *check) {
		p := c.partition("MaxCPUsPerNode=2")
		first := c.running(long, 1, p.option(), "--cpus-per-task=2")
		next := c.submit(long, p.option(), "--gres=gpu:1", "--nodes=1")
		c.waits(next, "Resources")
		c.running(long, 1) // of another partition
		c.must(c.Owner.Cancel(c.ctx, first))
		c.runs(next)
	}},
	{"a partition that is down starts nothing", 1, func(c *check) {
		p := c.partition("")
		id := c.running(long, 1, p.option())
		p.set("State=DOWN")
		p.tells(false)
		next := c.submit(long, p.option(), "--gres=gpu:1")
		c.waits(next, "PartitionDown")
		if d := c.job(id); !isRunning(d) {
			c.Errorf("the first: %s", text(d))
		}
		c.must(c.Operator.RequeueHold(c.ctx, id))
		c.pends(id)
		c.again(id)
		c.waits(id, "PartitionDown")
		p.set("State=UP")
		p.tells(true)
		c.runs(id)
		c.runs(next)
	}},
	{"a partition that drains starts what it has, and takes no more", 1, func(c *check) {
		p := c.partition("")
		id := c.held(1, p.option())
		p.set("State=DRAIN")
		p.tells(true)
		p.refuses()
		c.must(c.Owner.Release(c.ctx, id))
		c.runs(id)
		c.splitIs(c.resize(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2}), 2)
	}},
	{"in an inactive partition changes are answered as refused, and made", 1, inactive},
	{"a partition's limits are read as they were set", 0, func(c *check) {
		p := c.partition("MaxTime=90 MinNodes=2 MaxNodes=3 MaxCPUsPerNode=7")
		if got := p.read(); got.MaxTime != 90*time.Minute || got.MinNodes != 2 || got.MaxNodes != 3 || got.CPUsPerNode != 7 || !got.Up {
			c.Errorf("%+v", got)
		}
	}},
}

// lettingIn are the promises about access to a partition, for RunLimits.
var lettingIn = []promise{
	{"a partition closed to an account starts none of its jobs", 1, func(c *check) {
		other := strings.TrimPrefix(c.account(""), "--account=")
		closedTo(c, "AllowAccounts="+other, "AllowAccounts=ALL", "Job's account not permitted", c.account(""))
	}},
	{"a partition closed to a QOS starts none of its jobs", 1, func(c *check) {
		closedTo(c, "AllowQos=normal", "AllowQos=ALL", "Job's QOS not permitted", c.account(""), c.qos("MaxTRES=gres/gpu=4"))
	}},
	{"a QOS may lift MaxTime for its jobs, the QOS of a partition does not", 1, func(c *check) {
		p := c.partition("MaxTime=10")
		c.waits(c.submit(long, p.option(), "--gres=gpu:1", "--time=20", c.account("")), "PartitionTimeLimit")
		order := c.qos(anyTime)
		c.runs(c.submit(long, p.option(), "--gres=gpu:1", "--time=20", c.account(""), order))
		p.set("QOS=" + strings.TrimPrefix(order, "--qos="))
		c.waits(c.submit(long, p.option(), "--gres=gpu:1", "--time=20", c.account("")), "PartitionTimeLimit")
	}},
	{"accounts below those that a partition names are reported as they are allowed", 1, func(c *check) {
		p := c.partition("")
		above, below, err := c.Below(c.ctx)
		c.must(err)
		p.set("AllowAccounts=" + above)
		p.letsIn(c.submit(long, "--gres=gpu:1", p.option(), "--account="+below), below)
		p.set("AllowAccounts=ALL")
		p.set("DenyAccounts=" + above)
		p.letsIn(c.submit(long, "--gres=gpu:1", p.option(), "--account="+below), below)
	}},
	{"a partition's QOS binds its jobs, and goes before their own", 1, func(c *check) {
		p := c.partition("QOS=" + strings.TrimPrefix(c.qos("MaxTRES=gres/gpu=2"), "--qos="))
		id := c.written(slurm.Update{Nodes: c.nodes, GPUsPerNode: 4, CPUs: 1}, p.option(), c.account("MaxTRES=gres/gpu=4"), c.qos("MaxTRES=gres/gpu=4"))
		c.waits(id, "QOSMaxGRESPerJob")
		c.must(c.Operator.Hold(c.ctx, id))
		c.write(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2, CPUs: 1})
		c.runs(id)
	}},
}

// letsIn compares the reported access of an account with what happens to its job.
func (p partition) letsIn(id slurm.JobID, account string) {
	p.c.Helper()
	told := p.read()
	if len(told.AllowAccounts)+len(told.DenyAccounts) == 0 {
		p.c.Fatalf("no lists: %+v", told)
	}
	if (len(told.AllowAccounts) == 0 || slices.Contains(told.AllowAccounts, account)) && !slices.Contains(told.DenyAccounts, account) {
		p.c.runs(id)
		return
	}
	p.c.kept(id, "Job's account not permitted", "Nodes required for job are", "PartitionConfig", "Priority")
}

// closedTo closes a partition to a pending job and to a running one.
func closedTo(c *check, shut, open, reason string, options ...string) {
	p := c.partition("")
	options = append(options, p.option())
	id, running := c.held(1, options...), c.running(long, 1, options...)
	p.set(shut)
	reasons := []string{reason, "Nodes required for job are", "PartitionConfig", "Priority"} // the reason depends on which scheduler looked last
	c.kept(c.submit(long, append(options, "--gres=gpu:1")...), reasons...)
	c.must(c.Owner.Release(c.ctx, id))
	c.kept(id, reasons...)
	c.must(c.Operator.RequeueHold(c.ctx, running))
	c.pends(running)
	c.again(running)
	c.kept(running, reasons...)
	p.set(open)
	c.runs(id)
	c.runs(running)
}

// inactive: Slurm answers every change of a job in such a partition as refused, and makes
// it. A size is not written, because Update delays the start first and stops at the
// refusal.
func inactive(c *check) {
	p := c.partition("")
	id := c.running(long, 1, p.option())
	p.set("State=INACTIVE")
	p.tells(false)
	p.refuses()
	note := "written all the same"
	c.fails("comment", c.Operator.Update(c.ctx, id, slurm.Update{Comment: &note}), slurm.ErrRefused)
	if got := c.job(id).Comment; got != note {
		c.Errorf("comment %q", got)
	}
	c.fails("requeuehold", c.Operator.RequeueHold(c.ctx, id), nil)
	c.pends(id)
	c.fails("size", c.Operator.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2, CPUs: 1, StartAfter: time.Second}), slurm.ErrRefused)
	c.fails("release", c.Operator.Release(c.ctx, id), slurm.ErrRefused)
	c.waits(id, "PartitionInactive")
	c.fails("hold", c.Operator.Hold(c.ctx, id), slurm.ErrRefused)
	if d := c.job(id); !d.Held || d.GPUs != 1 {
		c.Errorf("%s", text(d))
	}
	p.set("State=UP")
	c.again(id)
	c.splitIs(c.runs(id), 1)
}

// partition is a partition that a check made of its nodes.
type partition struct {
	c    *check
	name string
}

func (c *check) partition(settings string) partition {
	c.Helper()
	nodes := c.nodes
	if len(nodes) == 0 {
		nodes = c.Nodes
	}
	p := partition{c, c.name("p")}
	c.must(c.Partition(c.ctx, p.name, nodes, settings))
	// Slurm does not delete a partition that jobs have just left, so it stays and is set
	// down.
	c.made = append(c.made, func(ctx context.Context) error { return c.SetPartition(ctx, p.name, "State=DOWN") })
	return p
}

// name is a name for this check only, of letters and digits.
func (c *check) name(kind string) string {
	return kind + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(c.row))
}

func (p partition) option() string { return "--partition=" + p.name }

func (p partition) set(settings string) {
	p.c.Helper()
	p.c.must(p.c.SetPartition(p.c.ctx, p.name, settings))
}

// read is what a Limiter reports of the partition.
func (p partition) read() slurm.Partition {
	p.c.Helper()
	for _, got := range p.c.limits().Partitions {
		if got.Name == p.name {
			return got
		}
	}
	p.c.Fatalf("partition %s is not listed", p.name)
	return slurm.Partition{}
}

// tells checks whether the partition is reported to start jobs.
func (p partition) tells(up bool) {
	p.c.Helper()
	if got := p.read(); got.Up != up {
		p.c.Errorf("said to start jobs: %t", got.Up)
	}
}

// refuses checks that the partition accepts no job.
func (p partition) refuses() {
	p.c.Helper()
	id, _, err := p.c.Owner.Submit(p.c.ctx, slurm.Submission{Args: []string{p.option(), "--output=/dev/null"}, Dir: "/tmp", Stdin: []byte(long)})
	if err == nil {
		p.c.jobs = append(p.c.jobs, id)
	}
	p.c.fails("submit", err, slurm.ErrRefused)
}

func (c *check) limits() slurm.Limits {
	c.Helper()
	limiter, ok := c.Operator.(slurm.Limiter)
	if !ok {
		c.Fatal("no slurm.Limiter")
	}
	l, err := limiter.Limits(c.ctx)
	c.must(err)
	return l
}

// timeLimit checks what both queries say, in minutes.
func (c *check) timeLimit(id slurm.JobID, want int) {
	c.Helper()
	for from, j := range map[string]slurm.Job{"list": c.listed(id), "job": c.job(id).Job} {
		if j.TimeLimit != time.Duration(want)*time.Minute {
			c.Errorf("%s: time limit %s, want %d minutes", from, j.TimeLimit, want)
		}
	}
}

// again lets a pending job start again.
func (c *check) again(id slurm.JobID) {
	c.Helper()
	c.must(c.Operator.Update(c.ctx, id, slurm.Update{StartAfter: time.Second}))
	c.must(c.Operator.Release(c.ctx, id))
}

// kept waits until Slurm gives one of the reasons for which the job does not start, held
// or not, and checks that it does not start.
func (c *check) kept(id slurm.JobID, reasons ...string) {
	c.Helper()
	is := func(d slurm.Detail) bool {
		for _, r := range reasons {
			if isPending(d) && strings.HasPrefix(strings.ReplaceAll(d.Reason, "_", " "), r) {
				return true
			}
		}
		return false
	}
	c.until(id, fmt.Sprintf("waiting for %q", reasons), is)
	c.stays(id, "pending", isPending)
}

// gone cancels jobs and waits until they have left.
func (c *check) gone(ids ...slurm.JobID) {
	c.Helper()
	for _, id := range ids {
		if err := c.Owner.Cancel(c.ctx, id); !errors.Is(err, slurm.ErrNotFound) {
			c.must(err)
		}
		c.until(id, "ended", isOver)
	}
}
