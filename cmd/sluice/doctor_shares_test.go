package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/command"
)

// TestDoctorOfShares: it says by whose shares GPUs are divided, and which settings have no effect.
func TestDoctorOfShares(t *testing.T) {
	own := map[string]etc.Share{"phys": {Shares: 3, Users: map[string]float64{"ann": 1, "gone": 1}}, "bio": {Users: map[string]float64{"ann": 1}}}
	qos := map[string]etc.QOS{"low": {Scavenger: true}}
	multi := map[string]string{"PriorityType": "priority/multifactor", "PriorityWeightFairShare": "1000"}
	basic := map[string]string{"PriorityType": "priority/basic", "PriorityWeightFairShare": "1000"}
	with := func(s map[string]string) map[string]string {
		out := map[string]string{"AccountingStorageType": "accounting_storage/slurmdbd"}
		for k, v := range s {
			out[k] = v
		}
		return out
	}
	const (
		bySlurm = "OK shares: GPUs are divided by Slurm's shares of accounts and users (sshare)\n"
		none    = "OK shares: GPUs are not divided by shares: fair share does not count in Slurm (PriorityWeightFairShare), and sluice.toml has no [shares.NAME]\n"
		ours    = "OK shares: GPUs are divided by the shares of sluice.toml (2 accounts, 2 users); a job of a user in no account gets what those do not want\n"
		absent  = "WARN shares: [shares.NAME] names users that do not exist on this host: gone\n"
	)
	for name, c := range map[string]struct {
		slurm  map[string]string
		shares map[string]etc.Share
		qos    map[string]etc.QOS
		want   string
	}{
		"Slurm's tree":                    {with(multi), nil, qos, bySlurm},
		"no slurmdbd":                     {multi, nil, nil, "WARN shares: PriorityWeightFairShare is 1000, but without slurmdbd Slurm has no shares: GPUs are not divided by shares\n"},
		"priority/basic":                  {with(basic), nil, nil, none},
		"nothing, and rules for QOS":      {nil, nil, qos, none + "WARN shares: [qos.NAME] in sluice.toml has no effect: GPUs are not divided by shares\n"},
		"own, and rules for QOS":          {nil, own, qos, ours + absent},
		"own beside a tree that counts":   {with(multi), own, nil, ours + "WARN shares: Slurm has a tree of shares too (sshare): sluice.toml's wins and divides the GPUs; Slurm's has an effect on the order of waiting jobs only\n" + absent},
		"own beside one that counts not":  {with(basic), own, nil, ours + absent},
		"own, fair share and no slurmdbd": {multi, own, nil, ours + absent},
	} {
		site := etc.Default()
		site.Shares, site.QOS = c.shares, c.qos
		p := patient{site: site}
		var all []finding
		if s := command.Settings(c.slurm); len(c.shares) == 0 {
			all = withoutOwn(p, s)
		} else {
			all = ownShares(p, s, func(user string) bool { return user != "gone" })
		}
		if got := said(all); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestDoctorOfADivision: users without an account, and a sluiced that has not read the file, are told.
func TestDoctorOfADivision(t *testing.T) {
	lines := []wire.Share{{Account: "phys"}, {Account: "phys", User: "ann"}, {}}
	for n, want := range map[int]string{
		0: "",
		1: "WARN shares: users with jobs are in no account of sluice.toml: u0; they get GPUs that no other job wants\n",
		8: "WARN shares: users with jobs are in no account of sluice.toml: u0, u1, u2, u3, u4 and 3 more; they get GPUs that no other job wants\n",
	} {
		s := wire.Shares{Count: true, Own: true, Lines: lines[:2:2]}
		for i := range n {
			s.Lines = append(s.Lines, wire.Share{User: fmt.Sprint("u", i), Unlisted: true})
		}
		if got := said(asDivided(s)); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	if got := said(asDivided(wire.Shares{Count: true})); !strings.HasPrefix(got, "WARN shares: sluiced does not divide GPUs by the shares of sluice.toml yet\n") {
		t.Error(got)
	}
}

// TestDoctorOfUntrackedWeights: weights of GPUs that Slurm does not track have no effect, and are told.
func TestDoctorOfUntrackedWeights(t *testing.T) {
	list := []slurm.Partition{
		{Name: "gpu", Weights: []slurm.Weight{{Of: "cpu", N: 1}, {Of: slurm.OfGPUs, N: 2}, {Of: slurm.OfGPUs + ":a100", N: 4}}},
		{Name: "cpu", Weights: []slurm.Weight{{Of: "cpu", N: 1}}}, {Name: "old"},
	}
	const told = "WARN shares: TRESBillingWeights has no effect for GPUs that Slurm does not track: "
	const so = "; these count 1 in the books of shares\n"
	for tracked, want := range map[string]string{
		"cpu,mem,energy,node,billing":                 told + "gres/gpu of partition gpu, gres/gpu:a100 of partition gpu" + so,
		"cpu,mem,node,gres/gpu":                       told + "gres/gpu:a100 of partition gpu" + so,
		"cpu,mem,node,billing,gres/gpu,gres/gpu:a100": "",
	} {
		if got := said(untracked(list, tracked)); got != want {
			t.Errorf("%s: %s", tracked, got)
		}
	}
	if got := untracked(nil, ""); got != nil {
		t.Errorf("%v", got)
	}
}

func TestUserExists(t *testing.T) {
	if !userExists("root") || userExists("sluice-test-nobody-has-this-name") {
		t.Error("root does not exist, or anybody does")
	}
}
