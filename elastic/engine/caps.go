package engine

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// caps are the limits that decisions know: what Slurm refused single jobs lately, the %N of
// job arrays, and the site's own.
func (e *Engine) caps(v view, s *elastic.Snapshot) []elastic.Cap {
	return slices.Concat(e.refusedCaps(s), elastic.ArrayCaps(s), e.siteCaps(v, s))
}

// siteCaps turns the site's limits into what decisions know: each limit with the jobs of
// sluice it concerns and what ordinary jobs of the same group have of it. Where no
// limit could be read yet, jobs keep what they have and start on their minimum, which
// their users were allowed.
func (e *Engine) siteCaps(v view, s *elastic.Snapshot) []elastic.Cap {
	if e.cfg.Limiter == nil {
		return nil
	}
	if !e.limits.known {
		return unread(s.Jobs, nil)
	}
	b := newCapBook(e.limits.sorted())
	b.edge = e.cfg.Edge
	for _, sj := range v.jobs {
		if js := e.byID[elastic.JobID(sj.ID)]; js != nil && js.seen && !js.disown && js.rec.Ended.IsZero() {
			b.concern(e.openTo(js))
		}
	}
	for _, sj := range v.jobs {
		if onNodes(sj) && !sj.Completing {
			b.count(sj)
		}
	}
	return append(b.all(), unread(s.Jobs, b.unknown)...)
}

// unread caps the jobs named, nil being all, at what they have, or their minimum.
func unread(jobs []elastic.Job, named map[elastic.JobID]bool) []elastic.Cap {
	var out []elastic.Cap
	for _, j := range jobs {
		if named != nil && !named[j.ID] {
			continue
		}
		out = append(out, elastic.Cap{
			Name: "what it has, until the site's limits can be read", Of: elastic.GPUs, Each: true,
			Most: max(j.Spec.Min, j.GPUs()), Jobs: map[elastic.JobID]bool{j.ID: true},
		})
	}
	return out
}

// perNode leaves the nodes no more CPUs than their partition may have on one
// (MaxCPUsPerNode), so that no place is chosen there that others of it have filled. Of a
// node in several partitions nothing tells whose its CPUs are: there a job alone is kept
// within the limit, and it may have to wait.
func perNode(l slurm.Limits, list []nodes.Node) {
	most := map[string]int{}
	for _, p := range l.Partitions {
		most[p.Name] = p.CPUsPerNode
	}
	for i := range list {
		if n := &list[i]; len(n.Partitions) == 1 && most[n.Partitions[0]] > 0 {
			n.CPUs = min(n.CPUs, max(most[n.Partitions[0]], n.CPUsUsed)) // a lowered limit overfills nothing
		}
	}
}

// spread tells each job on how many nodes it may be, so that places are looked for on
// no more.
func spread(s *elastic.Snapshot) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		for k := range s.Caps {
			c := &s.Caps[k]
			if c.Of == elastic.Nodes && c.Each && c.Most > 0 && c.Jobs[j.ID] && (j.MaxNodes == 0 || c.Most < j.MaxNodes) {
				j.MaxNodes = c.Most
			}
		}
	}
}
