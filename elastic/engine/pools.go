package engine

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// An edge pool is a partition of single servers: a job has one node of it at a time. So
// each of its nodes is a partition of its own to sluice's jobs, as in "lab@lab3", which
// exists in a snapshot only.

// edges gives jobs the nodes of edge pools one by one, behind their other partitions.
func (e *Engine) edges(s *elastic.Snapshot) {
	if len(e.cfg.Edge) == 0 {
		return
	}
	s.Edges = map[string]bool{}
	made := map[string]string{} // what became of a list of partitions
	for i := range s.Jobs {
		j := &s.Jobs[i]
		list, known := made[j.Partition]
		if !known {
			list = e.single(s, j.Partition)
			made[j.Partition] = list
		}
		j.Partition = list
	}
}

// single makes a partition of every node of the edge pools in a list.
func (e *Engine) single(s *elastic.Snapshot, list string) string {
	var main, edge []string
	for p := range strings.SplitSeq(list, ",") {
		if name, _, _ := strings.Cut(p, "@"); !e.cfg.Edge[name] {
			main = append(main, p)
			continue
		}
		for i := range s.Nodes {
			n := &s.Nodes[i]
			if n.GPUs == 0 || !n.In(p) {
				continue
			}
			own := p + "@" + n.Name
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

// partitionsOf is which partitions the job may be in: while it runs Slurm names the one it
// is in, and after that all again, that one first; so what is known of it stands as long as
// it is no other. The one that sluice told Slurm, for a run on nodes of it, stands for all
// that are known. These come from Slurm and not from the comment, where a user could name
// a partition that is closed to him.
func partitionsOf(known, told string, sj slurm.Job) string {
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

// openTo is the job in those of its partitions that would start it again, and in the one
// where it runs; in all of them where none would.
func (e *Engine) openTo(js *jobState) slurm.Job {
	sj := js.slurm
	sj.Partition = js.rec.Partition
	if !strings.Contains(sj.Partition, ",") || !e.limits.known {
		return sj
	}
	var open []string
	for name := range strings.SplitSeq(sj.Partition, ",") {
		at := slices.IndexFunc(e.limits.Partitions, func(p slurm.Partition) bool { return p.Name == name })
		runs := js.slurm.State != slurm.Pending && js.slurm.Partition == name
		if runs || at < 0 || closed(e.limits.Partitions[at], sj) == "" {
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		sj.Partition = strings.Join(open, ",")
	}
	return sj
}
