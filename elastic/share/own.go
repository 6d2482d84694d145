package share

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// OwnAccount is an account of a site that has its tree of shares in its configuration.
type OwnAccount struct {
	Name    string
	Parent  string  // "" = none
	Shares  float64 // among those of the same parent; above 0
	Users   map[string]float64
	Default []string // users whose jobs count in it unless they name another of their accounts
}

// Own is a site's own tree, and which account of it a job counts in. It is not changed after NewOwn.
type Own struct {
	Tree *Tree
	// names has the accounts by their names in lower case, as Slurm has them.
	names map[string]string
	users map[string][]string // the accounts of each user, that by default first
	open  map[string]bool     // accounts that any user may name
}

// NewOwn returns the tree of the accounts. The error names the account that is wrong.
// A name in Default that is not in Users has no effect. An account without users and without accounts
// below it is open: each job counts in it that names it.
// After an error the tree MUST NOT be used. accounts is not kept.
func NewOwn(accounts []OwnAccount) (*Own, error) {
	o := &Own{names: map[string]string{}, users: map[string][]string{}, open: map[string]bool{}}
	var list []Association
	inner := map[string]bool{}
	for _, a := range accounts {
		inner[a.Parent] = true
	}
	for _, a := range accounts {
		if other, twice := o.names[strings.ToLower(a.Name)]; twice {
			return nil, fmt.Errorf("shares of account %s and account %s: Slurm has accounts in lower case", other, a.Name)
		}
		o.names[strings.ToLower(a.Name)] = a.Name
		o.open[a.Name] = len(a.Users) == 0 && !inner[a.Name]
		list = append(list, Association{Account: a.Name, Parent: a.Parent, Shares: a.Shares})
		for _, user := range slices.Sorted(maps.Keys(a.Users)) {
			list = append(list, Association{Account: a.Name, User: user, Shares: a.Users[user]})
			if slices.Contains(a.Default, user) {
				o.users[user] = append([]string{a.Name}, o.users[user]...)
			} else {
				o.users[user] = append(o.users[user], a.Name)
			}
		}
	}
	var err error
	o.Tree, err = New(list)
	return o, err
}

// AccountOf returns the account in which a job of the user counts that names this one at submit: the
// named one if it lists the user or is open to all, else the user's own; "" = the user has none.
//
// Without slurmdbd Slurm accepts any name, so that a name alone MUST NOT give another account's
// shares.
func (o *Own) AccountOf(user, named string) string {
	own := o.users[user]
	if name, known := o.names[strings.ToLower(named)]; known && (o.open[name] || slices.Contains(own, name)) {
		return name
	}
	if len(own) > 0 {
		return own[0]
	}
	return ""
}

// Lists reports whether an account lists the user.
func (o *Own) Lists(user string) bool { return len(o.users[user]) > 0 }
