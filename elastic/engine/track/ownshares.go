package track

import "github.com/sluice-hpc/sluice/elastic/share"

// InForce returns the tree by which GPUs are divided: the site's own, else Slurm's; nil = none is
// known.
func (sh *Shares) InForce() *share.Tree {
	if sh.Own != nil {
		return sh.Own.Tree
	}
	return sh.Tree
}

// accountOf returns the account in which a job of this owner counts: by the site's own tree if there is
// one, else the one that Slurm shows.
func (sh *Shares) accountOf(owner, account string) string {
	if sh.Own != nil {
		return sh.Own.AccountOf(owner, account)
	}
	return account
}
