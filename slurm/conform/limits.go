package conform

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// limits are the promises about what accounts, users and QOS may have. Slurm leaves a job
// pending if its size is beyond a limit, whoever wrote the size: with an operator's
// rights only CPUs are exempt. So sluice keeps within the limits itself (elastic.Cap).
var limits = []promise{
	{"a job beyond what its user may have waits", 1, func(c *check) {
		a := c.account("GrpTRES=gres/gpu=2")
		first := c.running(long, 2, a)
		next := c.submit(long, "--gres=gpu:1", a)
		c.waits(next, "AssocGrpGRES")
		c.must(c.Owner.Cancel(c.ctx, first))
		c.runs(next)
	}},
	{"a user cannot submit into an account without an association", 0, func(c *check) {
		id, _, err := c.Owner.Submit(c.ctx, slurm.Submission{Args: []string{"--account=nosuch", "--output=/dev/null"}, Dir: "/tmp", Stdin: []byte(long)})
		if err == nil {
			c.jobs = append(c.jobs, id)
		}
		c.fails("submit", err, slurm.ErrRefused)
	}},
	{"a lowered limit leaves a running job alone, until it is started again", 1, func(c *check) {
		a := c.account("")
		id := c.running(long, 2, a)
		c.limit(a, "GrpTRES=gres/gpu=1")
		c.stays(id, "running", isRunning)
		c.must(c.Operator.RequeueHold(c.ctx, id))
		c.pends(id)
		c.must(c.Operator.Update(c.ctx, id, slurm.Update{StartAfter: time.Second}))
		c.must(c.Operator.Release(c.ctx, id))
		c.waits(id, "AssocGrpGRES")
		c.limit(a, "GrpTRES=gres/gpu=2")
		c.runs(id)
	}},
	{"a QOS goes before a user", 1, func(c *check) {
		a := c.account("MaxTRES=gres/gpu=2")
		q := c.qos("MaxTRES=gres/gpu=4")
		c.running(long, 3, a, q)
	}},
	{"the owner may write a size beyond a limit, without effect", 1, func(c *check) {
		id := c.held(1, c.account("MaxTRES=gres/gpu=2"))
		c.must(c.Owner.Update(c.ctx, id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 4, CPUs: 1, StartAfter: time.Second}))
		c.must(c.Owner.Release(c.ctx, id))
		c.waits(id, "AssocMaxGRESPerJob")
	}},
	{"CPUs that an operator writes are exempt from limits", 1, func(c *check) {
		id := c.written(slurm.Update{Nodes: c.nodes, GPUsPerNode: 4, CPUs: 4}, c.account("MaxTRES=cpu=2"), "--cpus-per-gpu=1")
		c.splitIs(c.runs(id), 4)
	}},
	{"billing is by the weights of the partition, and cut off", 1, func(c *check) {
		p := c.partition("TRESBillingWeights=GRES/gpu=1.6")
		a := c.account("MaxTRES=billing=5")
		id := c.written(slurm.Update{Nodes: c.nodes, GPUsPerNode: 4, CPUs: 1}, a, p.option(), "--nodelist="+c.nodes[0])
		c.waits(id, "AssocMaxBillingPerJob")
		c.limit(a, "MaxTRES=billing=6")
		c.runs(id)
		c.billed(id, 6)
		l, err := c.Operator.(slurm.Limiter).Limits(c.ctx)
		c.must(err)
		for _, got := range l.Partitions {
			if got.Name == p.name && fmt.Sprint(got.Weights) != "[{gres/gpu 1.6}]" {
				c.Errorf("weights %v", got.Weights)
			}
		}
	}},
	{"a restarted job is checked by its present size, and billed by its first", 1, func(c *check) {
		p := c.partition("TRESBillingWeights=GRES/gpu=2")
		a := c.account("MaxTRES=billing=5")
		id := c.running(long, 1, a, p.option())
		c.billed(id, 2)
		c.must(c.Operator.RequeueHold(c.ctx, id))
		c.pends(id)
		c.write(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 4, CPUs: 1})
		c.waits(id, "AssocMaxBillingPerJob")
		c.limit(a, "MaxTRES=billing=8")
		c.splitIs(c.runs(id), 4)
		c.billed(id, 2)
	}},
	{"jobs that run are billed together", 1, func(c *check) {
		p := c.partition("TRESBillingWeights=CPU=0.25,GRES/gpu=2")
		a := c.account("GrpTRES=billing=5")
		first := c.running(long, 2, a, p.option())
		next := c.submit(long, "--gres=gpu:1", a, p.option())
		c.waits(next, "AssocGrpBilling")
		c.must(c.Owner.Cancel(c.ctx, first))
		c.runs(next)
	}},
	{"limits are read as they were set", 0, func(c *check) {
		a := c.account("GrpTRES=billing=9,gres/gpu=2,mem=3000 MaxTRES=node=1 GrpJobs=5 MaxJobs=4 MaxTRESMins=gres/gpu=120 GrpTRESMins=gres/gpu=0 MaxWall=60")
		limiter, ok := c.Operator.(slurm.Limiter)
		if !ok {
			c.Fatal("no slurm.Limiter")
		}
		l, err := limiter.Limits(c.ctx)
		c.must(err)
		for _, got := range l.Associations {
			if "--account="+got.Account != a || got.User != c.OwnerName {
				continue
			}
			const want = "[{billing 9} {gres/gpu 2} {mem 3000} {job 5}] [{job 4}] [{node 1}] {[{gres/gpu 0}] [{gres/gpu 0}] [] [{gres/gpu 120}] 1h0m0s}"
			if all := fmt.Sprint(got.Group, got.Own, got.Job, got.Minutes); !l.Enforced || all != want {
				c.Errorf("got  %s\nwant %s", all, want)
			}
			return
		}
		c.Errorf("%s is not among %+v", a, l.Associations)
	}},
}

