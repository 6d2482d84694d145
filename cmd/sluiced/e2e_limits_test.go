package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// An operator's account can write any size to a job; if that exceeds its user's limits, Slurm leaves
// the job pending forever. sluice therefore observes the limits itself: the job of a user with a
// limit of 2 GPUs grows to 2 on a node with 4, whatever is idle, and further once that is allowed.
// Its reason says so.
func TestLimitsOfAnAccount(t *testing.T) {
	needsAccounting(t, "limits were")
	t.Parallel()
	const user = "sluice-test-l"
	s := play(t, withNodes(1, 4), withUsers([]string{user}), func(c *site.Config) {
		c.Lab.Accounting, c.Lab.ExtraConf = true, "SelectTypeParameters=CR_Core_Memory\nDefMemPerCPU=100\n"
	})
	s.must(s.Lab.Enroll(s.ctx, "phys", user))
	s.limit("user", user, "GrpTRES=gres/gpu=2")

	a := s.submit("a", user, 1000, []string{"--max-gpus=4"}, "--seconds", "0.4")
	a.runsOn(2)
	b := s.submit("b", user, 5, []string{"--min-gpus=3"})
	b.until("to wait for the limit", func(v wire.Job) bool { return strings.Contains(v.Reason, "GrpTRES=gres/gpu=2 of user "+user) })
	if why := s.as(user, "sluice", "explain", fmt.Sprint(b.id)); !strings.Contains(why, "waits for 3 GPUs: within GrpTRES=gres/gpu=2 of user "+user+" in account phys") {
		t.Errorf("explain says:\n%s", why)
	}
	s.cancel(b)
	if v := a.view(); v.GPUs != 2 || a.field("Restarts") != fmt.Sprint(v.Restarts) {
		t.Errorf("moved meanwhile: %+v", v)
	}

	s.limit("user", user, "GrpTRES=gres/gpu=4")
	a.runsOn(4)
	s.limit("user", user, "GrpTRES=gres/gpu=1") // lowered below what it has: it keeps running
	a.until("to be known beyond its limit", func(v wire.Job) bool { return strings.Contains(v.Reason, "GrpTRES=gres/gpu=1") })
	before := a.field("Restarts")
	c := s.submit("c", user, 5, nil)
	c.until("to wait for the limit", func(v wire.Job) bool { return strings.Contains(v.Reason, "GrpTRES=gres/gpu=1") })
	if after := a.field("Restarts"); after != before || a.view().GPUs != 4 {
		t.Errorf("a limit below what it has moved it: %s restarts, then %s, on %d GPUs", before, after, a.view().GPUs)
	}
	s.cancel(a, c)

	// Memory grows with the GPUs, and Slurm counts it also for sizes that sluice wrote.
	s.limit("user", user, "GrpTRES=gres/gpu=-1,mem=2500")
	m := s.submit("m", user, 1000, []string{"--max-gpus=4", "--mem-per-gpu=1000M"}, "--seconds", "0.4")
	m.runsOn(2)
	if why := s.as(user, "sluice", "explain", fmt.Sprint(m.id)); !strings.Contains(why, "no more within GrpTRES=mem=2500M of user "+user) {
		t.Errorf("explain says:\n%s", why)
	}
	s.cancel(m)

	// Billing is by the weights of the partition: 3 GPUs and 3000 MB come to 6.9, of which
	// Slurm counts 6.
	s.as("", "scontrol", "update", "PartitionName=gpu", "TRESBillingWeights=GRES/gpu=2,Mem=0.3G")
	s.limit("user", user, "GrpTRES=mem=-1,billing=1")
	m = s.submit("billed", user, 1000, []string{"--max-gpus=4", "--mem-per-gpu=1000M"}, "--seconds", "0.4")
	m.until("to wait for the limit", func(v wire.Job) bool { return strings.Contains(v.Reason, "GrpTRES=billing=1 of user "+user) })
	s.limit("user", user, "GrpTRES=billing=6")
	m.runsOn(3)
	if why := s.as(user, "sluice", "explain", fmt.Sprint(m.id)); !strings.Contains(why, "no more within GrpTRES=billing=6 of user "+user) {
		t.Errorf("explain says:\n%s", why)
	}
	// If the minutes are used up nothing starts, and running jobs are not changed.
	s.limit("user", user, "GrpTRES=billing=-1 GrpTRESMins=gres/gpu=0")
	n := s.submit("n", user, 5, nil)
	n.until("to wait for minutes", func(v wire.Job) bool {
		return strings.Contains(v.Reason, "GrpTRESMins=gres/gpu=0 of user "+user+" in account phys, which is used up")
	})
	if v := m.view(); v.GPUs != 3 {
		t.Errorf("moved meanwhile: %+v", v)
	}
	s.cancel(m, n)

	// A job without a time limit would run into tomorrow's maintenance: Slurm does not
	// start it, so sluice does not either, and says so.
	s.limit("user", user, "GrpTRES=gres/gpu=-1 GrpTRESMins=gres/gpu=-1")
	s.as("", "scontrol", "create", "reservation", "ReservationName=maint", "StartTime=now+1day", "Duration=60", "Users=root", "Nodes=gpu1", "Flags=maint")
	d := s.submit("d", user, 5, nil)
	d.until("to wait for the maintenance", func(v wire.Job) bool { return strings.Contains(v.Reason, "reservation maint keeps gpu1") })
	s.as("", "scontrol", "delete", "reservation", "maint")
	d.completes()
}

// limit sets a limit as an administrator does.
func (s *scene) limit(kind, name, limit string) {
	s.t.Helper()
	s.as("", "sacctmgr", append([]string{"-i", "modify", kind, name, "set"}, strings.Fields(limit)...)...)
}
