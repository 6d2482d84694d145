package policy

import (
	"container/heap"
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/policy/roles"
)

// reclaim reduces what the policy gives the jobs of a share until they are within it: size by size
// where that costs least time per GPU, first growth, which costs no resize if it is left out, then
// what jobs have, down to their minimum; then the latest waiting jobs are not started. What is left
// over goes back to where it saves most. It reports whether some job may have less than the policy
// gave. A job that keeps what it has in any case counts with that.
//
// A share of 6: the policy gives a job that runs at 2 a size of 6, and starts a second at its minimum of
// 2. The first grows to 4 only, which costs no resize more, and both fit.
//
// The heap makes it O(sizes x log jobs). An excess may stay where jobs cannot be reduced.
func (b *bounds) reclaim(s share) bool {
	most, over := b.reduce(s)
	return b.atMostOf(s, b.regrow(s, most, -over))
}

// exclude leaves out waiting jobs that could not start within their share even if all others of it had
// their minimum: a policy would keep GPUs for them that other users deserve. They can be lent some.
// Jobs are judged one by one, each beside what the others keep, so that several may be left in that do
// not fit together; reduce decides between them. asked is set, so that lend knows what the job wants.
func (b *bounds) exclude() {
	for k := range b.snap.Caps {
		c := &b.snap.Caps[k]
		if !c.Reclaims {
			continue
		}
		kept := 0
		for _, i := range b.of[k] {
			kept += b.kept(&b.jobs[i])
		}
		for _, i := range b.of[k] {
			if j := &b.jobs[i]; !j.out && j.now == 0 && j.role == roles.Waiting && len(j.sizes) > 0 && kept+j.least() > c.Most-c.Others {
				j.out, j.why, j.asked = true, b.limit(c), j.least()
			}
		}
	}
}

// kept returns what a job of a share keeps in any case.
// A job keeps its minimum; all it has, if it is Fixed, pinned by its user, rests, or is never resized by
// its policy. A job that waits keeps nothing.
func (b *bounds) kept(j *bound) int {
	if j.now == 0 || !j.reducible() || len(j.sizes) == 0 || j.rigid || b.snap.Resting(&j.Job) {
		return j.now
	}
	return min(j.now, j.sizes[0])
}

// reduce returns what the jobs of a share may have so that they are within it, as far as that can be,
// and by how much they then exceed it; negative = what is left.
// Waiting jobs are dropped last, the latest first. s.given is not changed.
func (b *bounds) reduce(s share) (most []int, over int) {
	most = slices.Clone(s.given)
	over = s.want - s.room()
	h := &losses{}
	for i := range s.members {
		b.offer(h, s, most, i)
	}
	for over > 0 && h.Len() > 0 {
		l := heap.Pop(h).(loss)
		over -= most[l.member] - l.to
		most[l.member] = l.to
		b.offer(h, s, most, l.member)
	}
	for i := len(s.members) - 1; i >= 0 && over > 0; i-- {
		if j := s.members[i]; j.now == 0 && most[i] > 0 && j.role != roles.Fixed {
			over, most[i] = over-most[i], 0
		}
	}
	return most, over
}

// settleShare divides a share among its jobs, so that no later answer can exceed it: what the policy
// gave them as far as it fits, then the minimums of waiting jobs, then growth where it saves most.
// It looks at the share even if the answer is within it, so that what others give back is not given to its
// jobs beyond it by a later answer.
func (b *bounds) settleShare(s share) bool {
	most, over := b.reduce(s)
	s.given = slices.Clone(s.given)
	for i, j := range s.members {
		if j.out || j.pin > 0 || j.role == roles.Fixed || len(j.sizes) == 0 {
			continue
		}
		if s.given[i] = max(s.given[i], j.sizes[len(j.sizes)-1]); most[i] == 0 && j.least() <= -over {
			over, most[i] = over+j.least(), j.least()
		}
	}
	return b.atMostOf(s, b.regrow(s, most, -over))
}

// regrow gives what is spare to where it saves most.
// most is changed and returned. Jobs with 0 are not started by it. A step that does not fit is dropped, and
// with it the larger ones of that job; smaller steps of other jobs still count.
func (b *bounds) regrow(s share, most []int, spare int) []int {
	h := &gains{}
	for i := range s.members {
		b.offerMore(h, s, most, i, spare)
	}
	for h.Len() > 0 {
		g := heap.Pop(h).(gain)
		if more := g.to - most[g.member]; more <= spare {
			spare, most[g.member] = spare-more, g.to
			b.offerMore(h, s, most, g.member, spare)
		}
	}
	return most
}

// atMostOf bounds the jobs of a share, and reports whether that is a change.
// Jobs that lose nothing keep their reason.
func (b *bounds) atMostOf(s share, most []int) bool {
	changed := false
	for i, j := range s.members {
		if s.given[i] > most[i] && j.shrink(most[i], s.given[i]) {
			j.why, changed = b.limit(s.Cap), true
			b.settle(j)
		}
	}
	return changed
}

