package claim

import (
	"math"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// useful returns the size at which the job is expected to be fastest, the smallest such; 0 if it
// accepts none. Without a list of sizes not every large one is tried (Curve.Fastest).
func (w *wants) useful(j *elastic.Job) int {
	most := w.allowed(j)
	if len(j.Spec.Sizes) == 0 {
		return j.Curve.Fastest(speed.Span{Least: max(1, j.Spec.Min), Step: max(1, j.Spec.Step), Most: most, PerNode: max(1, w.node)})
	}
	best, least := 0, math.Inf(1)
	for _, n := range j.Spec.Sizes {
		if !j.Spec.Allows(n, most) {
			continue
		}
		seconds, _ := j.Curve.Seconds(speed.Shape{GPUs: n, Nodes: (n + w.node - 1) / max(1, w.node)})
		if best == 0 || seconds < least {
			best, least = n, seconds
		}
	}
	return best
}

// allowed returns the largest size that the job may have: of its own sizes, its partitions and the
// site's limits on single jobs.
// Limits that jobs share, those on other resources than GPUs, and those in minutes do not count here:
// package policy applies them to what the job gets.
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
// Nodes count whatever state they are in and whoever uses them, and once if they are in several of the
// partitions. The answer is kept for the next job with the same list.
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
