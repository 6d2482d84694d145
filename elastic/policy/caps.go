package policy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// The site's limits (Snapshot.Caps) apply to every policy, and no policy knows about them. A
// policy is asked about a snapshot in which no job accepts a size that a limit forbids, and
// without the jobs that may not be started at all. If its answer exceeds a limit that jobs
// share, the limit is divided among them and the policy is asked again. Each round reduces what
// some jobs may have, so the iteration ends.

// question is what a decision is asked with: pure.
type question struct {
	decide func(elastic.Snapshot) elastic.Allocation
	beside func(elastic.Snapshot) elastic.Allocation // decides about few jobs in a snapshot without the others
	rigid  func(partitions string) bool              // of which partitions it never resizes a job
	// few is up to how many shares the policy is asked before they are divided (fewShares).
	few int
}

// capped answers within the site's limits and shares.
func capped(s elastic.Snapshot, q question) elastic.Allocation {
	if len(s.Caps) == 0 {
		return q.decide(s)
	}
	b, a := bounded(s, q)
	return b.lend(b.explain(a))
}

// bounded returns an answer within the limits, and what these allow each job.
func bounded(s elastic.Snapshot, q question) (*bounds, elastic.Allocation) {
	b := newBounds(s, q)
	// exclude comes BEFORE divideShares: a job that is left out takes nothing in the division.
	b.exclude()
	if b.many {
		b.divideShares()
	}
	for asked := 1; ; asked++ {
		a := q.decide(b.snapshot())
		if !b.tighten(a, asked) {
			return b, a
		}
	}
}

// bounds is what the limits allow each job. Invariant: sizes only shrink, out and gives are never
// reset; capped ends because of that.
type bounds struct {
	snap elastic.Snapshot
	jobs []bound // in order of the snapshot
	of   [][]int // the jobs of each limit, by index
	gpus int     // GPUs of the largest node
	many bool    // there are too many shares to ask the policy before they are divided
	said map[*elastic.Cap]reason.Reason
	question
}

// bound is what the limits allow one job.
type bound struct {
	never reason.NeverStarts // set if no change of the cluster lets it start
	array *elastic.Cap       // the %N of its array, if that keeps it from starting
	elastic.Job
	role   roles.Role
	now    int // GPUs it has or is bound to get
	sizes  []int
	pin    int
	out    bool          // not decided about: it keeps what it has
	why    reason.Reason // the limit because of which it waits or has no more; nil if none applies
	rigid  bool          // its policy never resizes it
	gives  bool          // it is to give GPUs back, to the size pin
	beyond bool          // gives: because it has GPUs beyond a share
	missed bool          // beyond: the policy had no place for it at the size pin
	asked  int           // GPUs that the policy gave it before a share reduced them; 0 = none did
}

// newBounds returns what the limits allow each job alone. Sizes of jobs that are Fixed are not
// restricted: they keep what they have.
func newBounds(s elastic.Snapshot, q question) *bounds {
	b := &bounds{snap: s, jobs: make([]bound, len(s.Jobs)), said: map[*elastic.Cap]reason.Reason{}, question: q, many: manyShares(s, q.few)}
	all := 0
	for _, n := range s.Nodes {
		b.gpus, all = max(b.gpus, n.GPUs), all+n.GPUs
	}
	var limits [][]int // of each job
	limits, b.of = members(s)
	options := lists{}
	for i, ej := range s.Jobs {
		j := &b.jobs[i]
		j.Job, j.now, j.pin = ej, s.Committed(ej).GPUs(), ej.Directive.Pin
		j.rigid = q.rigid(ej.Partition)
		j.role, _ = (&roles.Subject{Job: ej, Now: j.now}).Classify(&s)
		if j.role == roles.Fixed {
			continue
		}
		j.sizes = options.of(ej.Spec, all)
		for _, k := range limits[i] {
			b.alone(j, &s.Caps[k])
		}
		b.settle(j)
	}
	return b
}

// alone removes the sizes that the limit forbids the job whatever other jobs have. For a shared
// limit that is what ordinary jobs leave of it; a Least limit removes sizes that are too small.
// A job without a size left is left out by settle, which MUST be called after the last limit.
func (b *bounds) alone(j *bound, c *elastic.Cap) {
	if !c.Jobs[j.ID] || c.Reclaims {
		return // what the sum of shares leaves is lent
	}
	most := c.Most
	if c.Shared() {
		most -= c.Others
	}
	few := slices.DeleteFunc(slices.Clone(j.sizes), func(n int) bool {
		if c.Least {
			if c.Of == elastic.Nodes {
				return n < c.Most // each has at least one GPU
			}
			return b.cost(j, c, n) < c.Most
		}
		return b.cost(j, c, n) > most
	})
	if len(few) == len(j.sizes) {
		return
	}
	j.sizes = few
	if !c.Least || len(few) == 0 {
		j.why = b.limit(c)
		if c.MaxTime > 0 {
			j.never = reason.NeverStarts{Job: int64(j.ID), Asked: j.TimeLimit.Seconds(), MaxTime: c.MaxTime.Seconds(), Partition: c.Partition}
		}
	}
}

