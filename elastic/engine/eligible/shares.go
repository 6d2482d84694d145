package eligible

import (
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
	"github.com/sluice-hpc/sluice/slurm"
)

// TreeOf returns the tree of shares that Slurm shows, whatever it shows. If an account or a user is
// listed several times the first line counts; of a user's lines for single partitions, the line for
// any partition, else the one with most shares. An account whose parent is missing, or that is above
// itself, is directly below the root. Shares are limited to those that Slurm accepts. The error is
// that of share.New. list is not changed, and the order of its lines matters only where names are
// listed twice. The cost is O(accounts²) for a tree that is one long chain, and O(list) for a flat
// one.
func TreeOf(list []slurm.Share) (*share.Tree, error) {
	accounts := map[string]string{} // each with its parent
	var out []share.Association
	for _, s := range list {
		if _, twice := accounts[s.Account]; s.User == "" && s.Account != "" && !twice {
			accounts[s.Account] = s.Parent
			out = append(out, share.Association{Account: s.Account, Shares: sharesOf(s), Inherits: s.Inherits && s.Parent != ""})
		}
	}
	for i, a := range out {
		if !attached(accounts, a.Account) {
			accounts[a.Account] = "" // so that its circle is opened once
		}
		out[i].Parent = accounts[a.Account]
	}
	type member struct{ account, user string }
	at := map[member]int{}
	of := map[member]slurm.Share{}
	for _, s := range list {
		key := member{s.Account, s.User}
		if _, known := accounts[s.Account]; s.User == "" || !known {
			continue
		}
		one := share.Association{Account: s.Account, User: s.User, Shares: sharesOf(s), Inherits: s.Inherits}
		if before, twice := of[key]; !twice {
			at[key], of[key], out = len(out), s, append(out, one)
		} else if before.Partition != "" && (s.Partition == "" || sharesOf(s) > sharesOf(before)) {
			of[key], out[at[key]] = s, one
		}
	}
	return share.New(out)
}

// attached reports whether an account's parent is listed, or it has none, and following the parents
// leads to an account without one.
func attached(accounts map[string]string, account string) bool {
	parent := accounts[account]
	if _, known := accounts[parent]; parent != "" && !known {
		return false
	}
	for range len(accounts) {
		up, known := accounts[parent]
		if parent == "" || !known {
			return true
		}
		parent = up
	}
	return false // it is part of a circle, or below one
}

// sharesOf returns the shares of an association, within Slurm's bounds. The root has none, and no
// sibling.
func sharesOf(s slurm.Share) float64 {
	if s.User == "" && s.Parent == "" {
		return 1
	}
	return float64(max(0, min(s.Shares, 1<<31-1)))
}

// Reclaim divides the GPUs of the snapshot by shares, and adds what follows from that to its caps. It
// MUST be called AFTER Restrict, which says which jobs can start and where. credit is what users had
// less than they deserved; rigid says of which partitions running jobs are never resized, qos what
// the site says of QOS, and site what GPUs are worth. rigid and qos may be nil. The caps are appended
// to a copy, so that an earlier snapshot that shares Caps keeps its own. After an error they are as
// before, and the GPUs are not divided.
func Reclaim(s *elastic.Snapshot, site Site, tree *share.Tree, credit *share.Ledger, rigid func(partitions string) bool, qos map[string]share.QOS) (claim.Claims, error) {
	c, err := claim.Of(tree, s, credit, rigid, qos)
	if err != nil {
		return claim.Claims{}, err
	}
	site.weigh(&c, s)
	s.Caps = append(s.Caps[:len(s.Caps):len(s.Caps)], c.Caps()...)
	return c, nil
}
