package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm"
)

// examineService checks the service account, whose jobs belong to the users that they name.
func examineService(ctx context.Context, p patient, status wire.Status, reached bool) []finding {
	name := p.site.Data.Account
	if p.user || name == "" && status.Service == "" {
		return nil
	}
	all := serviceAccount(p, status, reached, userExists)
	if client, err := slurmFor(p.site); err == nil && name != "" {
		if limits, err := client.Limits(ctx); err == nil {
			all = append(all, serviceLimits(name, limits)...)
		}
		if said, err := client.Charging(ctx, name); err == nil {
			all = append(all, serviceCharged(name, said)...)
		} else {
			all = append(all, failed("data", "see whether slurmdbd runs: sacctmgr show cluster", "confined jobs are refused: Slurm does not say to what they may be charged: %v", err))
		}
	}
	return all
}

// serviceAccount is about the account itself, and whether sluiced uses it.
func serviceAccount(p patient, status wire.Status, reached bool, exists func(user string) bool) (all []finding) {
	name := p.site.Data.Account
	switch {
	case name == "": // sluiced still uses one
	case !exists(name):
		do := fmt.Sprintf("useradd --system --user-group --no-create-home --home-dir %s %s", p.site.Paths.State, name)
		all = append(all, typed(failed("data", "", "there is no account %s ([data] account) on this host; it needs the same number on all nodes", name), do))
	case name == "root" || name == status.User || slices.Contains(p.site.Users.Operators, name):
		all = append(all, failed("data", "name an account in [data] account that is used for nothing else",
			"[data] account %s has rights over all jobs: programs of confined jobs run as it", name))
	default:
		all = append(all, passed("data", "confined jobs run as %s, and belong to the users that they are for", name))
	}
	if reached && status.Service != name {
		all = append(all, warned("data", "reload sluiced: systemctl reload sluiced, or send it SIGHUP",
			"sluiced takes %s for the service account, sluice.toml says %s", orNone(status.Service), orNone(name)))
	}
	return all
}

func orNone(account string) string {
	if account == "" {
		return "no account"
	}
	return account
}

// serviceLimits is about Slurm's limits by user: Slurm counts the confined jobs of all users as those of
// the service account.
func serviceLimits(name string, l slurm.Limits) (all []finding) {
	if !l.Enforced {
		return nil
	}
	var bounds []string
	note := func(of string, lists ...[]slurm.Amount) {
		for _, list := range lists {
			for _, a := range list {
				if a.Of == slurm.OfGPUs || a.Of == slurm.OfJobs {
					bounds = append(bounds, fmt.Sprintf("%s at most %d %s", of, a.N, map[string]string{slurm.OfGPUs: "GPUs", slurm.OfJobs: "jobs"}[a.Of]))
				}
			}
		}
	}
	others := false
	for _, a := range l.Associations {
		if a.User == name {
			note("in account "+a.Account, a.Group, a.Own)
		}
		others = others || a.User != "" && a.User != name
	}
	if !others {
		all = append(all, warned("data", "leave users out of PrivateData in slurmdbd.conf",
			"no association of another user is seen: if slurmdbd hides them from %s (PrivateData), all confined jobs are refused", name))
	}
	for _, q := range l.QOS {
		note("with QOS "+q.Name, q.User)
	}
	if len(bounds) == 0 {
		return all
	}
	return append(all, warned("data", "raise them for this user (sacctmgr modify user "+name+" set ...), or give its jobs a QOS of their own",
		"Slurm counts the confined jobs of all users together as jobs of %s, which has: %s", name, few(bounds)))
}

// serviceCharged is about the accounts that confined jobs can be charged to: those of their users that the service account is in, too.
func serviceCharged(name string, c slurm.Charging) []finding {
	if !c.Enforced || !c.Database {
		return nil
	}
	var accounts []string
	for _, m := range c.Members {
		if m.User == name && !slices.Contains(accounts, m.Account) {
			accounts = append(accounts, m.Account)
		}
	}
	if len(accounts) == 0 {
		return []finding{typed(failed("data", "", "%s has no association in Slurm: its jobs are refused; it needs one in every account whose users have confined jobs", name),
			"sacctmgr add user "+name+" account=ACCOUNT")}
	}
	return []finding{passed("data", "confined jobs are charged to an account of their user that %s is in, too: %s", name, few(accounts))}
}
