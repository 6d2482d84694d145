package eligible

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// Caps are the limits that decisions know: what Slurm refused single jobs lately, the %N of
// job arrays, and the site's own. It notes in each job what it was refused.
func (l *Look) Caps(s *elastic.Snapshot) []elastic.Cap {
	return slices.Concat(l.refused(s), elastic.ArrayCaps(s), l.site(s))
}

// site turns the site's limits into what decisions know: each limit with the jobs of
// sluice it concerns and what ordinary jobs of the same group have of it. Where no
// limit could be read yet, jobs keep what they have and start on their minimum, which
// their users were allowed.
func (l *Look) site(s *elastic.Snapshot) []elastic.Cap {
	if !l.Limited {
		return nil
	}
	if !l.Site.Known {
		return unread(s.Jobs, nil)
	}
	b := newCapBook(l.Site.sorted)
	for _, sj := range l.Jobs {
		if own := l.Own[elastic.JobID(sj.ID)]; own.Counts {
			b.concern(l.Site.OpenTo(*own.Slurm, own.Partitions))
		}
	}
	for _, sj := range l.Jobs {
		if sj.OnNodes() && !sj.Completing {
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

// PerNode leaves the nodes no more CPUs than their partition may have on one
// (MaxCPUsPerNode), so that no place is chosen there that others of it have filled. Of a
// node in several partitions nothing tells whose its CPUs are: there a job alone is kept
// within the limit, and it may have to wait.
func PerNode(l slurm.Limits, list []nodes.Node) {
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

// Spread tells each job on how many nodes it may be, so that places are looked for on
// no more.
func Spread(s *elastic.Snapshot) {
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