// cost returns how much of the limit the job uses on n GPUs, on as few nodes as possible, as if
// all nodes were as large as the largest. On the real nodes it may be more; package plan checks
// the limits again when it places the job (plan/quota.go).
func (b *bounds) cost(j *bound, c *elastic.Cap, n int) int {
	if n < 1 {
		return 0
	}
	return c.Takes(&j.Job, n, (n+b.gpus-1)/max(1, b.gpus), min(n, b.gpus))
}

// settle removes the jobs for which the limits leave nothing to decide.
// A pin counts as the only size: where a limit forbids it, the job waits or keeps what it has.
func (b *bounds) settle(j *bound) {
	if j.role != roles.Fixed && j.why != nil {
		j.out = j.out || len(j.sizes) == 0 || j.pin > 0 && !slices.Contains(j.sizes, j.pin)
	}
}

// snapshot returns the snapshot that the policy is asked about.
func (b *bounds) snapshot() elastic.Snapshot {
	s := b.snap
	s.Caps, s.Jobs = nil, make([]elastic.Job, 0, len(b.jobs))
	for i := range b.jobs {
		j := &b.jobs[i]
		if j.out {
			continue
		}
		ej := j.Job
		if j.role != roles.Fixed && j.why != nil {
			ej.Spec = j.within()
		}
		if j.gives {
			ej.Directive.Pin = j.pin
		}
		s.Jobs = append(s.Jobs, ej)
	}
	return s
}

// within returns the job's spec with the sizes that are left and its present one.
// The present size stays even if a limit forbids it: a limit of Slurm stops no running job.
func (j *bound) within() elastic.Spec {
	spec := j.Spec
	spec.Sizes, spec.Step = slices.Clone(j.sizes), 0
	if j.now > 0 && !slices.Contains(spec.Sizes, j.now) {
		spec.Sizes = append(spec.Sizes, j.now)
		slices.Sort(spec.Sizes)
	}
	spec.Min, spec.Max = spec.Sizes[0], spec.Sizes[len(spec.Sizes)-1]
	spec.Profile = slices.DeleteFunc(slices.Clone(spec.Profile), func(n int) bool { return !slices.Contains(spec.Sizes, n) })
	return spec
}

// tighten reduces what jobs may have where the answer exceeds a limit that they share. After the last of the
// questions it divides each share, unless the answer is within all limits: a policy may answer otherwise about jobs
// that accept less, so that two answers would alternate with the number of questions that it takes. It returns
// false if no job may have less than before.
func (b *bounds) tighten(a elastic.Allocation, asked int) bool {
	changed := false
	last := !b.many && asked == questions && b.exceeds(a)
	for k := range b.snap.Caps {
		c := &b.snap.Caps[k]
		if !c.Shared() || c.Reclaims && b.many && asked > 1 {
			continue
		}
		s := b.share(k, a)
		switch over := s.want > s.room(); {
		case c.Reclaims && last:
			changed = b.settleShare(s) || changed
		case over && c.Reclaims:
			changed = b.reclaim(s) || changed
		case over:
			changed = b.divide(s) || changed
		}
	}
	return changed
}

// share is one limit and the jobs that share it.
type share struct {
	*elastic.Cap
	members []*bound
	given   []int // GPUs that the policy gives each job, at least its present ones
	want    int   // usage of the limit by given
}

func (s share) room() int { return s.Most - s.Others }

// share returns the usage of a limit under the policy's answer. A job that shrinks counts with
// its present size: until its GPUs are given back they count in Slurm too. Only of a share, which
// is sluice's own, they do not.
func (b *bounds) share(limit int, a elastic.Allocation) share {
	c := &b.snap.Caps[limit]
	s := share{Cap: c}
	for _, i := range b.of[limit] {
		j := &b.jobs[i]
		n := j.now // held until it was given back
		if d, ok := a[j.ID]; ok && !j.out && j.role != roles.Fixed {
			if n = max(n, d.GPUs); c.Reclaims {
				n = d.GPUs
			}
		}
		s.members, s.given = append(s.members, j), append(s.given, n)
		s.want += b.cost(j, c, n)
	}
	return s
}

