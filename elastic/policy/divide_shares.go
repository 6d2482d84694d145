package policy

import (
	"cmp"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/nodes"
)

// divideShares divides each share among its jobs before the policy is asked: the minimums of those that run,
// then of those that wait, in their order, then what jobs have, then growth where it saves most. So the
// answer is within all shares, but for jobs of which the policy finds no place at their size.
//
// A share of 8 GPUs has one running job at 4 with a minimum of 1, and 6 jobs wait for 1 each: the 6
// start, and the running job gives back 2.
//
// given is first what jobs have or need to start, which reduce cuts to the share; then the largest size
// that each accepts, up to which regrow gives what is left.
func (b *bounds) divideShares() {
	for k := range b.snap.Caps {
		if !b.snap.Caps[k].Reclaims {
			continue
		}
		s := b.share(k, nil)
		for i, j := range s.members {
			switch {
			case j.out || j.role == roles.Fixed || len(j.sizes) == 0:
			case j.now == 0:
				s.given[i] = j.least()
			case j.pin > 0 && slices.Contains(j.sizes, j.pin):
				s.given[i] = j.pin
			}
			s.want += s.given[i] - j.now
		}
		most, over := b.reduce(s)
		for i, j := range s.members {
			if s.given[i] > 0 && !j.out && j.pin == 0 && j.role != roles.Fixed && len(j.sizes) > 0 {
				s.given[i] = max(s.given[i], j.sizes[len(j.sizes)-1])
			}
		}
		b.atMostOf(s, b.regrow(s, most, -over))
	}
}

// farAhead is how many larger sizes are looked at for one that is faster, where a share is divided before
// the policy is asked: some sizes cannot be split evenly, and jobs are slower on more nodes.
const farAhead = 16

// ahead is 0 where the policy is asked first: its answer says which larger sizes are of use.
func (b *bounds) ahead() int {
	if b.many {
		return farAhead
	}
	return 0
}

// keepsWithin reports whether a running job can shrink to n GPUs on its own nodes.
// Unless uneven splits are accepted a job has the same number on each of its nodes. On 4+4 GPUs it can
// shrink to 6 (3+3) and to 4 (one node), not to 5.
func (b *bounds) keepsWithin(j *bound, n int) bool {
	if j.Spec.AllowUneven || b.snap.Limits.AnySplit() {
		return true
	}
	place := slices.Clone(j.Place)
	slices.SortFunc(place, func(x, y nodes.Share) int { return cmp.Compare(y.GPUs, x.GPUs) })
	for on := range place {
		if n%(on+1) == 0 && place[on].GPUs >= n/(on+1) {
			return true
		}
	}
	return false
}
