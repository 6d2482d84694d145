package command

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// access reduces a partition's access lists to those that slurmctld checks. If it does
// not check associations it does not check QOS either. Up to 22.05 an account is allowed
// only by its own name, with or without associations; later releases also allow it by the
// name of an account above it, and allow every account if there are no associations.
func (c *Client) access(ctx context.Context, site accounting, l *slurm.Limits) error {
	if !site.associations {
		for i := range l.Partitions {
			p := &l.Partitions[i]
			if p.AllowQOS, p.DenyQOS = nil, nil; site.below {
				p.AllowAccounts, p.DenyAccounts = nil, nil
			}
		}
		return nil
	}
	if !site.below || !slices.ContainsFunc(l.Partitions, listsAccounts) {
		return nil
	}
	tree := l.Associations
	if !l.Enforced {
		var err error
		if tree, err = c.associations(ctx, site.cluster); err != nil {
			return err
		}
	}
	for i := range l.Partitions {
		p := &l.Partitions[i]
		p.AllowAccounts, p.DenyAccounts = withBelow(p.AllowAccounts, tree), withBelow(p.DenyAccounts, tree)
	}
	return nil
}

func listsAccounts(p slurm.Partition) bool { return len(p.AllowAccounts)+len(p.DenyAccounts) > 0 }

// withBelow adds to accounts all that are below them.
func withBelow(accounts []string, tree []slurm.Association) []string {
	below := map[string][]string{}
	for _, a := range tree {
		if a.User == "" && a.Parent != "" {
			below[a.Parent] = append(below[a.Parent], a.Account)
		}
	}
	all := slices.Clone(accounts)
	seen := map[string]bool{}
	for i := 0; i < len(all); i++ { // grows while it is read
		name := strings.ToLower(all[i]) // slurmdbd keeps them in lower case
		if seen[name] {
			continue
		}
		seen[name] = true
		all = append(all, below[name]...)
	}
	return all
}
