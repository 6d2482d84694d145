package conform

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// License is the name of the only license that a subject has.
const License = "conform"

// outside are promises about conditions other than GPUs for which Slurm does not start a
// job.
var outside = []promise{
	{"licenses in use are told after the release only", all, func(c *check) {
		first := c.submit(long, "--gres=gpu:1", "--licenses="+License)
		c.runs(first)
		if l := c.listed(first).Licenses; !strings.HasPrefix(l, License) {
			c.Errorf("the running job's licenses are listed as %q", l)
		}
		id := c.submit(long, "--hold", "--gres=gpu:1", "--licenses="+License+":1")
		c.stays(id, "held", func(d slurm.Detail) bool { return d.Held && d.Reason == "JobHeldUser" })
		c.must(c.Owner.Release(c.ctx, id))
		c.until(id, "refused", func(d slurm.Detail) bool { return isPending(d) && d.Reason == "Licenses" })
		c.must(c.Owner.RequestPass(c.ctx, id))
		c.stays(id, "refused", func(d slurm.Detail) bool { return isPending(d) && (d.Reason == "Licenses" || d.Reason == "None") })
		c.must(c.Operator.Hold(c.ctx, id))
		if d := c.job(id); !d.Held || d.Reason != "JobHeldUser" {
			c.Errorf("held again: %s", text(d))
		}
		c.must(c.Operator.Release(c.ctx, id))
		c.must(c.Owner.Cancel(c.ctx, first))
		c.runs(id)
	}},
	{"an unknown license is refused at submit", 0, func(c *check) {
		_, _, err := c.Owner.Submit(c.ctx, slurm.Submission{Args: []string{"--licenses=nosuch:1", "--output=/dev/null"}, Dir: "/tmp", Stdin: []byte(long)})
		c.fails("submit", err, slurm.ErrRefused)
	}},
	{"what a job depends on is listed, and whether it can still be satisfied", 1, func(c *check) {
		first := c.submit(failing, "--hold", "--nodes=1", "--ntasks=1")
		ok := c.held(1, fmt.Sprintf("--dependency=afterany:%d", first))
		never := c.submit(long, "--nodes=1", "--ntasks=1", fmt.Sprintf("--dependency=afterok:%d", first))
		for id, kind := range map[slurm.JobID]string{ok: "afterany", never: "afterok"} {
			if d := slurm.ParseDependency(c.listed(id).Dependency); len(d.Terms) != 1 || d.Terms[0] != (slurm.DependencyTerm{Kind: kind, Job: first}) || d.Any {
				c.Errorf("job %d depends on %+v", id, d)
			}
		}
		c.must(c.Owner.Release(c.ctx, first))
		c.ends(first, slurm.Failed)
		c.until(never, "never to start", func(slurm.Detail) bool {
			j := c.listed(never)
			d := slurm.ParseDependency(j.Dependency)
			return j.State == slurm.Pending && j.Reason == "DependencyNeverSatisfied" && len(d.Terms) == 1 && d.Terms[0].Failed
		})
		c.must(c.Owner.Release(c.ctx, ok))
		c.runs(ok)
	}},
	{"a held job that can never start stays held, as by an administrator, when its dependency is removed", 1, func(c *check) {
		first := c.failed()
		id := c.held(1, fmt.Sprintf("--dependency=afterok:%d", first))
		c.until(id, "held for ever", func(d slurm.Detail) bool { return d.Held && d.Reason == "JobHeldAdmin" })
		if d := slurm.ParseDependency(c.listed(id).Dependency); len(d.Terms) != 1 || !d.Terms[0].Failed {
			c.Errorf("it depends on %+v", d)
		}
		c.must(c.Independent(c.ctx, id))
		c.stays(id, "held", func(d slurm.Detail) bool { return d.Held && d.Reason == "JobHeldAdmin" })
		if on := c.listed(id).Dependency; on != "" {
			c.Errorf("it depends on %q", on)
		}
		c.fails("the owner's release", c.Owner.Release(c.ctx, id), slurm.ErrPermission)
		c.must(c.Operator.Release(c.ctx, id))
		c.runs(id)
	}},
	{"the begin time of a held job is listed", 1, func(c *check) {
		began := c.Now()
		id := c.held(1, "--begin=now+3600")
		if in := c.listed(id).Eligible.Sub(began); in < time.Hour-5*time.Second || in > time.Hour+time.Minute {
			c.Errorf("eligible in %s, want about an hour", in)
		}
		now := c.held(1)
		if at := c.listed(now).Eligible; at.After(c.Now()) {
			c.Errorf("a job without a begin time is eligible at %s only", at)
		}
	}},
}
