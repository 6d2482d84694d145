package plan

import (
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// mostContenders bounds how many jobs one plan lets contend.
const mostContenders = 16

// contend returns the waiting jobs that Slurm is to start in its own order, each with the
// ordinary job because of which it has to: one of lower priority that waits for GPUs that the
// job could use. Slurm does not start a deferred job, so it would start the ordinary one
// whenever GPUs become free. Once its begin time has come the job waits in Slurm at its
// minimum, which it was submitted with, and is given room as ordinary jobs are.
//
// Only a job that sluice never wrote a size to is: it has its minimum then, on any nodes. Its
// priority counts without its age, which Slurm does not know of a deferred job. It MUST be
// called after the plan's moves are known: a job that starts by itself need not contend.
func contend(s *elastic.Snapshot, opened []*elastic.Intent) map[elastic.JobID]elastic.JobID {
	if len(s.Demands) == 0 {
		return nil
	}
	out := map[elastic.JobID]elastic.JobID{}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if opened[i] != nil || len(out) == mostContenders || !mayContend(s, j) {
			continue
		}
		k := slices.IndexFunc(s.Demands, func(d elastic.Demand) bool {
			return 0 < d.Priority && d.Priority < j.Priority-j.Aged && slices.ContainsFunc(s.Nodes, func(n nodes.Node) bool {
				return n.Usable && n.InAny(j.Partition) && n.InAny(d.Partition)
			})
		})
		if k >= 0 {
			out[j.ID] = s.Demands[k].ID
		}
	}
	return out
}

// mayContend reports whether Slurm could start the job as it was submitted, and nothing but its
// begin time keeps it from that: nothing either that Slurm does not know of, such as several types of
// GPU that it accepts, nodes with unfit GPUs, or edge pools.
// A job that Slurm refused to start lately is not left to Slurm either.
func mayContend(s *elastic.Snapshot, j *elastic.Job) bool {
	_, moving := s.Intent(j.ID)
	switch {
	case moving || j.Phase != elastic.Waiting || j.UserHold || j.Directive.Hold || j.Directive.Pin > 0:
		return false
	case j.WaitsOutside() != nil || j.Lingers || s.Now.Before(j.Rest) || j.Refused.Start.Times > 0:
		return false
	// Only sluice knows how many tasks of its array may run, and keeps licenses for jobs between two sizes.
	case j.Spec.Array.Limit > 0 || len(j.Licenses) > 0:
		return false
	// It may have only what no other wants; it is admitted by its deadline; it has run.
	case j.Scavenger || !j.Spec.Deadline.IsZero() || j.Incarnation > 0 || !j.Begun.IsZero():
		return false
	}
	return len(j.Spec.Types) < 2 && !slices.ContainsFunc(s.Nodes, func(n nodes.Node) bool {
		return (n.Why.State == nodes.Unfit || n.Why.State == nodes.Returned) && n.InAny(j.Partition)
	}) && !slices.ContainsFunc(strings.Split(j.Partition, ","), func(p string) bool { return s.Edges[p] })
}

// noteContenders lists the jobs that are to contend in the plan, in the order of the snapshot.
func noteContenders(p *elastic.Plan, contenders map[elastic.JobID]elastic.JobID) {
	for i := range p.Reasons {
		id := p.Reasons[i].Job
		if ordinary, ok := contenders[id]; ok {
			p.Contend = append(p.Contend, id)
			p.Reasons[i].Why = reason.Contends{Job: int64(ordinary)}
		}
	}
}
