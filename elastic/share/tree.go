package share

import (
	"fmt"
	"slices"
	"strings"
)

// Association is one line of Slurm's association tree: an account, or a user of one.
type Association struct {
	Account string
	// Parent is the account that it is a part of; "" = none. Only of an account.
	Parent string
	// User, if not "", makes it the association of this user in Account.
	User string
	// Shares count relative to those of the siblings, at least 0. With 0 it gets only what no
	// sibling with shares wants.
	Shares float64
	// Inherits says that it has no shares of its own (Slurm's Fairshare=parent). What is below
	// such an account counts among the siblings of the account. Such users of one account are
	// not told apart: together they are one user without a name.
	Inherits bool
}

// Bounds of shares that are not 0. Slurm's are whole numbers below 2^31.
const (
	leastShares = 1e-3
	mostShares  = 1 << 31
)

// UserShares are the shares of users that have no association of their own, as in Slurm.
const UserShares = 1.0

// Tree is a checked tree of accounts and users. It is not changed after New.
// Any number of goroutines may use it.
type Tree struct {
	accounts []account      // parents first, in order of the list otherwise
	at       map[string]int // account by name
	users    map[userOf]float64
	crowds   map[string]float64 // by account: the shares of its users that are not told apart
	crowd    map[userOf]bool
}

// account is an account of the tree.
type account struct {
	name   string
	parent int // index; -1 = directly below the root
	shares float64
	inner  bool // it has sub-accounts
	passes bool // what is below it counts as below its parent
}

type userOf struct{ account, user string }

// New returns the tree of the associations, in any order. The error names the association that
// is wrong.
//
// An empty list makes a tree without accounts, in which With finds all accounts missing. Every account that
// is named as a parent, or by a user, MUST be in the list. The list is not kept. After an error the tree
// MUST NOT be used.
func New(list []Association) (*Tree, error) {
	t := &Tree{at: map[string]int{}, users: map[userOf]float64{}, crowds: map[string]float64{}, crowd: map[userOf]bool{}}
	parents := map[string]string{}
	for _, a := range list {
		switch {
		case a.Account == "":
			return nil, fmt.Errorf("shares: an association has no account (user %q)", a.User)
		case a.Shares != 0 && !(a.Shares >= leastShares && a.Shares <= mostShares):
			return nil, fmt.Errorf("shares of %s: %v: want 0, or a number from %v to %v", a, a.Shares, leastShares, mostShares)
		case a.User != "" && a.Parent != "":
			return nil, fmt.Errorf("shares of %s: only an account has a parent (%s)", a, a.Parent)
		case a.User != "":
			if _, twice := t.users[userOf{a.Account, a.User}]; twice {
				return nil, fmt.Errorf("shares of %s are given twice", a)
			}
			t.user(a)
			continue
		}
		if _, twice := parents[a.Account]; twice {
			return nil, fmt.Errorf("shares of %s are given twice", a)
		}
		parents[a.Account] = a.Parent
	}
	for _, a := range list {
		if _, known := parents[a.Account]; !known {
			return nil, fmt.Errorf("shares of %s: there is no account %s", a, a.Account)
		}
		if _, known := parents[a.Parent]; a.Parent != "" && !known {
			return nil, fmt.Errorf("shares of %s: there is no account %s, its parent", a, a.Parent)
		}
	}
	return t, t.order(list, parents)
}

// user adds the association of a user.
func (t *Tree) user(a Association) {
	key := userOf{a.Account, a.User}
	if t.users[key] = a.Shares; a.Inherits {
		t.users[key], t.crowd[key] = UserShares, true
		t.crowds[a.Account] += UserShares
	}
}

// SharesOf returns the shares of a user of an account. One that the tree does not list has UserShares.
func (t *Tree) SharesOf(account, user string) (shares float64, listed bool) {
	key := userOf{account, user}
	_, listed = t.users[key]
	return t.sharesOf(key), listed
}

// UserIn returns the name by which a user of an account takes part in a division; "" = as one of
// those that are not told apart.
func (t *Tree) UserIn(account, user string) string {
	if t.crowd[userOf{account, user}] {
		return ""
	}
	return user
}

