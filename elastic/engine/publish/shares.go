package publish

import (
	"cmp"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/share/claim"
	"github.com/sluice-hpc/sluice/slurm"
)

// Shares is how the GPUs were divided by shares.
type Shares struct {
	// Count says that the site's shares count: GPUs are divided by them if a tree is known.
	Count bool
	Own   bool      // the tree is the site's own; else Slurm's
	Read  time.Time // when Slurm's tree was read; zero = never
	Why   string    // why it cannot be read now; "" = it can
	List  []slurm.Share
	Tree  *share.Tree // nil = none is known
	// Claims is the division in the last cycle.
	Claims claim.Claims
}

// shares returns the division of this cycle. It shares memory with the state, which replaces what it
// has and changes nothing of it.
func (b *Board) shares() Shares {
	sh := &b.State.Shares
	if sh.Own != nil {
		return Shares{Count: true, Own: true, Tree: sh.Own.Tree, Claims: sh.Last}
	}
	return Shares{Count: b.SharesWanted(), Read: sh.Read, Why: sh.Why, List: sh.List, Tree: sh.Tree, Claims: sh.Last}
}

// Sharing is one account, or one user of an account, in the division.
type Sharing struct {
	Account string
	// User is "" for the account with all that is below it, and AllUsers for the users of an
	// account that are not told apart (share.Association, Inherits).
	User   string
	Parent string // the account above an account; "" = none
	Depth  int    // in the tree, 0 = at the top
	// Shares count among its siblings. Inherits: it has none of its own (Fairshare=parent).
	Shares   float64
	Inherits bool
	// Listed: the tree lists it. A user that is not listed has one share, an account none.
	Listed bool
	Fair   float64 // Slurm's factor of fair share, of users only; 0 to 1
	Amounts
}

// Amounts are GPUs of an account or a user.
type Amounts struct {
	// Deserved is what it deserves now, Has what its jobs have, and Wanted what they could use.
	Deserved, Has, Wanted int
	// Own is its own part of the cluster by shares alone, Borrowed what it has beyond that, and
	// Lent what of it others of the same parent have; of accounts only.
	Own, Borrowed, Lent float64
}

// AllUsers is the name of users of an account that are not told apart.
const AllUsers = "*"

// Member is a user of an account; User is AllUsers for those that are not told apart.
type Member struct{ Account, User string }

// Member returns the line of Sharing in which a user of an account counts.
func (r *Report) Member(account, user string) Member {
	if t := r.Shares.Tree; t != nil && t.UserIn(account, user) == "" {
		user = AllUsers
	}
	return Member{account, user}
}

// Sharing lists all accounts, each before what is below it, and the users that have jobs or are among
// the others, each after its account and before the accounts below that. It is empty if no tree is known.
//
//	account   user    depth
//	root              0
//	physics           1
//	physics   ann     2
//	atoms             2        below physics
//	atoms     *       3        its users are not told apart
//
// Deserved, Has and Wanted of an account are sums over all users below it; Own, Borrowed and Lent
// are of accounts only. It is computed anew in each call, in O(accounts, users with jobs, jobs).
func (r *Report) Sharing(others ...Member) []Sharing {
	if r.Shares.Tree == nil {
		return nil
	}
	unknown := slices.Clone(r.Shares.Claims.Unknown)
	for _, m := range others {
		unknown = append(unknown, m.Account)
	}
	tree, _ := r.Shares.Tree.With(unknown...)
	accounts := tree.Accounts()
	list := sharings{lines: map[string]*Sharing{}, below: map[string][]string{}, users: map[string][]Sharing{}}
	for _, a := range accounts {
		list.lines[a.Name] = &Sharing{Account: a.Name, Parent: a.Parent, Shares: a.Shares, Inherits: a.Passes}
		list.below[a.Parent] = append(list.below[a.Parent], a.Name)
	}
	list.count(r, others)
	had := make([]float64, len(accounts))
	for i, a := range accounts {
		had[i] = float64(list.lines[a.Name].Has)
	}
	capacity := float64(r.Shares.Claims.Capacity)
	borrowed, lent := share.Lend(accounts, capacity, had)
	for i, a := range accounts {
		line := list.lines[a.Name]
		line.Own, line.Borrowed, line.Lent = a.Own*capacity, borrowed[i], lent[i]
	}
	return list.order(nil, "", 0)
}

