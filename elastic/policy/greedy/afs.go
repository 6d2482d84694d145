package greedy

import (
	"math"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// AFS is AFS-L (Hwang et al., Elastic Resource Sharing for Distributed Deep Learning, NSDI
// 2021, section 4.2): GPUs are given one at a time, each to the job that wins every pairwise
// comparison. A job and a longer one are compared by which of them should have the GPU now if
// shares stay as they are after the shorter one has ended.
func AFS(s elastic.Snapshot) elastic.Allocation {
	return division{rule: futureShare, stops: true, because: always(reason.AFSRule)}.allocate(s)
}

// futureShare is the rule of AFS-L. It costs one comparison per job for each step up.
func futureShare(parts []part, gpus int) {
	for i := range parts {
		gpus -= parts[i].size()
	}
	for {
		top := -1
		for i := range parts {
			if more, ok := parts[i].more(); ok && more <= gpus && parts[i].gains() {
				if top < 0 || parts[i].before(&parts[top]) {
					top = i
				}
			}
		}
		if top < 0 {
			return
		}
		more, _ := parts[top].more()
		gpus -= more
		parts[top].at++
	}
}

// gains reports whether the next size makes the job faster. p MUST have a next size.
func (p *part) gains() bool { return p.unit(p.at+1) < p.unit(p.at) }

// before reports whether the next GPU is better given to p than to q, the leader so far. Of two
// jobs without GPUs the shorter goes first; a job without GPUs counts as longer than any with. The
// comparison is by the remaining time at the present size; of equally long jobs p counts as the
// shorter. Both MUST have a next size.
func (p *part) before(q *part) bool {
	if p.size() == 0 && q.size() == 0 {
		return p.Work*p.unit(p.at+1) < q.Work*q.unit(q.at+1)
	}
	if p.Work*p.unit(p.at) <= q.Work*q.unit(q.at) {
		return !q.outweighs(p)
	}
	return p.outweighs(q)
}

// outweighs reports whether the longer job should have the next GPU before the shorter one.
// With speeds s and s' now and with the GPU: if its relative gain (s'-s)/s' is larger than
// (s'-s)/s of the shorter. If sizes are more than one GPU apart the gains are per GPU.
func (long *part) outweighs(short *part) bool {
	dl, _ := long.more()
	ds, _ := short.more()
	// In times t = 1/s: (s'-s)/s' = 1 - t'/t, and (s'-s)/s = t/t' - 1.
	l := 1 - ratio(long.unit(long.at+1), long.unit(long.at))
	s := ratio(short.unit(short.at), short.unit(short.at+1)) - 1
	return l/float64(dl) > s/float64(ds)
}

// ratio returns a/b, where a size that cannot run takes infinitely long.
func ratio(a, b float64) float64 {
	if math.IsInf(a, 1) && math.IsInf(b, 1) {
		return 1
	}
	return a / b
}
