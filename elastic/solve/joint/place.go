package joint

import (
	"math"
	"slices"
)

// spot is a place found for a job, with its value.
// stays: it is the job's present place, and the value is Stay.
type spot struct {
	place []Share
	value float64
	stays bool
}

// place returns the best place for a job at a size: its present one if it has that size and is
// free, unless an option that fits elsewhere has a larger value; among options nearly as good
// the one that breaks fewest idle nodes.
//
// The job MUST be off the nodes. They are not changed: the caller puts the job there, or drops the
// spot. Options are in descending order of value, so the loop ends at the first that cannot win.
func (s *Search) place(i, size int) (spot, bool) {
	j := &s.p.Jobs[i]
	best := spot{value: math.Inf(-1)}
	if len(j.Now) > 0 && held(j.Now) == size && s.f.fits(j, j.Now) {
		best = spot{j.Now, j.Stay, true}
	}
	if size > s.f.idle(j) {
		return best, len(best.place) > 0
	}
	options := j.At(size)
	broken := math.MaxInt
	for k := range options {
		o := &options[k]
		if len(best.place) > 0 && o.Value <= best.value && !s.near(o.Value, best) {
			break
		}
		kept := s.shares
		place, breaks := s.fit(j, o)
		if place == nil && o.Loose {
			place, breaks = s.fitLoosely(j, o)
		}
		if place != nil && !sameShares(place, j.Now) && (o.Value > best.value || (s.near(o.Value, best) && breaks < broken)) {
			best, broken = spot{place, o.Value, false}, breaks
			continue
		}
		s.drop(kept)
	}
	return best, len(best.place) > 0
}

// near reports whether a value is as good as that of a place just found.
func (s *Search) near(v float64, best spot) bool {
	return !best.stays && v >= best.value-s.p.Near*math.Abs(best.value)
}

// At returns the options of a size; nil if the job does not accept it.
func (j *Job) At(size int) []Option {
	lo, hi := 0, len(j.Sizes)
	for lo < hi {
		mid := (lo + hi) / 2
		if j.Sizes[mid].GPUs < size {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(j.Sizes) && j.Sizes[lo].GPUs == size {
		return j.Sizes[lo].Options
	}
	return nil
}

// fit finds nodes for an option, largest share first, each on the node it fills best, and
// counts the idle nodes it breaks. The place keeps the split's order.
// A nil place means that no group has room.
func (s *Search) fit(j *Job, o *Option) (place []Share, breaks int) {
	for _, group := range j.groups(o) {
		if place, breaks = s.fitIn(j, group, o.Split); place != nil {
			return place, breaks
		}
	}
	return nil, 0
}

// groups returns the groups that an option can be on.
func (j *Job) groups(o *Option) [][]int {
	if o.Of > 0 {
		return j.Groups[o.Of-1 : o.Of]
	}
	return j.Groups
}

// loosely bounds the nodes among which another split is searched.
const loosely = 512

// fitLoosely finds nodes for another split of the same GPUs over as many nodes: the one that
// leaves the fewest GPUs unused on them.
func (s *Search) fitLoosely(j *Job, o *Option) (place []Share, breaks int) {
	for _, group := range j.groups(o) {
		if split := s.f.loose(group, gpus(o.Split), len(o.Split)); split != nil {
			if place, breaks = s.fitIn(j, group, split); place != nil {
				return place, breaks
			}
		}
	}
	return nil, 0
}

// fitIn finds nodes of a group for a split, the largest shares first. breaks counts the nodes
// without jobs of the problem of which it would use only a part.
//
// The largest come first because they have the fewest nodes to choose from; a large share that
// fits nowhere ends the search early.
func (s *Search) fitIn(j *Job, group, split []int) (place []Share, breaks int) {
	f := s.f
	top, low, ok := f.sort(split)
	if !ok || !f.may(group, top, low) {
		return nil, 0
	}
	f.stamp++
	several := len(split) > 1 && !j.Mixes
	s.nodes = slices.Grow(s.nodes[:0], len(split))[:len(split)]
	from := 0 // index of the shares of this size in nodes
	for size := top; size >= low; size-- {
		f.next[size] = from
		to := s.nodes[from : from+f.tally[size]]
		if from += len(to); len(to) > 0 && s.find(j, group, size, several, to) < len(to) {
			return nil, 0
		}
		for _, node := range to {
			if f.free[node] == f.cap[node] && size < f.free[node] {
				breaks++
			}
		}
	}
	if !s.p.AtOnce && top != low {
		return s.filled(j, split), breaks
	}
	return s.keepShares(split), breaks
}

// find searches as many nodes as there are places in to: on the whole floor, or among the nodes
// that the search is limited to.
func (s *Search) find(j *Job, group []int, n int, several bool, to []int32) (found int) {
	if s.among != nil {
		return s.f.pick(s.among, j, group, n, several, to)
	}
	return s.f.find(j, group, n, several, to)
}

// filled returns the sorted uneven split as Slurm allocates it on the nodes found: it fills
// them in order, leaving at least one GPU for each that follows. It returns nil if that makes
// another split.
//
// For example, of 4+2 on nodes found for it: with 4 GPUs free on the first node Slurm gives 4 and
// 2, as planned. With 6 free there it gives 5 and 1, and the place is rejected.
func (s *Search) filled(j *Job, split []int) []Share {
	slices.Sort(s.nodes)
	kept, left := s.shares, gpus(split)
	place := s.room(len(split))
	for i, node := range s.nodes {
		n := min(s.f.types.left(j, int(node), s.f.free[node]), left-(len(split)-1-i))
		if n < 1 || s.f.tally[n] == 0 || !s.f.holds(int(node), j, n) {
			s.drop(kept)
			return nil
		}
		s.f.tally[n]--
		left -= n
		place[i] = Share{int(node), n}
	}
	return place
}
