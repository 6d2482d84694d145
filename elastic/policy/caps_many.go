package policy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
)

// There may be thousands of shares, on clusters with as many jobs.

// fewShares is up to how many shares that bind the policy is asked before they are divided, and asked again
// where its answer exceeds one: so GPUs go to the jobs of a share that use them best beside all others. After
// as many questions as that each share is divided among its jobs, whether the answer exceeds it or not: GPUs
// that one share frees let others exceed theirs. Of more shares every one is divided before the policy is
// asked (divideShares): on 100,000 GPUs a question takes half a second.
const fewShares, questions = 64, 4

// manyShares reports whether more than few shares bind: only those that do are caps (claim.Caps).
func manyShares(s elastic.Snapshot, few int) bool {
	n := 0
	for k := range s.Caps {
		if s.Caps[k].Reclaims {
			n++
		}
	}
	return n > few
}

// lists are the sizes that specs accept. Equal specs share one, which MUST NOT be changed: on a large
// cluster a job without a maximum has as many as there are GPUs.
// The key is minimum, maximum and step.
type lists map[[3]int][]int

// of returns the sizes up to most that the spec accepts, ascending. most MUST be the same in all calls,
// since it is no part of the key. Specs that list their sizes share nothing.
func (l lists) of(spec elastic.Spec, most int) []int {
	if len(spec.Sizes) > 0 {
		return spec.Options(most)
	}
	key := [3]int{spec.Min, spec.Max, spec.Step}
	list, known := l[key]
	if !known {
		list = spec.Options(most)
		l[key] = slices.Clip(list)
	}
	return list
}

// members returns the limits of each job, and the jobs of each limit, by index: there may be
// thousands of shares.
// Both are ascending. Jobs of a cap that are not in the snapshot, such as those left out by
// startable, are ignored. The cost grows with the jobs that all caps name together, not with their
// product.
func members(s elastic.Snapshot) (limits, jobs [][]int) {
	limits, jobs = make([][]int, len(s.Jobs)), make([][]int, len(s.Caps))
	at := make(map[elastic.JobID]int, len(s.Jobs))
	for i := range s.Jobs {
		at[s.Jobs[i].ID] = i
	}
	for k := range s.Caps {
		for id, in := range s.Caps[k].Jobs {
			if i, there := at[id]; there && in {
				limits[i], jobs[k] = append(limits[i], k), append(jobs[k], i)
			}
		}
		slices.Sort(jobs[k])
	}
	return limits, jobs
}

// exceeds reports whether an answer exceeds a limit that jobs share.
func (b *bounds) exceeds(a elastic.Allocation) bool {
	for k := range b.snap.Caps {
		if b.snap.Caps[k].Shared() {
			if s := b.share(k, a); s.want > s.room() {
				return true
			}
		}
	}
	return false
}