// beyond are sizes that an operator writes, limits, and the reason for which Slurm then
// leaves the job pending.
var beyond = []struct {
	limit  string
	qos    bool // set on a QOS
	gpus   int
	nodes  int
	args   string
	reason string
	enough string // the limit under which it starts
}{
	{"GrpTRES=gres/gpu=2", false, 4, 1, "", "AssocGrpGRES", "GrpTRES=gres/gpu=4"},
	{"MaxTRES=gres/gpu=2", false, 4, 1, "", "AssocMaxGRESPerJob", ""},
	{"MaxTRES=node=1", false, 1, 2, "", "AssocMaxNodePerJobLimit", ""},
	{"GrpJobs=0", false, 1, 1, "", "AssocGrpJobsLimit", ""},
	{"GrpTRES=mem=3999", false, 4, 1, "--mem-per-gpu=1000", "AssocGrpMemLimit", "GrpTRES=mem=4000"},
	{"MaxTRESMins=gres/gpu=239", false, 4, 1, "--time=60", "AssocMaxGRESMinutesPerJob", "MaxTRESMins=gres/gpu=240"},
	{"GrpTRESRunMins=gres/gpu=239", false, 4, 1, "--time=60", "AssocGrpGRESRunMinutes", "GrpTRESRunMins=gres/gpu=240"},
	{"GrpTRESMins=gres/gpu=0", false, 4, 1, "", "AssocGrpGRESMinutes", ""},
	{"MaxTRES=billing=3", false, 1, 1, "--cpus-per-gpu=4", "AssocMaxBillingPerJob", "MaxTRES=billing=4"},
	{"MaxWall=59", false, 4, 1, "--time=60", "AssocMaxWallDurationPerJobLimit", "MaxWall=60"},
	{"MaxTRESPerUser=gres/gpu=2", true, 4, 1, "", "QOSMaxGRESPerUser", ""},
	{"GrpTRES=gres/gpu=2", true, 4, 1, "", "QOSGrpGRES", ""},
	{"MinTRES=gres/gpu=2", true, 1, 1, "", "QOSMinGRES", ""},
}

func init() {
	for _, b := range beyond {
		of := "a user's "
		if b.qos {
			of = "a QOS's "
		}
		limits = append(limits, promise{of + b.limit + " binds an operator's size", b.nodes, func(c *check) {
			args := strings.Fields(b.args)
			a := c.account("")
			if b.qos {
				args = append(args, c.qos(b.limit))
			}
			id := c.held(b.gpus/b.nodes, append(args, a)...)
			if !b.qos {
				c.limit(a, b.limit)
			}
			c.write(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: b.gpus, CPUs: b.nodes})
			c.waits(id, b.reason)
			if b.enough != "" {
				c.limit(a, b.enough)
				c.runs(id)
			}
		}})
	}
}

// billed checks the billing of a running job against the expected value.
func (c *check) billed(id slurm.JobID, want int) {
	c.Helper()
	jobs, err := c.Operator.Jobs(c.ctx)
	c.must(err)
	for _, j := range jobs {
		if j.ID == id && j.Billing != want {
			c.Errorf("job %d has %d GPUs and is billed %d, want %d", id, j.GPUs, j.Billing, want)
		}
	}
}

// account returns the option that submits into an account used by this check only, with
// limits of the owner in it.
func (c *check) account(limits string) string {
	c.Helper()
	name, err := c.Account(c.ctx)
	c.must(err)
	option := "--account=" + name
	if limits != "" {
		c.limit(option, limits)
	}
	return option
}

func (c *check) limit(account, limits string) {
	c.Helper()
	c.must(c.Limit(c.ctx, strings.TrimPrefix(account, "--account="), limits))
}

// qos does the same for a QOS.
func (c *check) qos(limits string) string {
	c.Helper()
	name, err := c.QOS(c.ctx, limits)
	c.must(err)
	return "--qos=" + name
}

// written submits a held job of one GPU; an operator then writes its size and releases
// it.
func (c *check) written(u slurm.Update, args ...string) slurm.JobID {
	c.Helper()
	id := c.held(1, args...)
	c.write(id, u)
	return id
}

func (c *check) write(id slurm.JobID, u slurm.Update) {
	c.Helper()
	u.StartAfter = time.Second
	c.must(c.Operator.Update(c.ctx, id, u))
	c.must(c.Operator.Release(c.ctx, id))
}

// waits waits until Slurm gives the reason for which the job does not start.
func (c *check) waits(id slurm.JobID, reason string) {
	c.Helper()
	c.until(id, "waiting for "+reason, func(d slurm.Detail) bool { return isPending(d) && !d.Held && d.Reason == reason })
}
