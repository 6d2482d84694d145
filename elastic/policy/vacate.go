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
// nobody's running job. For the same reason a job that waits does not start on GPUs of such a node for which
// an ordinary job waits: several jobs that leave for one ordinary job are stopped at different times, and
// each would take the GPUs that it has just left. It is pure.
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
		for range s.Jobs { // a start that had no place before may have found it in the room that was made
			if !v.makeRoom(d) {
				break
			}
		}
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
func (v *vacating) onEdge(j *elastic.Job) bool {
	return j.Phase == elastic.Running && v.edge(j, j.Place)
}

// edge reports whether the place is a node that the job may use only as one of an edge pool.
// A node that also is in an ordinary partition of the job's list is not at the edge: the job may be
// there as any other job. Several nodes never are, since an edge pool gives one.
func (v *vacating) edge(j *elastic.Job, at nodes.Placement) bool {
	if len(at) != 1 {
		return false
	}
	n, edge := v.node(at[0].Node), false
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

// mayWait reports whether the decision starts the job on a node that it may use only as one of an edge pool.
func (v *vacating) mayWait(j *elastic.Job) bool {
	if j.Phase != elastic.Waiting || !v.edge(j, v.where.Target[j.ID]) {
		return false
	}
	is, _ := (&roles.Subject{Job: *j}).Classify(&v.s)
	return is == roles.Waiting
}

// makeRoom makes jobs give way, so that an ordinary job has the GPUs that it waits for. Jobs that were to start
// do so first, since that stops nothing; only if all of them are not enough do others leave.
// Nothing is done where the job finds its GPUs after the decision anyway, or where Slurm will not find them
// even without all of these jobs: a job that leaves in vain has lost its GPUs for nothing. While the last run of
// a job is cleaned up nobody knows whether Slurm counts its GPUs as used: then none starts on them, and none
// leaves unless its GPUs are needed in either case. It reports whether a job gave way.
func (v *vacating) makeRoom(d elastic.Demand) bool {
	var starting, there []*elastic.Job
	for i := range v.s.Jobs {
		switch j := &v.s.Jobs[i]; {
		case v.mayWait(j) && v.node(v.where.Target[j.ID][0].Node).InAny(d.Partition):
			starting = append(starting, j)
		case v.onEdge(j) && v.mayLeave(j) && v.node(j.Place[0].Node).InAny(d.Partition):
			there = append(there, j)
		}
	}
	if len(starting)+len(there) == 0 || v.fits(d, nil, held) {
		return false
	}
	slices.Reverse(starting) // the last of the queue first
	slices.SortStableFunc(there, func(x, y *elastic.Job) int { return y.Started.Compare(x.Started) })
	inWay := v.least(d, starting)
	if inWay == nil {
		inWay = v.least(d, append(starting, there...))
	}
	gaveWay, now := false, v.fits(d, inWay, shown)
	for _, j := range inWay {
		switch {
		case j.Phase == elastic.Waiting:
			v.wait(j, d)
		case now:
			v.leave(j, reason.OrdinaryWaits{Job: int64(d.ID), Node: j.Place[0].Node})
		default:
			continue // once it is cleaned up
		}
		gaveWay = true
	}
	return gaveWay
}

// least returns which of the jobs have to give way to the ordinary job: the first whose GPUs are enough, else
// several, without those that are not needed, the last of which are spared first. nil if not even all of them
// are enough. jobs is not changed.
func (v *vacating) least(d elastic.Demand, jobs []*elastic.Job) []*elastic.Job {
	if !v.fits(d, jobs, held) {
		return nil
	}
	for k := range jobs {
		if v.fits(d, jobs[k:k+1], held) {
			return jobs[k : k+1]
		}
	}
	need := slices.Clone(jobs)
	for k := len(need) - 1; k >= 0; k-- {
		if fewer := slices.Delete(slices.Clone(need), k, k+1); v.fits(d, fewer, held) {
			need = fewer
		}
	}
	return need
}

// fits reports whether the ordinary job would find its GPUs after the decision without these
// jobs. at says where Slurm counts what a job has now: held or shown.
// Jobs count at the targets of the decision, not where they are, so that GPUs which others give back count
// as free. gone may be nil.
func (v *vacating) fits(d elastic.Demand, gone []*elastic.Job, at func(elastic.Snapshot, *elastic.Job) nodes.Placement) bool {
	var here, then []nodes.Load
	for i := range v.s.Jobs {
		j := &v.s.Jobs[i]
		here = append(here, j.Load(at(v.s, j)))
		if !slices.ContainsFunc(gone, func(g *elastic.Job) bool { return g.ID == j.ID }) {
			then = append(then, j.Load(v.where.Target[j.ID]))
		}
	}
	_, met := nodes.Reserve(nodes.With(nodes.Without(v.s.Nodes, here...), then...), []nodes.Want{d.Want()})
	return met[0]
}

// shown is held where Slurm counts nothing any more for a last run that it cleans up.
func shown(_ elastic.Snapshot, j *elastic.Job) nodes.Placement { return j.Place }

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

// wait makes a job that was to start do so elsewhere, or wait on.
// An admission is kept: when the job starts is decided again at the next look. One that is to start in an edge
// pool because its deadline is met only there does not start elsewhere.
func (v *vacating) wait(j *elastic.Job, d elastic.Demand) {
	next, was, at := maps.Clone(v.a), v.a[j.ID], v.where.Target[j.ID]
	if len(at) == 0 {
		return // another gave way, and it has no place any more
	}
	if to := v.elsewhere(j, []int{was.GPUs}); len(to) > 0 && !v.s.Edges[was.Within] {
		next[j.ID] = elastic.Decision{GPUs: was.GPUs, Place: to, Why: was.Why, Promised: was.Promised, Ends: was.Ends, Due: was.Due}
		if after := plan.Arrange(v.s, next); after.Target[j.ID].Equal(to) && othersUnchanged(v.s, v.where, after, j.ID, next[j.ID]) {
			v.a, v.where = next, after
			return
		}
	}
	next[j.ID] = elastic.Decision{Why: reason.Waits{GPUs: roles.LeastOf(j), Because: reason.OrdinaryWaits{Job: int64(d.ID), Node: at[0].Node}}, Promised: was.Promised, Ends: was.Ends, Due: was.Due}
	v.a, v.where = next, plan.Arrange(v.s, next)
}

// otherPlace returns a place for the job outside its edge pool's node, beside what others are
// bound to and ordinary jobs wait for; empty if there is none.
// The largest size up to the present one that fits is taken.
func (v *vacating) otherPlace(j *elastic.Job) nodes.Placement {
	return v.elsewhere(j, j.Spec.Options(j.GPUs()))
}

// elsewhere returns a place in the job's partitions that are not edge pools, of the largest size that fits, the
// last in sizes; empty if there is none.
func (v *vacating) elsewhere(j *elastic.Job, sizes []int) nodes.Placement {
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
	for k := len(sizes) - 1; k >= 0; k-- {
		if to := idlePlace(v.s, v.where, &elsewhere, sizes[k]); len(to) > 0 {
			return to
		}
	}
	return nil
}
