package claim

import (
	"math"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// useful returns the size at which the job is expected to be fastest, the smallest such; 0 if it
// accepts none.
func (w *wants) useful(j *elastic.Job) int {
	best, least := 0, math.Inf(1)
	for _, n := range sizes(j.Spec, w.allowed(j)) {
		seconds, _ := j.Curve.Seconds(speed.Shape{GPUs: n, Nodes: (n + w.node - 1) / max(1, w.node)})
		if best == 0 || seconds < least {
			best, least = n, seconds
		}
	}
	return best
}

// oneByOne is up to which size every size of a job is looked at; beyond it sizes double, so that
// jobs without a maximum cost little on large clusters.
const oneByOne = 64

// sizes returns sizes that a job accepts, ascending, at most this one: all small ones, and the
// largest.
func sizes(spec elastic.Spec, most int) (out []int) {
	if len(spec.Sizes) > 0 {
		for _, n := range spec.Sizes {
			if spec.Allows(n, most) {
				out = append(out, n)
			}
		}
		return out
	}
	step := max(1, spec.Step)
	last := spec.Min + (most-spec.Min)/step*step
	for n := spec.Min; n <= most; {
		if out = append(out, n); n < oneByOne {
			n += step
		} else if n < last {
			n = min(last, spec.Min+(2*n-spec.Min)/step*step)
		} else {
			break
		}
	}
	return out
}

// allowed returns the largest size that the job may have: of its own sizes, its partitions and the
// site's limits on single jobs.
func (w *wants) allowed(j *elastic.Job) int {
	most := w.within(j.Partition)
	if j.MaxNodes > 0 {
		most = min(most, j.MaxNodes*w.node)
	}
	for k := range w.s.Caps {
		c := &w.s.Caps[k]
		if c.Of == elastic.GPUs && c.Each && !c.Node && !c.Least && !c.Minutes && c.Jobs[j.ID] {
			most = min(most, c.Most)
		}
	}
	if j.Spec.Max > 0 {
		most = min(most, j.Spec.Max)
	}
	return most
}

// within returns the GPUs of the nodes of a list of partitions.
func (w *wants) within(partitions string) int {
	if gpus, known := w.groups[partitions]; known {
		return gpus
	}
	list, gpus := strings.Split(partitions, ","), 0
	for i := range w.s.Nodes {
		n := &w.s.Nodes[i]
		for _, p := range list {
			if n.In(p) {
				gpus += n.GPUs
				break
			}
		}
	}
	w.groups[partitions] = gpus
	return gpus
}
