package main

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/etc"
	"github.com/sluice-hpc/sluice/slurm"
)

// TestDoctorOfService: the service account has to exist, to have no rights over others' jobs, and to be
// the one that sluiced uses.
func TestDoctorOfService(t *testing.T) {
	const fine = "OK data: confined jobs run as sluice-data, and belong to the users that they are for\n"
	for name, c := range map[string]struct {
		account, service, want string
	}{
		"as it should be":    {"sluice-data", "sluice-data", fine},
		"not reloaded":       {"sluice-data", "", fine + "WARN data: sluiced takes no account for the service account, sluice.toml says sluice-data\n"},
		"removed":            {"", "sluice-data", "WARN data: sluiced takes sluice-data for the service account, sluice.toml says no account\n"},
		"no such account":    {"gone", "gone", "FAIL data: there is no account gone ([data] account) on this host; it needs the same number on all nodes\n"},
		"sluiced's own":      {"slurm", "slurm", "FAIL data: [data] account slurm has rights over all jobs: programs of confined jobs run as it\n"},
		"an operator":        {"ops", "ops", "FAIL data: [data] account ops has rights over all jobs: programs of confined jobs run as it\n"},
		"root":               {"root", "root", "FAIL data: [data] account root has rights over all jobs: programs of confined jobs run as it\n"},
		"sluiced is another": {"sluice-data", "other", fine + "WARN data: sluiced takes other for the service account, sluice.toml says sluice-data\n"},
	} {
		site := etc.Default()
		site.Data.Account, site.Users.Operators = c.account, []string{"ops"}
		got := said(serviceAccount(patient{site: site}, wire.Status{User: "slurm", Service: c.service}, true, func(user string) bool { return user != "gone" }))
		if got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestDoctorOfServiceLimits: limits by user that count all confined jobs together are named; other limits
// are not.
func TestDoctorOfServiceLimits(t *testing.T) {
	gpus := func(n int) []slurm.Amount { return []slurm.Amount{{Of: slurm.OfGPUs, N: n}, {Of: slurm.OfCPUs, N: 1}} }
	member := slurm.Association{Account: "phys", User: "sluice-data"}
	bounded := member
	bounded.Group, bounded.Own, bounded.Job = gpus(8), []slurm.Amount{{Of: slurm.OfJobs, N: 3}}, gpus(2)
	account, other := slurm.Association{Account: "phys", Group: gpus(64)}, slurm.Association{Account: "phys", User: "ada"}
	for name, c := range map[string]struct {
		limits slurm.Limits
		want   string
	}{
		"not enforced": {slurm.Limits{}, ""},
		"hidden":       {slurm.Limits{Enforced: true, Associations: []slurm.Association{account, member}}, "WARN data: no association of another user is seen: if slurmdbd hides them from sluice-data (PrivateData), all confined jobs are refused\n"},
		"no bound":     {slurm.Limits{Enforced: true, Associations: []slurm.Association{account, member, other}, QOS: []slurm.QOS{{Name: "normal", Group: gpus(4)}}}, ""},
		"bounds": {slurm.Limits{Enforced: true, Associations: []slurm.Association{account, bounded, other}, QOS: []slurm.QOS{{Name: "normal", User: gpus(4)}}},
			"WARN data: Slurm counts the confined jobs of all users together as jobs of sluice-data, which has: in account phys at most 8 GPUs, in account phys at most 3 jobs, with QOS normal at most 4 GPUs\n"},
	} {
		if got := said(serviceLimits("sluice-data", c.limits)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestDoctorOfServiceCharged: the accounts that confined jobs can be charged to are those of the service account, where Slurm checks them.
func TestDoctorOfServiceCharged(t *testing.T) {
	members := []slurm.Member{{User: "sluice-data", Account: "phys"}, {User: "sluice-data", Account: "phys", Partition: "gpu"}, {User: "sluice-data", Account: "bio"}}
	for name, c := range map[string]struct {
		said slurm.Charging
		want string
	}{
		"no accounting":  {slurm.Charging{}, ""},
		"not enforced":   {slurm.Charging{Database: true, Members: members}, ""},
		"no association": {slurm.Charging{Database: true, Enforced: true}, "FAIL data: sluice-data has no association in Slurm: its jobs are refused; it needs one in every account whose users have confined jobs\n"},
		"members":        {slurm.Charging{Database: true, Enforced: true, Members: members}, "OK data: confined jobs are charged to an account of their user that sluice-data is in, too: phys, bio\n"},
	} {
		if got := said(serviceCharged("sluice-data", c.said)); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
