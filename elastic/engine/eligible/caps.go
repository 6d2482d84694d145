package eligible

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// Caps returns the limits for decisions: from recent refusals of single jobs, from the %N of job
// arrays, and the site's. It also sets Refused of each job. Refused MUST have set Idle in Own's
// refusals BEFORE. The cost is O(jobs x rules of a job), with all of Slurm's jobs.
func (l *Look) Caps(s *elastic.Snapshot) []elastic.Cap {
	return slices.Concat(l.refused(s), elastic.ArrayCaps(s), l.site(s))
}

// site converts the site's limits to caps: each with the jobs of sluice to which it applies and
// the usage of ordinary jobs of the same group. If limits have never been read, jobs keep
// their size and start on their minimum, which Slurm accepted at submission. Without a Limiter there
// are no limits, and no caps. Own jobs are entered at the partitions that would start them; ordinary
// jobs as Slurm shows them, and only while they hold nodes.
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

// unread caps the named jobs (nil = all) at their size, or their minimum. Such a cap of each job
// alone can never stop it, and permits no growth. An empty map names no job.
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

// PerNode reduces the CPUs of nodes to their partition's MaxCPUsPerNode, so that no placement
// is chosen on a node where the partition's share is used up. For a node in several partitions
// Slurm does not show which partition uses its CPUs: there the limit is applied per job only, and
// Slurm may let the job wait. It changes the nodes of list in place, which MUST be the snapshot's
// own.
func PerNode(l slurm.Limits, list []nodes.Node) {
	most := map[string]int{}
	for _, p := range l.Partitions {
		most[p.Name] = p.CPUsPerNode
	}
	for i := range list {
		if n := &list[i]; len(n.Partitions) == 1 && most[n.Partitions[0]] > 0 {
			n.CPUs = min(n.CPUs, max(most[n.Partitions[0]], n.CPUsUsed)) // never below the CPUs in use
		}
	}
}

// Spread sets each job's MaxNodes from the caps on nodes, so that no placement uses more. It only
// lowers MaxNodes, in which 0 means any number; a limit of 0 nodes is left to the cap.
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
