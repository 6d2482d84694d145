package command

import (
	"context"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// access makes of the lists of who may use a partition those that slurmctld goes by.
// Where it does not look at associations it does not look at QOS, either. Up to 22.05 an
// account is let in by its own name alone, associations or not; later with those above it,
// and where there are no associations everybody is.
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
	for i := 0; i < len(all); i++ { // all grows
		name := strings.ToLower(all[i]) // as slurmdbd has them
		if seen[name] {
			continue
		}
		seen[name] = true
		all = append(all, below[name]...)
	}
	return all
}
