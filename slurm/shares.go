package slurm

import "context"

// Sharer reports whose cluster it is: the tree of accounts and users with their shares, as Slurm's
// fair-share priority sees it. Implementation: command. It takes one query whatever the number of
// jobs; call it at most once a minute.
type Sharer interface {
	// Shares returns an account before what is below it. Without slurmdbd there are none, and
	// no error.
	Shares(ctx context.Context) ([]Share, error)
}

// Share is one account, or a user in an account, in the tree of shares.
type Share struct {
	Account   string
	User      string // "" = the account itself
	Partition string // "" = any
	// Parent is the account above: of a user Account, of an account another one; "" = it is the
	// root of the tree.
	Parent string
	// Shares are weights among those below the same parent, 0 to 2147483647. The root has none.
	Shares int
	// Inherits says that it has no share of its own (Fairshare=parent): those below it share
	// with the parent's others.
	Inherits bool
	// Usage is what its jobs have used in TRES-seconds, decayed as the site says
	// (PriorityDecayHalfLife); at least 0.
	Usage float64
	// Fair is Slurm's factor of fair share, 0 to 1, by which it orders jobs; 0 where Slurm shows
	// none, as for accounts.
	Fair float64
}
