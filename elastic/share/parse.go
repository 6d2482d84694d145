package share

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Parse reads shares as people type them: "phys=60,bio=40". "phys/theory=2" is a sub-account of
// phys, at any depth, and "ann@phys=2" a user of it; users that are not named have UserShares.
// The error quotes the part that is wrong.
// An empty text is an error. Accounts above another MUST be given with shares of their own.
func Parse(text string) (*Tree, error) {
	var list []Association
	var paths [][]string
	for _, part := range strings.Split(text, ",") {
		name, number, found := strings.Cut(strings.TrimSpace(part), "=")
		shares, err := strconv.ParseFloat(number, 64)
		if !found || name == "" || err != nil {
			return nil, fmt.Errorf("shares %q: want ACCOUNT=NUMBER, PARENT/ACCOUNT=NUMBER or USER@ACCOUNT=NUMBER, separated by commas", part)
		}
		a, path, err := association(name)
		if err != nil {
			return nil, err
		}
		a.Shares = shares
		list, paths = append(list, a), append(paths, path)
	}
	t, err := New(list)
	if err != nil {
		return nil, err
	}
	for i, path := range paths {
		if len(path) > 1 && !slices.Equal(t.path(list[i].Account), path) {
			return nil, fmt.Errorf("shares of %s: it is given as %s, and is %s", list[i], strings.Join(path, "/"), strings.Join(t.path(list[i].Account), "/"))
		}
	}
	return t, nil
}

// path lists the account's parents, and the account.
func (t *Tree) path(account string) []string {
	var out []string
	for i := t.at[account]; i >= 0; i = t.accounts[i].parent {
		out = append(out, t.accounts[i].name)
	}
	slices.Reverse(out)
	return out
}

// association reads the name before the number, and returns the path that it names.
func association(name string) (a Association, path []string, err error) {
	if user, of, found := strings.Cut(name, "@"); found {
		a.User, name = user, of
		if user == "" || strings.ContainsAny(user, "/") {
			return a, nil, fmt.Errorf("shares %q: want USER@ACCOUNT", user+"@"+of)
		}
	}
	path = strings.Split(name, "/")
	for _, word := range path {
		if word == "" || strings.ContainsAny(word, "@ \t") {
			return a, nil, fmt.Errorf("shares %q: an account has a name without blanks, / and @", name)
		}
	}
	a.Account = path[len(path)-1]
	if len(path) > 1 && a.User == "" {
		a.Parent = path[len(path)-2]
	}
	return a, path, nil
}
