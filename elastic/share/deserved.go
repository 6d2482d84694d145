package share

import (
	"cmp"
	"fmt"
	"slices"
)

// Want is what the jobs of one user in one account could use now.
type Want struct {
	Account, User string
	// Class, if not "", is the QOS of the jobs. A user may want something in several.
	Class  string
	Weight float64 // of the class among those of the user; 0 = 1
	GPUs   int     // the most that they can use, at least Least
	// Least is what cannot be taken back: the minimums of started jobs, and all that jobs have
	// that cannot be moved. At least 0.
	Least int
	Has   int // what they have
	// Guaranteed is what they deserve before shares count (QOS.Guarantee), 0 to GPUs.
	Guaranteed int
	// Credit is by how many GPU-seconds they had less than they deserved lately, see Ledger;
	// negative = more. It is the user's, the same in each of its classes, and counts once.
	Credit float64
}

// Part is what a division gives.
type Part struct {
	Fair float64 // GPUs before rounding
	GPUs int
}

// Deserved divides the GPUs over the wants: weighted max-min, down the tree. The result is in
// the order of wants. What is in use already plays no part, except that it decides between
// remainders (see round). The error names an account that is not in the tree, a user that
// comes twice, or a negative number.
//
// wants MUST name users as UserIn does, and accounts that the tree has (With adds the others). Without wants
// the result is empty. wants is not changed; the result belongs to the caller. The sum of the parts is the
// capacity or, if less, that of what is wanted; it is more only where guarantees are. Each level of the
// tree costs O(n log n).
func (t *Tree) Deserved(capacity int, wants []Want) ([]Part, error) {
	free := slices.Clone(wants)
	for i := range free {
		free[i].Least = min(free[i].Least, 0)
	}
	return t.Bounds(capacity, free)
}

// keeps returns what the want has whatever the shares are.
func (w Want) keeps() int { return max(w.Least, w.Guaranteed) }

// Bounds is Deserved where each keeps at least what cannot be taken back (Want.Least): the most
// that each should have now. Their sum exceeds the capacity only if the sum of Least does.
// With 8 GPUs, equal shares, and two users that want 8 each, of which one keeps 6: Deserved gives 4 and 4,
// Bounds 6 and 2. A want with a guarantee keeps at least that in both.
func (t *Tree) Bounds(capacity int, wants []Want) ([]Part, error) {
	d, err := t.division(capacity, wants)
	if err != nil {
		return nil, err
	}
	return d.divide(capacity), nil
}

// division is one division of GPUs: those nodes of the tree that want something.
type division struct {
	root  *member
	parts []Part
	steps int // members visited and compared, for tests
}

// member is an account, or a user, that takes part in a division.
type member struct {
	name    string // sorts accounts before users of the same name
	shares  float64
	members []*member
	index   int // of the want; -1 = it has members
	want    int
	least   int
	has     int
	credit  float64
	fair    float64 // the part before rounding
	gpus    int
}

// division builds the part of the tree that wants something, and checks the wants. A user that appears in
// several classes is one member with a member below it for each.
func (t *Tree) division(capacity int, wants []Want) (*division, error) {
	if capacity < 0 {
		return nil, fmt.Errorf("shares: %d GPUs to divide: want at least 0", capacity)
	}
	d := &division{root: &member{}, parts: make([]Part, len(wants))}
	accounts := make(map[int]*member)
	users := make(map[userOf]*member, len(wants))
	for i, w := range wants {
		at, known := t.at[w.Account]
		key := userOf{w.Account, w.User}
		user := users[key]
		switch {
		case !known:
			return nil, UnknownAccount{w.Account}
		case user != nil && user.wants(w.Class):
			return nil, fmt.Errorf("shares: user %s of account %s wants twice", w.User, w.Account)
		case w.Least < 0 || w.GPUs < w.keeps() || w.Guaranteed < 0 || w.Has < 0:
			return nil, fmt.Errorf("shares: user %s of account %s wants %d GPUs, keeps %d, is guaranteed %d and has %d", w.User, w.Account, w.GPUs, w.Least, w.Guaranteed, w.Has)
		}
		at = t.above(at)
		if user == nil {
			user = &member{name: w.User, shares: t.sharesOf(key), index: -1}
			if at < 0 || t.accounts[at].name != w.Account {
				user.name += "\x00" + w.Account // others of that name may be beside it
			}
			account := t.join(d, accounts, at)
			account.members = append(account.members, user)
			users[key] = user
		} else {
			w.Credit = 0 // it was counted with another class
		}
		user.class(w, i)
		user.add(w)
		for ; at >= 0; at = t.above(t.accounts[at].parent) {
			accounts[at].add(w)
		}
		d.root.add(w)
	}
	return d, nil
}

// sharesOf returns the shares of a user of an account.
func (t *Tree) sharesOf(key userOf) float64 {
	shares, own := t.users[key]
	if all, crowd := t.crowds[key.account]; key.user == "" && crowd {
		shares, own = all, true
	}
	if !own {
		shares = UserShares
	}
	return shares
}

// join returns the member of an account, which joins the division with its parents.
func (t *Tree) join(d *division, accounts map[int]*member, at int) *member {
	if at < 0 {
		return d.root
	}
	m := accounts[at]
	if m == nil {
		a := t.accounts[at]
		m = &member{name: "\x00" + a.name, shares: a.shares, index: -1}
		accounts[at] = m
		up := t.join(d, accounts, t.above(a.parent))
		up.members = append(up.members, m)
	}
	return m
}

func (m *member) add(w Want) {
	m.want, m.least, m.has, m.credit = m.want+w.GPUs, m.least+w.keeps(), m.has+w.Has, m.credit+w.Credit
}

// class adds what a user wants in a class. Each class is a member below the user.
func (m *member) class(w Want, index int) {
	c := &member{name: w.Class, shares: QOS{Weight: w.Weight}.weight(), index: index}
	c.add(w)
	c.credit = 0 // that of the user counts
	m.members = append(m.members, c)
}

// wants reports whether the user wants something in the class already.
func (m *member) wants(class string) bool {
	return slices.ContainsFunc(m.members, func(c *member) bool { return c.name == class })
}

// UnknownAccount is the error for an account that is not in the tree.
type UnknownAccount struct{ Account string }

// Error says that the account has no shares, or that a job names no account.
func (e UnknownAccount) Error() string {
	if e.Account == "" {
		return "shares: a job has no account"
	}
	return fmt.Sprintf("shares: account %s has none", e.Account)
}

// divide goes down the tree, once for the parts before rounding and once for whole GPUs.
//
// Level by level from the root: the part of a member MUST be known BEFORE it is divided among its own. Whole
// GPUs are divided anew at each level (fill of gpus, not of fair), so that their sum is right everywhere.
// Members are sorted by name, so that the result does not depend on the order of wants.
func (d *division) divide(capacity int) []Part {
	d.root.fair, d.root.gpus = float64(capacity), capacity
	for next := []*member{d.root}; len(next) > 0; next = next[1:] {
		m := next[0]
		if d.steps++; len(m.members) == 0 {
			if m != d.root {
				d.parts[m.index] = Part{m.fair, m.gpus}
			}
			continue
		}
		slices.SortFunc(m.members, func(a, b *member) int { d.steps++; return cmp.Compare(a.name, b.name) })
		for i, part := range d.fill(m.fair, m.members) {
			m.members[i].fair = part
		}
		d.round(m.gpus, m.members, d.fill(float64(m.gpus), m.members))
		next = append(next, m.members...)
	}
	return d.parts
}
