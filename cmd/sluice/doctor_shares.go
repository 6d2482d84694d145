package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/user"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/command"
)

// examineShares reports by whose shares GPUs are divided, and which settings of shares have no effect.
func examineShares(ctx context.Context, p patient, s command.Settings) []finding {
	var weights []finding
	if client, err := slurmFor(p.site); err == nil && (len(p.site.Shares) > 0 || s.FairShare().Weight > 0 && s.Database()) {
		if list, err := client.Partitions(ctx); err == nil {
			weights = untracked(list, s.Get("AccountingStorageTRES"))
		}
	}
	if len(p.site.Shares) == 0 {
		return append(withoutOwn(p, s), weights...)
	}
	all := append(ownShares(p, s, userExists), weights...)
	client, err := reach.Dial(p.site)
	if err != nil {
		return all // examineDaemon reports it
	}
	if divided, err := client.Shares(ctx); err == nil {
		all = append(all, asDivided(divided)...)
	}
	return all
}

// withoutOwn is about a site whose configuration has no shares.
func withoutOwn(p patient, s command.Settings) []finding {
	var all []finding
	switch weight := s.FairShare().Weight; {
	case weight > 0 && s.Database():
		return []finding{passed("shares", "GPUs are divided by Slurm's shares of accounts and users (sshare)")}
	case weight > 0:
		all = append(all, warned("shares", "write sections [shares.NAME] in sluice.toml, or run slurmdbd",
			"PriorityWeightFairShare is %d, but without slurmdbd Slurm has no shares: GPUs are not divided by shares", weight))
	default:
		all = append(all, passed("shares", "GPUs are not divided by shares: fair share does not count in Slurm (PriorityWeightFairShare), and sluice.toml has no [shares.NAME]"))
	}
	if len(p.site.QOS) > 0 {
		all = append(all, warned("shares", "remove these sections, or write [shares.NAME]",
			"[qos.NAME] in sluice.toml has no effect: GPUs are not divided by shares"))
	}
	return all
}

// ownShares is about the shares of the configuration.
func ownShares(p patient, s command.Settings, exists func(user string) bool) []finding {
	users := map[string]bool{}
	for _, a := range p.site.Shares {
		for name := range a.Users {
			users[name] = true
		}
	}
	all := []finding{passed("shares", "GPUs are divided by the shares of sluice.toml (%d accounts, %d users); a job of a user in no account gets what those do not want",
		len(p.site.Shares), len(users))}
	if s.FairShare().Weight > 0 && s.Database() {
		all = append(all, warned("shares", "remove the sections [shares.NAME] to divide GPUs by Slurm's tree, or set PriorityWeightFairShare=0",
			"Slurm has a tree of shares too (sshare): sluice.toml's wins and divides the GPUs; Slurm's has an effect on the order of waiting jobs only"))
	}
	var absent []string
	names := slices.Sorted(maps.Keys(users))
	for _, name := range names[:min(len(names), mostLookups)] {
		if !exists(name) {
			absent = append(absent, name)
		}
	}
	if len(absent) > 0 {
		all = append(all, warned("shares", "correct the names in users = [...], or remove them",
			"[shares.NAME] names users that do not exist on this host: %s", few(absent)))
	}
	return all
}

// untracked is about billing weights of GPUs that Slurm does not track: it bills none of them, and the
// books of shares count none.
func untracked(partitions []slurm.Partition, tracked string) []finding {
	known := strings.Split(strings.ToLower(tracked), ",")
	var lost []string
	for _, p := range partitions {
		for _, w := range p.Weights {
			if strings.HasPrefix(w.Of, slurm.OfGPUs) && !slices.Contains(known, w.Of) {
				lost = append(lost, w.Of+" of partition "+p.Name)
			}
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return []finding{warned("shares", "name them in AccountingStorageTRES in slurm.conf, such as AccountingStorageTRES=gres/gpu,gres/gpu:a100",
		"TRESBillingWeights has no effect for GPUs that Slurm does not track: %s; these count 1 in the books of shares", few(lost))}
}

// mostLookups bounds how many users are looked up: a directory service may be slow.
const mostLookups = 1000

// userExists reports whether this host knows the user, or cannot tell.
func userExists(name string) bool {
	_, err := user.Lookup(name)
	var unknown user.UnknownUserError
	return !errors.As(err, &unknown)
}

// asDivided compares the shares of the configuration with sluiced's last division.
func asDivided(s wire.Shares) []finding {
	if !s.Own {
		return []finding{warned("shares", "reload sluiced: systemctl reload sluiced, or send it SIGHUP",
			"sluiced does not divide GPUs by the shares of sluice.toml yet")}
	}
	var unlisted []string
	for _, l := range s.Lines {
		if l.Account == "" && l.User != "" {
			unlisted = append(unlisted, l.User)
		}
	}
	if len(unlisted) == 0 {
		return nil
	}
	return []finding{warned("shares", "add them to the users of an account in sluice.toml",
		"users with jobs are in no account of sluice.toml: %s; they get GPUs that no other job wants", few(unlisted))}
}

// few lists the first names.
func few(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
