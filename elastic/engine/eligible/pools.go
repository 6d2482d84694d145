package eligible

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// An edge pool is a partition of single servers: a job has one node of it at a time. So
// each of its nodes is a partition of its own to sluice's jobs, as in "lab@lab3", which
// exists in a snapshot only.

// edges gives jobs the nodes of edge pools one by one, behind their other partitions.
func (l *Look) edges(s *elastic.Snapshot) {
	if len(l.Edge) == 0 {
		return
	}
	s.Edges = map[string]bool{}
	made := map[string]string{} // what became of a list of partitions
	for i := range s.Jobs {
		j := &s.Jobs[i]
		list, known := made[j.Partition]
		if !known {
			list = l.single(s, j.Partition)
			made[j.Partition] = list
		}
		j.Partition = list
	}
}

// single makes a partition of every node of the edge pools in a list.
func (l *Look) single(s *elastic.Snapshot, list string) string {
	var main, edge []string
	for p := range strings.SplitSeq(list, ",") {
		if !l.Edge[nodes.ParsePartition(p).Slurm] {
			main = append(main, p)
			continue
		}
		for i := range s.Nodes {
			n := &s.Nodes[i]
			if n.GPUs == 0 || !n.In(p) {
				continue
			}
			own := nodes.PartOf(p, n.Name).String()
			if !n.In(own) {
				n.Partitions = append(slices.Clone(n.Partitions), own)
			}
			s.Edges[own] = true
			edge = append(edge, own)
		}
	}
	if len(main)+len(edge) == 0 {
		return list
	}
	return strings.Join(append(main, edge...), ",")
}

// PartitionsOf is which partitions the job may be in: while it runs Slurm names the one it
// is in, and after that all again, that one first; so what is known of it stands as long as
// it is no other. The one that sluice told Slurm, for a run on nodes of it, stands for all
// that are known. These come from Slurm and not from the comment, where a user could name
// a partition that is closed to him.
func PartitionsOf(known, told string, sj slurm.Job) string {
	if told != "" && sj.Partition == told && slices.Contains(strings.Split(known, ","), told) {
		return known
	}
	before, now := strings.Split(known, ","), strings.Split(sj.Partition, ",")
	same := len(before) == len(now) || sj.State != slurm.Pending
	for _, p := range now {
		same = same && slices.Contains(before, p)
	}
	if same {
		return known
	}
	return sj.Partition
}

// OpenTo is the job in those of its partitions that would start it again, and in the one
// where it runs; in all of them where none would.
func (s Site) OpenTo(sj slurm.Job, partitions string) slurm.Job {
	in := sj.Partition
	sj.Partition = partitions
	if !strings.Contains(partitions, ",") || !s.Known {
		return sj
	}
	anyTime := slices.ContainsFunc(s.QOS, func(q slurm.QOS) bool { return q.Name == sj.QOS && q.AnyTime })
	var open []string
	for name := range strings.SplitSeq(partitions, ",") {
		p, known := s.Partition(name)
		runs := sj.State != slurm.Pending && in == name
		if runs || !known || closed(p, sj, anyTime) == "" {
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		sj.Partition = strings.Join(open, ",")
	}
	return sj
}

// Within is what of its several partitions Slurm is told for a job's run on named nodes: one
// that has them all, and that one alone, for else only Slurm's backfill would start the job
// there. As with Slurm it is of the highest PriorityTier, and among equals the first. Slurm
// may refuse the job there for what sluice cannot read (AllowGroups): with each try that came
// to nothing the next one has its turn, after the last all of them together; fell is how many
// did. one is what to write, "" nothing; told is not empty where it is not all of them, which
// then stand in the record alone.
func (s Site) Within(sj *slurm.Job, all string, names []string, fell int, inventory []slurm.Node) (one, told string) {
	if !strings.Contains(all, ",") {
		return "", ""
	}
	var have []string
	if len(names) > 0 {
		have = slices.DeleteFunc(strings.Split(s.OpenTo(*sj, all).Partition, ","), func(p string) bool { return !hasAll(inventory, p, names) })
	}
	slices.SortStableFunc(have, func(a, b string) int {
		above, _ := s.Partition(a)
		below, _ := s.Partition(b)
		return below.Tier - above.Tier
	})
	if turn := fell % (len(have) + 1); turn < len(have) {
		return have[turn], have[turn]
	}
	return all, ""
}

// hasAll reports whether all those nodes are in the partition.
func hasAll(inventory []slurm.Node, partition string, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(inventory, func(n slurm.Node) bool { return n.Name == name && slices.Contains(n.Partitions, partition) })
	})
}