// order lists the accounts, each after its parent.
func (t *Tree) order(list []Association, parents map[string]string) error {
	below := map[string][]Association{}
	for _, a := range list {
		if a.User == "" {
			below[a.Parent] = append(below[a.Parent], a)
		}
	}
	for next := []string{""}; len(next) > 0; next = next[1:] {
		for _, a := range below[next[0]] {
			parent := -1
			if a.Parent != "" {
				parent = t.at[a.Parent]
				t.accounts[parent].inner = true
			}
			t.at[a.Account] = len(t.accounts)
			t.accounts = append(t.accounts, account{name: a.Account, parent: parent, shares: a.Shares, passes: a.Inherits})
			next = append(next, a.Account)
		}
	}
	for _, a := range list { // what hangs below no root is a cycle
		if _, reached := t.at[a.Account]; !reached {
			return fmt.Errorf("shares of %s: its accounts are parts of each other in a circle: %s", a, circle(a.Account, parents))
		}
	}
	return nil
}

// circle writes the accounts from one on until an account comes again.
func circle(from string, parents map[string]string) string {
	var path []string
	for !slices.Contains(path, from) {
		path = append(path, from)
		from = parents[from]
	}
	return strings.Join(append(path, from), " in ")
}

// String names the association: "account phys", "user ann of account phys".
func (a Association) String() string {
	if a.User != "" {
		return "user " + a.User + " of account " + a.Account
	}
	return "account " + a.Account
}

// Has reports whether the account is in the tree.
func (t *Tree) Has(account string) bool {
	_, ok := t.at[account]
	return ok
}

// Account is an account as Accounts lists it.
type Account struct {
	Name   string
	Parent string // "" = none
	Shares float64
	// Own is the part of the cluster that its shares alone give it, 0 to 1, whatever anybody
	// wants: its shares over those of all sub-accounts of the same parent, times the parent's.
	// Users directly in an account that has sub-accounts are left out of the sum.
	Own float64
	// Passes: it has no shares of its own (Association, Inherits), and Own is 0.
	Passes bool
	// Inner: it has sub-accounts.
	Inner bool
}

// Accounts lists all accounts, parents first.
func (t *Tree) Accounts() []Account {
	sums := make(map[int]float64)
	for _, a := range t.accounts {
		if !a.passes {
			sums[t.above(a.parent)] += a.shares
		}
	}
	out := make([]Account, len(t.accounts))
	for i, a := range t.accounts {
		out[i] = Account{Name: a.name, Shares: a.shares, Inner: a.inner, Passes: a.passes}
		if a.parent >= 0 {
			out[i].Parent = t.accounts[a.parent].name
		}
		up, of := t.above(a.parent), 1.0
		if up >= 0 {
			of = out[up].Own
		}
		if sums[up] > 0 && !a.passes {
			out[i].Own = of * a.shares / sums[up]
		}
	}
	return out
}

// above returns the account, or the first one above it, that has shares of its own; -1 = the root.
func (t *Tree) above(at int) int {
	for at >= 0 && t.accounts[at].passes {
		at = t.accounts[at].parent
	}
	return at
}

// With returns the tree with the accounts that it lacks added below the root, without shares: for
// jobs of accounts that are not, or no longer, in the tree. The names added are returned sorted.
func (t *Tree) With(accounts ...string) (*Tree, []string) {
	var more []string
	for _, name := range accounts {
		if !t.Has(name) && !slices.Contains(more, name) {
			more = append(more, name)
		}
	}
	if len(more) == 0 {
		return t, nil
	}
	slices.Sort(more)
	out := &Tree{accounts: slices.Clone(t.accounts), at: make(map[string]int, len(t.at)+len(more)), users: t.users, crowds: t.crowds, crowd: t.crowd}
	for name, i := range t.at {
		out.at[name] = i
	}
	for _, name := range more {
		out.at[name] = len(out.accounts)
		out.accounts = append(out.accounts, account{name: name, parent: -1})
	}
	return out, more
}
