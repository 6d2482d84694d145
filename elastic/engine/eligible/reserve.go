package eligible

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// A reservation excludes every job that is not in it and whose time limit reaches into it; Slurm
// leaves such a job pending. A job that was submitted into a reservation may use only its
// nodes. A job that may not use all nodes of its partition therefore gets a virtual
// partition, named after the partition and the reservations, such as "gpu@maint".

// reserve restricts jobs to the nodes that reservations leave them. It is skipped if there are no
// reservations, and for a job that none concerns, so that its partition stays the one of other jobs.
func (l *Look) reserve(s *elastic.Snapshot) {
	limits := l.Site.Limits
	if len(limits.Reservations) == 0 {
		return
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		own, known := l.Own[j.ID]
		if !known {
			continue
		}
		kept := keptFrom(limits, slurm.JobID(j.ID), own.Slurm.TimeLimit, s.Now)
		if kept.name == "" || !kept.concerns(s, j.Partition) {
			continue
		}
		j.Partition, j.Kept = kept.partition(s, j.Partition), reason.Join(j.Kept, kept.why)
	}
}

// kept is what reservations leave a job. name is also the part of the virtual partition: jobs with
// the same name and partition share it. Own reservations are named as they are, others with a "-"
// before, and a "/" is between two: "mine/-maint" is a job of mine that maint excludes, and not one of
// a reservation that is called mine-maint.
type kept struct {
	name    string // of the reservations that concern it
	why     reason.Reason
	nodes   map[string]bool // excluded
	only    map[string]bool // the only nodes allowed; nil = all that are not excluded
	waiting bool            // its own reservation has not begun
}

// keptFrom returns what the reservations leave a job with that time limit; 0 = none, which reaches
// into every reservation that is not over. A job's own reservation does not exclude it, also if it is
// over.
func keptFrom(l slurm.Limits, id slurm.JobID, limit time.Duration, now time.Time) kept {
	k := kept{nodes: map[string]bool{}}
	var names []string
	var why reason.Reserved
	own := l.Reserved[id]
	for _, r := range l.Reservations {
		switch {
		case r.Name == own:
			k.only, k.waiting = map[string]bool{}, now.Before(r.Start)
			for _, n := range r.Nodes {
				k.only[n] = true
			}
			names = append(names, r.Name)
			why.Of = append(why.Of, reason.InReservation{Reservation: r.Name, Nodes: slurm.Compress(r.Nodes)})
		case now.Before(r.End) && (limit == 0 || now.Add(limit).After(r.Start)):
			for _, n := range r.Nodes {
				k.nodes[n] = true
			}
			names = append(names, "-"+r.Name)
			why.Of = append(why.Of, reason.ReservationKeeps{Reservation: r.Name, Nodes: slurm.Compress(r.Nodes), From: r.Start, To: r.End})
		}
	}
	why.NoLimit = limit == 0 && len(k.nodes) > 0
	k.name, k.why = strings.Join(names, "/"), why
	return k
}

// open reports whether the job may use the node.
func (k kept) open(node string) bool {
	return !k.waiting && !k.nodes[node] && (k.only == nil || k.only[node])
}

// concerns reports whether reservations change what the job may use in the partitions.
func (k kept) concerns(s *elastic.Snapshot, partitions string) bool {
	if k.only != nil || k.waiting {
		return true
	}
	for _, p := range strings.Split(partitions, ",") {
		if slices.ContainsFunc(s.Nodes, func(n nodes.Node) bool { return n.In(p) && k.nodes[n.Name] }) {
			return true
		}
	}
	return false
}

// partition makes virtual partitions of the nodes that are left, and returns their names. A partition
// of which no node is left has a name and no node: the job waits with the reason. A node that becomes
// usable does so for the whole snapshot: jobs outside of the reservation are kept from it by
// keptFrom, as it has begun.
func (k kept) partition(s *elastic.Snapshot, partitions string) string {
	names := strings.Split(partitions, ",")
	for i, p := range names {
		names[i] = nodes.PartOf(p, k.name).String()
		for n := range s.Nodes {
			node := &s.Nodes[n]
			if !node.In(p) || !k.open(node.Name) || node.In(names[i]) {
				continue
			}
			node.Partitions = append(slices.Clone(node.Partitions), names[i])
			if k.only[node.Name] && (node.Why.State == "RESERVED" || node.Why.State == "MAINT") {
				node.Usable, node.Why = true, nodes.Unusable{} // usable for jobs of the reservation
			}
		}
	}
	return strings.Join(names, ",")
}
