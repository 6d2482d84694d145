package fake

import (
	"cmp"
	"context"
	"slices"

	"github.com/sluice-hpc/sluice/slurm"
)

var _ slurm.Sharer = (*Session)(nil)

// SetShares replaces the tree of shares. Whether shares count says slurm.Limits.FairShare.
func (f *Fake) SetShares(tree []slurm.Share) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shares = slices.Clone(tree)
}

// Shares returns the tree that was set. If none was, it is that of the associations of the limits,
// with one share each, as sacctmgr gives them; without associations there is none, as without
// slurmdbd. Usage and Fair are those that were set.
func (s *Session) Shares(ctx context.Context) (out []slurm.Share, err error) {
	err = s.call(ctx, opShares, 0, func() *failure {
		if out = slices.Clone(s.f.shares); out == nil && len(s.f.limits.Associations) > 0 {
			out = s.f.sharesBelow([]slurm.Share{{Account: rootAccount}}, rootAccount)
		}
		return nil
	})
	return out, err
}

// rootAccount is above all others.
const rootAccount = "root"

// sharesBelow appends what is below an account by name, users first, each account before what is
// below it.
func (f *Fake) sharesBelow(out []slurm.Share, account string) []slurm.Share {
	list := slices.Clone(f.limits.Associations)
	slices.SortStableFunc(list, func(a, b slurm.Association) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User), cmp.Compare(a.Partition, b.Partition))
	})
	for _, a := range list {
		if a.User != "" && a.Account == account {
			out = append(out, slurm.Share{Account: account, User: a.User, Partition: a.Partition, Parent: account, Shares: 1, Fair: 1})
		}
	}
	for _, a := range list {
		if a.User == "" && a.Account != rootAccount && cmp.Or(a.Parent, rootAccount) == account {
			out = f.sharesBelow(append(out, slurm.Share{Account: a.Account, Parent: account, Shares: 1}), a.Account)
		}
	}
	return out
}
