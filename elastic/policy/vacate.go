package policy

import (
	"maps"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// vacate is applied to the answer of every policy. The nodes of an edge pool belong to other
// work: a job of sluice that runs on one leaves it if an ordinary job waits for it, or if
// Slurm starts nothing new on it (it is drained, or reserved). It moves to another of its
// partitions if there is room, at the largest size up to its own that fits; else it saves and
// waits again. A node that another job reported as unfit is not left: a user's report stops
// nobody's running job. It is pure.
// Nodes that take nothing new come first. The ordinary jobs follow in the order of Snapshot.Demands, each
// judged by itself: GPUs that were left for one count as free for the next.
func vacate(s elastic.Snapshot, a elastic.Allocation) elastic.Allocation {
	if len(s.Edges) == 0 {
		return a
	}
	v := &vacating{s: s, a: a, where: plan.Arrange(s, a)}
	for i := range s.Jobs {
		if j := &s.Jobs[i]; v.onEdge(j) && v.mayLeave(j) {
			if n := v.node(j.Place[0].Node); n != nil && !n.Usable && !n.Why.OfSluice() {
				v.leave(j, reason.TakesNothingNew{Node: n.Name, State: n.Why.State, Note: n.Why.Note, Until: n.Why.Until})
			}
		}
	}
	for _, d := range s.Demands {
		v.makeRoom(d)
	}
	return v.a
}

// vacating is the state of one decision about edge pools.
// a and where MUST agree: where is plan.Arrange of a.
type vacating struct {
	s     elastic.Snapshot
	a     elastic.Allocation
	where plan.Arrangement
}

// onEdge reports whether the job runs on a node that it may use only as one of an edge pool.
// A job on an edge node that also is in an ordinary partition of its list is not on an edge: it may be
// there as any other job. A job on several nodes never is, since an edge pool gives one.
func (v *vacating) onEdge(j *elastic.Job) bool {
	if len(j.Place) != 1 || j.Phase != elastic.Running {
		return false
	}
	n, edge := v.node(j.Place[0].Node), false
	for p := range strings.SplitSeq(j.Partition, ",") {
		switch {
		case n == nil || !n.In(p):
		case !v.s.Edges[p]:
			return false
		default:
			edge = true
		}
	}
	return edge
}

// mayLeave reports whether the job can be moved, and the decision leaves it where it is.
// The job MUST be on one node (onEdge).
func (v *vacating) mayLeave(j *elastic.Job) bool {
	is, _ := (&roles.Subject{Job: *j, At: j.Place, Now: j.GPUs()}).Classify(&v.s)
	return is == roles.Movable && v.where.Target[j.ID].On(j.Place[0].Node) > 0
}

// node returns the node of this name, of the snapshot's inventory; nil if there is none. O(nodes).
func (v *vacating) node(name string) *nodes.Node {
	for i := range v.s.Nodes {
		if v.s.Nodes[i].Name == name {
			return &v.s.Nodes[i]
		}
	}
	return nil
}

// makeRoom makes jobs leave so that an ordinary job has the GPUs that it waits for: the last
// started job whose leaving is enough, else several, without the earliest started that are not
// needed. If not even all of them are enough, none leaves.
// Nothing is done where the job finds its GPUs after the decision anyway, or where Slurm will not find them
// even without all of these jobs: a job that leaves in vain has lost its GPUs for nothing.
func (v *vacating) makeRoom(d elastic.Demand) {
	var inWay []*elastic.Job
	for i := range v.s.Jobs {
		j := &v.s.Jobs[i]
		if v.onEdge(j) && v.mayLeave(j) && v.node(j.Place[0].Node).InAny(d.Partition) {
			inWay = append(inWay, j)
		}
	}
	if len(inWay) == 0 || v.fits(d, nil) {
		return
	}
	slices.SortStableFunc(inWay, func(x, y *elastic.Job) int { return y.Started.Compare(x.Started) })
	for k := range inWay {
		if v.fits(d, inWay[k:k+1]) { // one is enough
			inWay = inWay[k : k+1]
			break
		}
	}
	if !v.fits(d, inWay) {
		return
	}
	for len(inWay) > 1 && v.fits(d, inWay[:len(inWay)-1]) {
		inWay = inWay[:len(inWay)-1]
	}
	for _, j := range inWay {
		v.leave(j, reason.OrdinaryWaits{Job: int64(d.ID), Node: j.Place[0].Node})
	}
}

// fits reports whether the ordinary job would find its GPUs after the decision without these
// jobs.
// Jobs count at the targets of the decision, not where they are, so that GPUs which others give back count
// as free. gone may be nil.
func (v *vacating) fits(d elastic.Demand, gone []*elastic.Job) bool {
	var here, then []nodes.Load
	for i := range v.s.Jobs {
		j := &v.s.Jobs[i]
		here = append(here, j.Load(j.Place))
		if !slices.ContainsFunc(gone, func(g *elastic.Job) bool { return g.ID == j.ID }) {
			then = append(then, j.Load(v.where.Target[j.ID]))
		}
	}
	_, met := nodes.Reserve(nodes.With(nodes.Without(v.s.Nodes, here...), then...), []nodes.Want{d.Want()})
	return met[0]
}

// leave moves the job elsewhere, or makes it wait.
// It moves only if all others then get as many GPUs as before. Unlike parking, leaving needs no
// Limits.Preempt (Decision.Leaves): the GPUs are not sluice's to keep.
func (v *vacating) leave(j *elastic.Job, why reason.Reason) {
	next := maps.Clone(v.a)
	if to := v.otherPlace(j); len(to) > 0 {
		next[j.ID] = elastic.Decision{GPUs: to.GPUs(), Place: to, Why: reason.MovesTo{To: to, GPUs: to.GPUs(), Because: why}}
		if after := plan.Arrange(v.s, next); after.Target[j.ID].Equal(to) && othersUnchanged(v.s, v.where, after, j.ID, next[j.ID]) {
			v.a, v.where = next, after
			return
		}
	}
	next[j.ID] = elastic.Decision{Leaves: true, Why: reason.LeavesEdge{Because: why}}
	v.a, v.where = next, plan.Arrange(v.s, next)
}

// otherPlace returns a place for the job outside its edge pool's node, beside what others are
// bound to and ordinary jobs wait for; empty if there is none.
// The largest size up to the present one that fits is taken. Other edge pools are not tried.
func (v *vacating) otherPlace(j *elastic.Job) nodes.Placement {
	elsewhere := *j
	var rest []string
	for p := range strings.SplitSeq(j.Partition, ",") {
		if !v.s.Edges[p] {
			rest = append(rest, p)
		}
	}
	if len(rest) == 0 {
		return nil
	}
	elsewhere.Partition = strings.Join(rest, ",")
	sizes := j.Spec.Options(j.GPUs())
	for k := len(sizes) - 1; k >= 0; k-- {
		if to := idlePlace(v.s, v.where, &elsewhere, sizes[k]); len(to) > 0 {
			return to
		}
	}
	return nil
}
