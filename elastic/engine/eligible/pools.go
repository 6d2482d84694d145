package eligible

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// An edge pool is a partition of single servers: a job runs on one node of it at a time. In a
// snapshot each of its nodes is therefore a virtual partition, such as "lab@lab3".

// edges replaces edge pools in jobs' partitions by one virtual partition per node, after the
// other partitions. It MUST come AFTER Choose and reserve, and keeps the nodes that they left. An
// Edges of nil means that the site has no edge pools.
func (l *Look) edges(s *elastic.Snapshot) {
	if len(l.Edge) == 0 {
		return
	}
	s.Edges = map[string]bool{}
	made := map[string]string{} // results by list of partitions
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

// single makes a virtual partition of every node of the edge pools in a list. A node without GPUs
// gives none. If there is no node with GPUs at all, the list stays as it is.
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

// PartitionsOf returns the partitions in which the job may run. While it runs Slurm shows only the
// one it is in, and afterwards all again in another order, so that known is kept unless Slurm
// shows another set. told is the single partition that sluice wrote for a run; if Slurm shows
// that one, known is kept too. The set comes from Slurm and not from the comment, in which a
// user could name a partition that is closed to that user.
//
//	known      told   Slurm shows         result
//	gpu,lab    -      lab, running        gpu,lab: it runs in one of them
//	gpu,lab    -      lab,gpu, pending    gpu,lab: the same set
//	gpu,lab    -      lab, pending        lab: its user changed it
//	gpu,lab    lab    lab, pending        gpu,lab: sluice wrote the one
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

// OpenTo returns the job with its partitions reduced to those that would start it again and the one
// in which it runs. If none would, it keeps all of them. sj is a copy, and only its Partition differs
// in the result. If limits are not known, or the job has one partition, nothing is left out: a closed
// partition then becomes a cap with its reason (partitionRules).
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

// Within returns the partition to write for a run of a job with several partitions on named nodes:
// a single one that has all of the nodes, since with several only Slurm's backfill would start
// the job there. Of several it is the one with the highest PriorityTier, as in Slurm, and the
// first among equals. Slurm may refuse the job there for a reason that sluice cannot read
// (AllowGroups): after each failed try the next partition is used, and after the last one all
// together; fell is the number of failed tries. one is what to write; "" = nothing. told is the
// partition if only one is written; the record then keeps the full list. all is the full list from
// the record. names are nil if Slurm is to choose the nodes; then the full list is written. For
// example, with two partitions that have all of the nodes, fell = 0 gives the first, 1 the second, 2
// both together, and 3 the first again. The record MUST be saved with the full list BEFORE one is
// written, since Slurm then shows only that one.
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
