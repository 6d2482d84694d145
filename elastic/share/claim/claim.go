package claim

import (
	"cmp"
	"maps"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/share"
)

// Claim is one user of one account with its jobs, those of each QOS that the site has rules for by
// themselves.
type Claim struct {
	share.Want
	Scavenger bool // it deserves nothing, and may have what no other wants
	// Worth is what they have (Has) as the books of shares count it: each GPU by its worth to the
	// site, in GPUs of mean worth. Of sets it to Has.
	Worth float64
	Jobs  []elastic.JobID
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
// The books of shares are kept only while it holds. What scavengers want does not count, since it keeps
// nothing from others. The zero Claims are not contended.
func (c Claims) Contended() bool {
	want := 0
	for _, each := range c.Each {
		if !each.Scavenger {
			want += each.GPUs
		}
	}
	return want > c.Capacity
}

// Of divides the GPUs of the snapshot by the shares. credit is what the ledger says of a user; nil =
// nothing. rigid says of which partitions running jobs are never resized; nil = of none. qos are the
// site's rules for QOS, by name.
//
// The error is that of share.Tree.Bounds. Accounts that the tree lacks are no error: they take part without
// shares, and are listed in Unknown. t MUST NOT be nil; credit is only read. It costs the division and
// O(jobs x limits of the site).
func Of(t *share.Tree, s *elastic.Snapshot, credit *share.Ledger, rigid func(partitions string) bool, qos map[string]share.QOS) (Claims, error) {
	out := Claims{Capacity: s.Capacity()}
	accounts := make([]string, 0, len(s.Jobs))
	for i := range s.Jobs {
		accounts = append(accounts, s.Jobs[i].Account)
	}
	t, out.Unknown = t.With(accounts...)
	out.Each = gather(t, s, rigid, qos)
	if credit != nil {
		for i := range out.Each {
			c := &out.Each[i]
			c.Credit = credit.Credit(c.Account, c.User)
		}
	}
	err := out.divide(t, qos, givenBack(s, rigid))
	return out, err
}

// divide divides the GPUs: what scavengers keep is set aside, the others divide the rest, and
// scavengers what is left of it. They keep their minimums, except what they give back by being parked.
//
// ORDER: guarantees first, since they are a part of what a claim keeps; then what each deserves of the whole
// cluster; then the bounds, of the cluster without what scavengers keep; then scavengers get bounds of what
// these leave.
func (c *Claims) divide(t *share.Tree, qos map[string]share.QOS, givenBack int) error {
	var most, last []*Claim
	aside := 0
	for i := range c.Each {
		if each := &c.Each[i]; each.Scavenger {
			last, aside = append(last, each), aside+each.Least
		} else {
			most = append(most, each)
		}
	}
	if err := guarantee(t, most, c.Capacity, qos); err != nil {
		return err
	}
	deserved, err := t.Deserved(c.Capacity, wantsOf(most))
	if err != nil {
		return err
	}
	aside -= min(aside, givenBack)
	bounds, err := t.Bounds(max(0, c.Capacity-aside), wantsOf(most))
	left := c.Capacity
	for i := range bounds {
		most[i].Deserved, most[i].Bound = deserved[i], bounds[i].GPUs
		left -= bounds[i].GPUs
	}
	if err != nil || len(last) == 0 {
		return err
	}
	lent, err := t.Bounds(max(0, left), wantsOf(last))
	for i := range lent {
		last[i].Bound = lent[i].GPUs
	}
	return err
}

// guarantee sets what the claims of QOS with a guarantee get of it, as far as there are so many GPUs.
// Those of one QOS divide it by their shares. QOS are served in order of their names.
// 8 GPUs, and a guarantee of 6 for each of the QOS a and b, whose jobs want more: a has 6 guaranteed and b
// 2. Guarantees can so never exceed the cluster, and are no more than what is wanted.
func guarantee(t *share.Tree, claims []*Claim, capacity int, qos map[string]share.QOS) error {
	for _, name := range slices.Sorted(maps.Keys(qos)) {
		most := min(capacity, qos[name].Guarantee)
		if most <= 0 {
			continue
		}
		var of []*Claim
		for _, c := range claims {
			if c.Class == name {
				of = append(of, c)
			}
		}
		parts, err := t.Deserved(most, wantsOf(of))
		if err != nil {
			return err
		}
		for i, part := range parts {
			of[i].Guaranteed = part.GPUs
			capacity -= part.GPUs
		}
	}
	return nil
}

// wantsOf returns what the claims want, in their order.
func wantsOf(claims []*Claim) []share.Want {
	out := make([]share.Want, len(claims))
	for i, c := range claims {
		out[i] = c.Want
	}
	return out
}

// gather returns the users that have jobs, in order of account, user and QOS.
// What a user wants is added up for each list of partitions and bounded by the GPUs of these, so that many
// jobs for a small partition want no more than it has. The users that the tree does not tell apart are one.
func gather(t *share.Tree, s *elastic.Snapshot, rigid func(partitions string) bool, qos map[string]share.QOS) []Claim {
	type key struct{ account, user, class string }
	at := map[key]*Claim{}
	parts := map[key]map[string]int{} // wanted, by list of partitions
	w := newWants(s, rigid)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		rule, ruled := qos[j.QOS]
		k := key{account: j.Account, user: t.UserIn(j.Account, j.User)}
		if ruled {
			k.class = j.QOS
		}
		if at[k] == nil {
			parts[k] = map[string]int{}
			at[k] = &Claim{Want: share.Want{Account: k.account, User: k.user, Class: k.class, Weight: rule.Weight}, Scavenger: rule.Scavenger}
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
		c.GPUs, c.Worth = max(c.GPUs, c.Least), float64(c.Has)
		out = append(out, *c)
	}
	slices.SortFunc(out, func(a, b Claim) int {
		return cmp.Or(cmp.Compare(a.Account, b.Account), cmp.Compare(a.User, b.User), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// Caps returns the bounds of those that want more, as caps in the order in which idle GPUs are
// lent: first to those that had least of what they deserved lately. Without contention there is
// none.
// A claim whose bound is all that it wants needs none. The list and the maps in it are made anew. Of equal
// credits the order of Each stands.
func (c Claims) Caps() []elastic.Cap {
	bind := slices.DeleteFunc(slices.Clone(c.Each), func(each Claim) bool { return each.Bound >= each.GPUs })
	slices.SortStableFunc(bind, func(a, b Claim) int { return cmp.Compare(b.Credit, a.Credit) })
	out := make([]elastic.Cap, len(bind))
	for i, each := range bind {
		why := reason.Deserved{Account: each.Account, User: each.User, QOS: each.Class, Scavenger: each.Scavenger, GPUs: each.Bound}
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
	bound  map[elastic.JobID]int              // GPUs of the targets of open moves
	rigid  func(partitions string) bool       // of which jobs are never resized; nil = of none
	all    int                                // GPUs of the cluster
	node   int                                // of its largest node
	groups map[string]int                     // GPUs of lists of partitions
	first  map[elastic.SweepKey]elastic.JobID // the lane that each sweep keeps
}

// newWants looks once at all jobs and nodes. s MUST NOT change while it is used.
func newWants(s *elastic.Snapshot, rigid func(partitions string) bool) *wants {
	w := &wants{s: s, bound: map[elastic.JobID]int{}, rigid: rigid, groups: map[string]int{}, first: map[elastic.SweepKey]elastic.JobID{}}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if first, known := w.first[j.SweepKey()]; j.Spec.Sweep != "" && j.GPUs() > 0 && (!known || j.ID < first) {
			w.first[j.SweepKey()] = j.ID
		}
	}
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
//
// All are GPUs, and least is at most has, but for a pin above it. The first line that applies counts:
//
//	Fixed                             has, has, has
//	waits, and Slurm would not start  0, 0, 0
//	pinned to a size that it accepts  pin, pin or (while it waits) 0, has
//	waits                             its useful size, 0, 0
//	runs, and rests or is rigid       its useful size (at least has), has, has
//	runs, as a sweep's further lane   its useful size, 0, has
//	runs                              its useful size, its minimum, has
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
	if j.Spec.Sweep != "" && w.first[j.SweepKey()] != j.ID {
		least = 0 // a further lane gives way to jobs that wait
	}
	if w.rigid != nil && w.rigid(j.Partition) || w.s.Resting(j) {
		least = has
	}
	return max(want, least), least, has
}