// sharings are the lines of a tree that is being listed.
type sharings struct {
	lines map[string]*Sharing // of accounts
	below map[string][]string // accounts by their parent
	users map[string][]Sharing
}

// count adds the users that have jobs, and what they have to the accounts above them; then the
// others. A user with jobs of several QOS has one line. Those of others that have no jobs get a
// line without GPUs.
func (l sharings) count(r *Report, others []Member) {
	listed := make(map[Member]slurm.Share, len(r.Shares.List))
	for _, s := range r.Shares.List {
		listed[Member{s.Account, s.User}] = s
	}
	for name, line := range l.lines {
		_, line.Listed = listed[Member{name, ""}]
		line.Listed = line.Listed || r.Shares.Own && r.Shares.Tree.Has(name)
	}
	has := make(map[elastic.JobID]int, len(r.Jobs))
	for i := range r.Jobs {
		has[r.Jobs[i].Record.ID] = r.Jobs[i].Job.GPUs()
	}
	for _, c := range r.Shares.Claims.Each {
		u := userOf(r, Member{c.Account, cmp.Or(c.User, AllUsers)}, listed)
		u.Deserved, u.Wanted = c.Deserved.GPUs, c.GPUs
		for _, id := range c.Jobs {
			u.Has += has[id]
		}
		for name := c.Account; l.lines[name] != nil; name = cmp.Or(l.lines[name].Parent, "\x00") {
			line := l.lines[name]
			line.Deserved, line.Has, line.Wanted = line.Deserved+u.Deserved, line.Has+u.Has, line.Wanted+u.Wanted
		}
		of := l.users[c.Account]
		if last := len(of) - 1; last >= 0 && of[last].User == u.User { // its jobs of another QOS
			of[last].Deserved, of[last].Has, of[last].Wanted = of[last].Deserved+u.Deserved, of[last].Has+u.Has, of[last].Wanted+u.Wanted
			continue
		}
		l.users[c.Account] = append(of, u)
	}
	for _, m := range others {
		of := l.users[m.Account]
		if !slices.ContainsFunc(of, func(u Sharing) bool { return u.User == m.User }) {
			l.users[m.Account] = append(of, userOf(r, m, listed))
		}
	}
	for _, of := range l.users {
		slices.SortFunc(of, func(a, b Sharing) int { return cmp.Compare(a.User, b.User) })
	}
}

// userOf returns the line of a user as Slurm, or the site's own tree, lists it.
func userOf(r *Report, m Member, listed map[Member]slurm.Share) Sharing {
	u := Sharing{Account: m.Account, User: m.User, Shares: share.UserShares}
	switch s, known := listed[m]; {
	case m.User == AllUsers:
		u.Shares, u.Inherits, u.Listed = 0, true, true
	case r.Shares.Own:
		u.Shares, u.Listed = r.Shares.Tree.SharesOf(m.Account, m.User)
	case known:
		u.Shares, u.Listed, u.Fair = float64(s.Shares), true, s.Fair
	}
	return u
}

// order appends what is below an account. It calls itself once for each account; the tree has no
// cycles (share.Tree).
func (l sharings) order(out []Sharing, parent string, depth int) []Sharing {
	for _, name := range l.below[parent] {
		line := *l.lines[name]
		line.Depth = depth
		out = append(out, line)
		for _, u := range l.users[name] {
			u.Depth = depth + 1
			out = append(out, u)
		}
		if name != "" { // an account without a name has none below it
			out = l.order(out, name, depth+1)
		}
	}
	return out
}
