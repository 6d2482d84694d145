package claim

import (
	"cmp"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/share"
)

// Claim is one user of one account with its jobs.
type Claim struct {
	share.Want
	Jobs []elastic.JobID
	// Deserved is its part by shares, Bound the most that it should have now: more if the
	// GPUs cannot be taken back from started jobs, less if others' cannot.
	Deserved share.Part
	Bound    int
}

// Claims is a division of the GPUs among the users that have jobs.
type Claims struct {
	Capacity int // GPUs that were divided
	Each     []Claim
	// Unknown are the accounts of jobs that are not in the tree, sorted: they have no shares.
	Unknown []string
}

// Contended reports whether not everybody can have what it wants.
func (c Claims) Contended() bool {
	want := 0
	for _, each := range c.Each {
		want += each.GPUs
	}
	return want > c.Capacity
}

// Of divides the GPUs of the snapshot by the shares. credit is what the ledger says of a user; nil =
// nothing. rigid says of which partitions running jobs are never resized; nil = of none.
func Of(t *share.Tree, s *elastic.Snapshot, credit *share.Ledger, rigid func(partitions string) bool) (Claims, error) {
	out := Claims{Capacity: s.Capacity()}
	accounts := make([]string, 0, len(s.Jobs))
	for i := range s.Jobs {
		accounts = append(accounts, s.Jobs[i].Account)
	}
	t, out.Unknown = t.With(accounts...)
	out.Each = gather(t, s, rigid)
	wants := make([]share.Want, len(out.Each))
	for i := range out.Each {
		c := &out.Each[i]
		if credit != nil {
			c.Credit = credit.Credit(c.Account, c.User)
		}
		wants[i] = c.Want
	}
	deserved, err := t.Deserved(out.Capacity, wants)
	if err != nil {
		return out, err
	}
	bounds, err := t.Bounds(out.Capacity, wants)
	for i := range bounds {
		out.Each[i].Deserved, out.Each[i].Bound = deserved[i], bounds[i].GPUs
	}
	return out, err
}

// gather returns the users that have jobs, in order of account and user.
func gather(t *share.Tree, s *elastic.Snapshot, rigid func(partitions string) bool) []Claim {
	type key struct{ account, user string }
	at := map[key]*Claim{}
	parts := map[key]map[string]int{} // wanted, by list of partitions
	w := newWants(s, rigid)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		k := key{j.Account, t.UserIn(j.Account, j.User)}
		if at[k] == nil {
			at[k], parts[k] = &Claim{Want: share.Want{Account: k.account, User: k.user}}, map[string]int{}
		}
		want, least, has := w.of(j)
		c := at[k]
		c.Jobs, c.Least, c.Has = append(c.Jobs, j.ID), c.Least+least, c.Has+has
		parts[k][j.Partition] += want
	}
	out := make([]Claim, 0, len(at))
	for k, c := range at {
		for partitions, want := range parts[k] {
			c.GPUs += min(want, w.within(partitions))
		}
		c.GPUs = max(c.GPUs, c.Least)
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Claim) int { return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User)) })
	return out
}

// Caps returns the bounds of those that want more, as caps in the order in which idle GPUs are
// lent: first to those that had least of what they deserved lately. Without contention there is
// none.
func (c Claims) Caps() []elastic.Cap {
	bind := slices.DeleteFunc(slices.Clone(c.Each), func(each Claim) bool { return each.Bound >= each.GPUs })
	slices.SortStableFunc(bind, func(a, b Claim) int { return cmp.Compare(b.Credit, a.Credit) })
	out := make([]elastic.Cap, len(bind))
	for i, each := range bind {
		why := reason.Deserved{Account: each.Account, User: each.User, GPUs: each.Bound}
		out[i] = elastic.Cap{Name: "share", Why: why, Of: elastic.GPUs, Most: each.Bound, Reclaims: true, Jobs: map[elastic.JobID]bool{}}
		for _, id := range each.Jobs {
			out[i].Jobs[id] = true
		}
	}
	return out
}

// wants says what jobs could use.
type wants struct {
	s      *elastic.Snapshot
	bound  map[elastic.JobID]int        // GPUs of the targets of open moves
	rigid  func(partitions string) bool // of which jobs are never resized; nil = of none
	all    int                          // GPUs of the cluster
	node   int                          // of its largest node
	groups map[string]int               // GPUs of lists of partitions
}

func newWants(s *elastic.Snapshot, rigid func(partitions string) bool) *wants {
	w := &wants{s: s, bound: map[elastic.JobID]int{}, rigid: rigid, groups: map[string]int{}}
	for id, place := range s.Bound() {
		w.bound[id] = place.GPUs()
	}
	for _, n := range s.Nodes {
		w.all, w.node = w.all+n.GPUs, max(w.node, n.GPUs)
	}
	return w
}

// of returns the most that a job could use now, what of it cannot be taken back, and what it has or
// is bound to get.
func (w *wants) of(j *elastic.Job) (want, least, has int) {
	has = j.GPUs()
	if n, moves := w.bound[j.ID]; moves {
		has = n
	}
	role, _ := (&roles.Subject{Job: *j, Now: has}).Classify(w.s)
	switch pin := j.Directive.Pin; {
	case role == roles.Fixed:
		return has, has, has
	case has == 0 && j.WaitsOutside() != nil:
		return 0, 0, 0
	case pin > 0 && j.Spec.Allows(pin, w.all):
		if has > 0 {
			least = pin
		}
		return pin, least, has
	}
	want = w.useful(j)
	if has == 0 {
		return want, 0, 0
	}
	least = min(has, j.Spec.Min)
	if w.rigid != nil && w.rigid(j.Partition) || w.s.Resting(j) {
		least = has
	}
	return max(want, least), least, has
}