// loss is a step down of one job: the share of its time that it loses per GPU.
type loss struct {
	member, to int
	resizes    bool // below what it has
	cost       float64
}

// losses is a heap, the smallest loss first, of equal ones that of the latest job.
type losses []loss

// Len is the number of steps down that are possible.
func (h losses) Len() int { return len(h) }

// Less puts steps that need no resize first, then the smallest loss per GPU; of equal ones the latest job loses.
func (h losses) Less(i, k int) bool {
	if h[i].resizes != h[k].resizes {
		return h[k].resizes
	}
	return h[i].cost < h[k].cost || h[i].cost == h[k].cost && h[i].member > h[k].member
}

// Swap is of heap.Interface.
func (h losses) Swap(i, k int) { h[i], h[k] = h[k], h[i] }

// Push adds a loss; callers MUST use heap.Push.
func (h *losses) Push(x any) { *h = append(*h, x.(loss)) }

// Pop removes the last of the list; callers MUST use heap.Pop.
func (h *losses) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// gain is a step up of one job: the share of its time that it saves per GPU.
type gain struct {
	member, to int
	saves      float64
}

// gains is a heap, the largest gain first, of equal ones that of the earliest job.
type gains []gain

// Len is the number of steps up that are possible.
func (h gains) Len() int { return len(h) }

// Less puts the largest gain per GPU first; of equal ones the earliest job gains.
func (h gains) Less(i, k int) bool {
	return h[i].saves > h[k].saves || h[i].saves == h[k].saves && h[i].member < h[k].member
}

// Swap is of heap.Interface.
func (h gains) Swap(i, k int) { h[i], h[k] = h[k], h[i] }

// Push adds a gain; callers MUST use heap.Push.
func (h *gains) Push(x any) { *h = append(*h, x.(gain)) }

// Pop removes the last of the list; callers MUST use heap.Pop.
func (h *gains) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}

// offerMore adds the job's next larger size to the heap, if it may have one and it is at most spare GPUs more.
// Where the policy is not asked first, up to farAhead sizes are skipped to find a faster one. Else the next
// size counts even if it is slower, since the policy gave one beyond it.
func (b *bounds) offerMore(h *gains, s share, most []int, i, spare int) {
	j := s.members[i]
	if j.out || j.role == roles.Fixed || j.pin > 0 || most[i] == 0 {
		return
	}
	at, _ := slices.BinarySearch(j.sizes, most[i]+1)
	for ahead := at; ahead < len(j.sizes) && ahead <= at+b.ahead(); ahead++ {
		n := j.sizes[ahead]
		if n > s.given[i] || n-most[i] > spare {
			return
		}
		saves := b.saved(j, most[i], n) / float64(n-most[i])
		if saves > 0 || !b.many && saves > -1 {
			heap.Push(h, gain{i, n, saves})
			return
		}
	}
}

// offer adds the job's next smaller size to the heap, if it may have one.
//
// A step that would resize a job is not offered for one that rests or whose policy never resizes. Where
// the policy had no place for a running job at the size set here, smaller ones are offered; where that
// happened twice, only the smallest, so that the iteration ends soon.
func (b *bounds) offer(h *losses, s share, most []int, i int) {
	j := s.members[i]
	if most[i] == 0 || j.out || !j.reducible() {
		return
	}
	sizes := j.sizes
	if j.beyond && s.given[i] > j.pin { // the policy has no place for it at that size
		at, _ := slices.BinarySearch(sizes, j.pin)
		if sizes = sizes[:at]; j.missed && at > 0 {
			sizes = sizes[:1]
		}
	}
	at, _ := slices.BinarySearch(sizes, most[i])
	for b.many && at > 1 && sizes[at-1] < j.now && !b.keepsWithin(j, sizes[at-1]) {
		at--
	}
	if at == 0 || j.now > 0 && sizes[at-1] < j.now && (j.rigid || b.snap.Resting(&j.Job)) {
		return
	}
	cost := b.saved(j, sizes[at-1], most[i]) / float64(most[i]-sizes[at-1])
	if math.IsNaN(cost) { // it runs on neither
		cost = 0
	}
	heap.Push(h, loss{i, sizes[at-1], sizes[at-1] < j.now, cost})
}

// reducible reports whether the job's size may be reduced: it waits, or may be moved. A size set by
// its user stays.
func (j *bound) reducible() bool {
	return j.role != roles.Fixed && (j.pin == 0 || j.beyond)
}

// shrink reduces what the job may have to n GPUs; 0 = it waits. It reports false if that is no
// change.
// A running job that has more is then pinned to n, so that the policy cannot give it more. given, the
// policy's size, is remembered as what the job asked for: lend offers up to that.
func (j *bound) shrink(n, given int) bool {
	j.asked = max(j.asked, given)
	before, pin := len(j.sizes), j.pin
	j.missed = j.beyond && given > pin
	j.truncate(n)
	if n < j.now {
		j.pin, j.gives, j.beyond = n, true, true
	}
	if n == 0 || len(j.sizes) == 0 {
		j.out = true
		return true
	}
	return len(j.sizes) < before || j.pin != pin
}
