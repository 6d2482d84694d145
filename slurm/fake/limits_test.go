package fake_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

func amounts(of string, n int) []slurm.Amount { return []slurm.Amount{{Of: of, N: n}} }

// What slurm/conform checks of fake and real Slurm is not repeated here: accounts above,
// QOS of several users, and used minutes.
func TestLimitsOfAccountsAndQOS(t *testing.T) {
	const gpu = slurm.OfGPUs
	for _, tc := range []struct {
		name   string
		safe   bool
		top    slurm.Association // the account above that of alice and bob
		order  slurm.QOS
		first  []string // bob's job, which runs
		args   []string
		reason string // "" = it runs
	}{
		{name: "none", args: []string{"--gpus=4"}},
		{name: "of the account above, with what others have", top: slurm.Association{Group: amounts(gpu, 4)}, first: []string{"--gpus=3"}, args: []string{"--gpus=2"}, reason: "AssocGrpGRES"},
		{name: "up to it", top: slurm.Association{Group: amounts(gpu, 4)}, first: []string{"--gpus=3"}, args: []string{"--gpus=1"}},
		{name: "CPUs of an account", top: slurm.Association{Group: amounts(slurm.OfCPUs, 4)}, args: []string{"--gpus=1", "--cpus-per-task=5"}, reason: "AssocGrpCpuLimit"},
		{name: "jobs of an account", top: slurm.Association{Group: amounts(slurm.OfJobs, 1)}, first: []string{"--gpus=1"}, args: []string{"--gpus=1"}, reason: "AssocGrpJobsLimit"},
		{name: "what a QOS sets goes before an account", top: slurm.Association{Group: amounts(gpu, 1)}, order: slurm.QOS{Group: amounts(gpu, 4)}, args: []string{"--gpus=4", "--qos=q"}},
		{name: "a QOS of several users", order: slurm.QOS{Group: amounts(gpu, 4)}, first: []string{"--gpus=3", "--qos=q"}, args: []string{"--gpus=2", "--qos=q"}, reason: "QOSGrpGRES"},
		{name: "of each user alone", order: slurm.QOS{User: amounts(gpu, 4)}, first: []string{"--gpus=3", "--qos=q"}, args: []string{"--gpus=2", "--qos=q"}},
		{name: "of an account in a QOS", order: slurm.QOS{Account: amounts(gpu, 4)}, first: []string{"--gpus=3", "--qos=q"}, args: []string{"--gpus=2", "--qos=q"}, reason: "MaxGRESPerAccount"},
		{name: "some minutes are left", top: slurm.Association{Minutes: slurm.Minutes{Budget: amounts(gpu, 100), Used: amounts(gpu, 99)}}, args: []string{"--gpus=4", "--time=60"}},
		{name: "and none", top: slurm.Association{Minutes: slurm.Minutes{Budget: amounts(gpu, 100), Used: amounts(gpu, 100)}}, args: []string{"--gpus=1", "--time=1"}, reason: "AssocGrpGRESMinutes"},
		{name: "with safe so many as it may take", safe: true, top: slurm.Association{Minutes: slurm.Minutes{Budget: amounts(gpu, 300), Used: amounts(gpu, 61)}}, args: []string{"--gpus=4", "--time=60"}, reason: "AssocGrpGRESMinutes"},
		{name: "exactly", safe: true, top: slurm.Association{Minutes: slurm.Minutes{Budget: amounts(gpu, 300), Used: amounts(gpu, 60)}}, args: []string{"--gpus=4", "--time=60"}},
		{name: "wall time", top: slurm.Association{Minutes: slurm.Minutes{Budget: amounts(slurm.OfWall, 9), Used: amounts(slurm.OfWall, 9)}}, args: []string{"--gpus=1"}, reason: "AssocGrpWallLimit"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := start(t, fake.Config{})
			tc.top.Account, tc.order.Name = "phys", "q"
			c.SetLimits(slurm.Limits{Enforced: true, Safe: tc.safe, QOS: []slurm.QOS{tc.order},
				Associations: []slurm.Association{tc.top, {Account: "theory", Parent: "phys"}, {Account: "theory", User: "alice"}, {Account: "theory", User: "bob"}}})
			if tc.first != nil {
				_, _, err := c.bob.Submit(ctx, slurm.Submission{Args: tc.first, Stdin: []byte("sleep 1h\n")})
				c.must(err)
				c.Advance(time.Second)
			}
			id := c.submit(tc.args...)
			c.Advance(time.Second)
			if d := c.job(id); tc.reason == "" && d.State != slurm.Running || tc.reason != "" && d.Reason != tc.reason {
				t.Errorf("%s %s, want %q", d.State, d.Reason, tc.reason)
			}
		})
	}
}

// The minutes that running jobs may still use become fewer as time passes.
func TestRunMinutesComeFree(t *testing.T) {
	c := start(t, fake.Config{})
	c.SetLimits(slurm.Limits{Enforced: true, Associations: []slurm.Association{{Account: "a", User: "alice", Minutes: slurm.Minutes{Group: amounts(slurm.OfGPUs, 100)}}}})
	c.submit("--gpus=1", "--time=60")
	c.Advance(time.Second)
	id := c.submit("--gpus=1", "--time=60")
	c.Advance(10 * time.Minute)
	if d := c.job(id); d.Reason != "AssocGrpGRESRunMinutes" {
		t.Fatalf("%s %s", d.State, d.Reason)
	}
	c.Advance(12 * time.Minute)
	if d := c.job(id); d.State != slurm.Running {
		t.Errorf("%s %s", d.State, d.Reason)
	}
}

// A user without an account, or a job with an unknown QOS, is refused.
func TestWhoMaySubmit(t *testing.T) {
	c := start(t, fake.Config{})
	c.SetLimits(slurm.Limits{Enforced: true, Associations: []slurm.Association{{Account: "a"}, {Account: "a", User: "alice"}}})
	if d := c.job(c.submit("--hold")); d.Account != "a" || d.QOS != "normal" {
		t.Errorf("%+v", d)
	}
	for _, args := range [][]string{{"--account=b"}, {"--qos=gold"}} {
		if _, _, err := c.alice.Submit(ctx, slurm.Submission{Args: args}); !errors.Is(err, slurm.ErrRefused) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, _, err := c.bob.Submit(ctx, slurm.Submission{}); !errors.Is(err, slurm.ErrRefused) {
		t.Errorf("bob: %v", err)
	}
	c.Down(time.Minute)
	if _, err := c.sluice.Limits(ctx); !errors.Is(err, slurm.ErrControllerDown) {
		t.Errorf("limits of a slurmctld that is down: %v", err)
	}
}