// divide divides the limit. Running jobs keep what they have. Waiting jobs get their minimum in
// order of arrival, and while one waits no job grows. The rest goes, size by size, to where it
// saves most time. It reports whether some job may have less than the policy gave.
//
// Of a limit of 8 GPUs a job has 4 of its wanted 6, a second has 2, and a third waits for 2: the third
// starts on 2, and the first stays at 4. If the third needed 3, none would grow, and the first would
// give back a size (giveWay).
func (b *bounds) divide(s share) bool {
	most := make([]int, len(s.members))
	spare := s.room()
	for i, j := range s.members {
		most[i] = j.now
		spare -= b.cost(j, s.Cap, j.now)
	}
	// A job that grows without using more of the limit, as under a limit on running jobs,
	// delays no other.
	for i, j := range s.members {
		if j.now > 0 && j.role != roles.Fixed && s.given[i] > j.now && b.cost(j, s.Cap, s.given[i]) == b.cost(j, s.Cap, j.now) {
			most[i] = s.given[i]
		}
	}
	var first *bound // the first that does not fit
	for i, j := range s.members {
		if j.now > 0 || s.given[i] == 0 {
			continue
		}
		if need := b.cost(j, s.Cap, j.least()); first == nil && need <= spare {
			if most[i], spare = j.least(), spare-need; b.cost(j, s.Cap, s.given[i]) == need {
				most[i] = s.given[i]
			}
		} else if first == nil {
			first = j
			b.giveWay(s, need-spare)
		}
	}
	for first == nil {
		i, n := b.next(s, most, spare)
		if i < 0 {
			break
		}
		spare -= b.cost(s.members[i], s.Cap, n) - b.cost(s.members[i], s.Cap, most[i])
		most[i] = n
	}
	changed := false
	for i, j := range s.members {
		if s.given[i] > most[i] {
			changed = true
			if j.atMost(most[i], b.limit(s.Cap)); j.out && s.Throttle {
				j.array = s.Cap
			}
			b.settle(j)
		}
	}
	return changed
}

// least returns the smallest size at which the job may start.
func (j *bound) least() int {
	if j.pin > 0 {
		return j.pin
	}
	return j.sizes[0]
}

// truncate removes the sizes above n. Others may share the list.
func (j *bound) truncate(n int) {
	at, _ := slices.BinarySearch(j.sizes, n+1)
	j.sizes = j.sizes[:at:at]
}

// atMost removes the sizes above n; with 0 the job waits.
func (j *bound) atMost(n int, why reason.Reason) {
	j.why = why
	j.truncate(n)
	if len(j.sizes) == 0 {
		j.out = true
	}
}

// next returns the job, and its next size, for which the rest of the limit saves most: the
// largest share of its time per unit of the limit. It returns -1 if nothing fits.
// A step may be to a slower size, down to -1 a unit: a faster one that the policy gave may lie behind.
func (b *bounds) next(s share, most []int, spare int) (int, int) {
	best, size, gain := -1, 0, -1.0
	for i, j := range s.members {
		if j.out || j.role == roles.Fixed || j.pin > 0 || most[i] == 0 {
			continue
		}
		at, _ := slices.BinarySearch(j.sizes, most[i]+1)
		if at >= len(j.sizes) || j.sizes[at] > s.given[i] {
			continue
		}
		n := j.sizes[at]
		more := b.cost(j, s.Cap, n) - b.cost(j, s.Cap, most[i])
		if more > spare {
			continue
		}
		if g := b.saved(j, most[i], n) / float64(max(1, more)); g > gain {
			best, size, gain = i, n, g
		}
	}
	return best, size
}

// saved returns the share of its time that a job saves on more GPUs.
// 0.5 = it takes half as long; negative = it is slower; NaN = it runs at neither size.
func (b *bounds) saved(j *bound, from, to int) float64 {
	seconds := func(n int) float64 {
		t, _ := j.Curve.Seconds(speed.Shape{GPUs: n, Nodes: (n + b.gpus - 1) / max(1, b.gpus)})
		return t
	}
	return 1 - seconds(to)/seconds(from)
}

// giveWay makes jobs give back short units of the limit, those with most first, if they can:
// under a limit too, no job waits while others have more than their minimum.
// The waiting job is left out of this decision: until GPUs are given back they count in Slurm.
func (b *bounds) giveWay(s share, short int) {
	to := make([]int, len(s.members))
	for i, j := range s.members {
		to[i] = j.now
	}
	for short > 0 {
		most, next := -1, 0
		for i, j := range s.members {
			at, _ := slices.BinarySearch(j.sizes, to[i])
			if b.yields(j) && at > 0 && (most < 0 || to[i] > to[most]) {
				most, next = i, j.sizes[at-1]
			}
		}
		if most < 0 {
			return
		}
		short -= b.cost(s.members[most], s.Cap, to[most]) - b.cost(s.members[most], s.Cap, next)
		to[most] = next
	}
	for i, j := range s.members {
		if to[i] < j.now {
			j.pin, j.gives, j.why = to[i], true, b.limit(s.Cap)
		}
	}
}

// yields reports whether the job may shrink now.
func (b *bounds) yields(j *bound) bool {
	return j.role == roles.Movable && !j.out && j.pin == 0 && !b.snap.Resting(&j.Job) && len(j.sizes) > 0
}
