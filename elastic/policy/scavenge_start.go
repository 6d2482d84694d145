package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// start lets scavengers start in those of their partitions in which no job of others waits for GPUs. If
// the policy would take something from others for that, they start at their minimum on idle GPUs.
// The partitions of each are limited to those (Decision.Within), so that it does not take GPUs that a job
// of others waits for in another partition of its list.
func (g *scavenging) start(a elastic.Allocation) elastic.Allocation {
	within := g.within(g.wanting(a))
	if len(within) == 0 {
		return a
	}
	s := without(g.s, slices.DeleteFunc(slices.Clone(g.waits), func(j *elastic.Job) bool { return within[j.ID] != "" }))
	for i := range s.Jobs {
		if only := within[s.Jobs[i].ID]; only != "" {
			s.Jobs[i].Partition = only
		}
	}
	next := maps.Clone(g.ask(s))
	for i := range g.s.Jobs {
		j := &g.s.Jobs[i]
		if d := next[j.ID]; !j.Scavenger && d.GPUs < a[j.ID].GPUs {
			return g.startOnIdle(a, within)
		} else if only := within[j.ID]; only != "" && only != j.Partition && d.Within == "" {
			d.Within = only
			next[j.ID] = d
		}
	}
	return next
}

// startOnIdle starts scavengers at their minimum on idle GPUs of these partitions.
// Each starts only if all others get as many GPUs as before.
func (g *scavenging) startOnIdle(a elastic.Allocation, within map[elastic.JobID]string) elastic.Allocation {
	before := plan.Arrange(g.s, a)
	for _, j := range g.waits {
		only := within[j.ID]
		if only == "" {
			continue
		}
		there, n := *j, roles.LeastOf(j)
		there.Partition = only
		at := idlePlace(g.s, before, &there, n)
		if len(at) == 0 {
			continue
		}
		next := maps.Clone(a)
		next[j.ID] = elastic.Decision{GPUs: n, Place: at, Within: only, Why: reason.StartsAtMinimum{GPUs: n}}
		if after := plan.Arrange(g.s, next); othersUnchanged(g.s, before, after, j.ID, next[j.ID]) {
			a, before = next, after
		}
	}
	return a
}

// within returns the partitions in which scavengers that wait may start while some jobs wait.
// A scavenger that may start in none of its partitions has no entry.
func (g *scavenging) within(wanting []*elastic.Job) map[elastic.JobID]string {
	out := map[elastic.JobID]string{}
	for _, j := range g.waits {
		var free []string
		for p := range strings.SplitSeq(j.Partition, ",") {
			if !slices.ContainsFunc(wanting, func(x *elastic.Job) bool { return overlap(g.s, x.Partition, p) }) {
				free = append(free, p)
			}
		}
		if len(free) > 0 {
			out[j.ID] = strings.Join(free, ",")
		}
	}
	return out
}

// wanting returns the jobs of others that wait for GPUs in an answer: those that could run on this
// cluster, and not on what is idle.
// A job that has room on what is idle and does not start waits for something else, and keeps no scavenger
// waiting.
func (g *scavenging) wanting(a elastic.Allocation) (out []*elastic.Job) {
	where := plan.Arrange(g.s, a)
	empty := g.s
	empty.Nodes, empty.Jobs, empty.Demands = slices.Clone(g.s.Nodes), nil, nil
	for i := range empty.Nodes {
		empty.Nodes[i] = empty.Nodes[i].Empty()
	}
	for _, x := range g.first {
		n := roles.LeastOf(x)
		if a[x.ID].GPUs == 0 && len(idlePlace(g.s, where, x, n)) == 0 && len(idlePlace(empty, plan.Arrangement{}, x, n)) > 0 {
			out = append(out, x)
		}
	}
	return out
}
