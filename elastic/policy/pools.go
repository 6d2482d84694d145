package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// byPools makes a policy that counts GPUs decide about jobs that could run in several pools:
// each node of an edge pool is one, all other nodes of a job's partitions together another. A
// job is decided about in its present pool or, if it waits, outside edge pools. One whose
// deadline cannot be met there, and one that finds no GPUs, is tried in its other pools. It is
// moved to another pool if that admits it, or gives it GPUs, and revokes no admission and takes
// no other job's GPUs but those of a later one that has not started. Each try is a full decision, so
// a decision takes up to 1 + attempts times as long. No job is tried where it would gain nothing if it
// were alone there.
func byPools(decide func(elastic.Snapshot) elastic.Allocation) func(elastic.Snapshot) elastic.Allocation {
	return func(s elastic.Snapshot) elastic.Allocation {
		return pooled(s, decide, func(*elastic.Job) bool { return true })
	}
}

// datesByPools is byPools for a policy that compares all places itself and plans by numbers of
// GPUs only for jobs with deadlines: only these are limited to one pool.
func datesByPools(decide func(elastic.Snapshot) elastic.Allocation) func(elastic.Snapshot) elastic.Allocation {
	return func(s elastic.Snapshot) elastic.Allocation {
		return pooled(s, decide, func(j *elastic.Job) bool { return !j.Spec.Deadline.IsZero() })
	}
}

// pooled decides about all jobs in their first pools, and then tries other pools: first for
// jobs with a deadline that were not admitted, earliest deadline first, then for waiting jobs
// without GPUs, in order of arrival.
//
// Deadlines come BEFORE waiting jobs, which have the attempts that are left. A try counts only if it admits, or
// starts, the job, and every job that was admitted still is. A try for a start counts only if those that lose
// their GPUs come later and have not started (overtakers).
func pooled(s elastic.Snapshot, decide func(elastic.Snapshot) elastic.Allocation, counts func(*elastic.Job) bool) elastic.Allocation {
	p := newPooling(s, decide, counts)
	if p == nil {
		return decide(s)
	}
	p.best = p.decided()
	for _, i := range p.order() {
		if d := p.best[s.Jobs[i].ID]; !s.Jobs[i].Spec.Deadline.IsZero() && !d.Promised {
			p.elsewhere(i, p.inTime, func(a elastic.Allocation) bool {
				return a[s.Jobs[i].ID].Promised && p.keepsAdmissions(a)
			})
		}
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		d := p.best[j.ID]
		if d.GPUs > 0 || j.Phase != elastic.Waiting {
			continue
		}
		if j.Spec.Deadline.IsZero() || j.Spec.Soft || d.Promised || !j.Spec.Deadline.After(s.Now) { // else only an admission would help it
			p.elsewhere(i, p.room, func(a elastic.Allocation) bool {
				return a[j.ID].GPUs > 0 && p.overtakers(i, a) && p.keepsAdmissions(a)
			})
		}
	}
	return p.answer()
}

// attempts bounds how many further decisions are tried in one decision.
const attempts = 12

// pooling is the state of one decision about pools.
// It lives for one decision. decide is asked with jobs whose partitions are those of one pool.
type pooling struct {
	snap   elastic.Snapshot
	decide func(elastic.Snapshot) elastic.Allocation
	pools  [][]string // by job, lists of partitions; a single one if it cannot, or may not, go elsewhere
	at     []int      // index into pools: where the job is decided about; MUST be that of best between tries
	best   elastic.Allocation
	left   int // attempts that are left
}

// newPooling returns nil if there is nothing to choose. Pools are chosen for the jobs that
// count accepts.
// A job that runs begins in the pool that holds its place, one that waits in the first of its list. The
// list of a job that is not to be moved between pools has one entry: all its partitions.
func newPooling(s elastic.Snapshot, decide func(elastic.Snapshot) elastic.Allocation, counts func(*elastic.Job) bool) *pooling {
	if len(s.Edges) == 0 {
		return nil
	}
	p := &pooling{snap: s, decide: decide, left: attempts, pools: make([][]string, len(s.Jobs)), at: make([]int, len(s.Jobs))}
	several := false
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if p.pools[i] = []string{j.Partition}; counts(j) {
			p.pools[i] = p.poolsOf(j.Partition)
		}
		if place := s.Committed(*j); len(place) > 0 {
			p.at[i] = max(0, slices.IndexFunc(p.pools[i], func(pool string) bool { return s.Holds(pool, place) }))
		}
		several = several || len(p.pools[i]) > 1
	}
	if !several {
		return nil
	}
	return p
}

// poolsOf splits a list of partitions into pools: first what is in no edge pool, then the nodes
// of edge pools, those with most free GPUs first.
// "gpu,lab@n1,lab@n2,cpu" with an idle lab@n2 and a full lab@n1 gives "gpu,cpu", "lab@n2", "lab@n1".
// With edge pools only, the one with most free GPUs comes first.
func (p *pooling) poolsOf(list string) []string {
	var main, edge []string
	free := map[string]int{}
	for name := range strings.SplitSeq(list, ",") {
		if !p.snap.Edges[name] {
			main = append(main, name)
			continue
		}
		edge = append(edge, name)
		for i := range p.snap.Nodes {
			if n := &p.snap.Nodes[i]; n.In(name) {
				free[name] += n.Free()
			}
		}
	}
	slices.SortStableFunc(edge, func(a, b string) int { return cmp.Compare(free[b], free[a]) })
	if len(main) > 0 {
		return append([]string{strings.Join(main, ",")}, edge...)
	}
	return edge
}

// order lists the jobs, earliest deadline first.
// Jobs without one have the zero time and come first; pooled passes over them.
func (p *pooling) order() []int {
	out := make([]int, len(p.snap.Jobs))
	for i := range out {
		out[i] = i
	}
	slices.SortStableFunc(out, func(a, b int) int {
		return p.snap.Jobs[a].Spec.Deadline.Compare(p.snap.Jobs[b].Spec.Deadline)
	})
	return out
}

// room reports whether the job accepts a size that the pool could give it.
func (p *pooling) room(j *elastic.Job, pool string) bool {
	gpus, _ := p.built(pool, j.Spec.Type())
	return len(j.Spec.Options(gpus)) > 0
}

// inTime reports whether the job could meet its deadline if it had the pool alone.
// It is a necessary condition that is cheap to check: no queue, no resize cost, the hoped-for speed. true
// where the work or the speed is not known. The job MUST have a deadline.
func (p *pooling) inTime(j *elastic.Job, pool string) bool {
	gpus, most := p.built(pool, j.Spec.Type())
	left, counted := j.Remaining()
	curve := j.Curve.On(p.snap.KindIn(j, pool))
	if !counted || curve.Samples() == 0 {
		return true // not known
	}
	within := j.Spec.Deadline.Sub(p.snap.Now).Seconds()
	return slices.ContainsFunc(j.Spec.Options(gpus), func(n int) bool {
		seconds, _ := curve.Hoped(speed.Shape{GPUs: n, Nodes: (n + most - 1) / most})
		return left*seconds < within
	})
}

// built returns how many GPUs of a type the usable nodes of a pool have, and how many the
// largest node has.
// kind "" counts GPUs of all types.
func (p *pooling) built(pool, kind string) (gpus, most int) {
	for i := range p.snap.Nodes {
		if n := &p.snap.Nodes[i]; n.Usable && n.InAny(pool) {
			gpus, most = gpus+n.Has(kind), max(most, n.Has(kind))
		}
	}
	return gpus, most
}

// elsewhere tries the job in its other pools for which suits holds, and keeps the first for
// which better holds.
// A job that is Fixed, rests, or runs at a pinned size is not tried. Each try is a full decision and takes
// one of the attempts. at is restored where no try is better, so that it stays that of best.
func (p *pooling) elsewhere(i int, suits func(*elastic.Job, string) bool, better func(elastic.Allocation) bool) {
	j := &roles.Subject{Job: p.snap.Jobs[i], Now: p.snap.Committed(p.snap.Jobs[i]).GPUs()}
	stays := j.Directive.Pin > 0 && j.Now > 0 // the pin of a waiting job is to a size, not to a pool
	if is, _ := j.Classify(&p.snap); is == roles.Fixed || stays || p.snap.Resting(&j.Job) {
		return
	}
	was := p.at[i]
	for k := range p.pools[i] {
		if k == was || p.left == 0 || !suits(&p.snap.Jobs[i], p.pools[i][k]) {
			continue
		}
		p.left--
		p.at[i] = k
		if a := p.decided(); better(a) {
			p.best = a
			return
		}
	}
	p.at[i] = was
}

// decided asks about every job in the pool where it is decided about. A job that runs elsewhere
// waits there to be started, and its GPUs are not free yet.
// The curve is that of the pool's GPU type, since throughput differs between types.
func (p *pooling) decided() elastic.Allocation {
	s := p.snap
	s.Jobs = slices.Clone(s.Jobs)
	for i := range s.Jobs {
		if len(p.pools[i]) < 2 {
			continue
		}
		j := &s.Jobs[i]
		j.Partition = p.pools[i][p.at[i]]
		j.Curve = j.Curve.On(s.KindIn(j, j.Partition))
		if p.runsElsewhere(i) {
			j.Place, j.Phase = nil, elastic.Waiting
		}
	}
	return p.decide(s)
}

// runsElsewhere reports whether the job runs outside the pool where it is decided about.
func (p *pooling) runsElsewhere(i int) bool {
	place := p.snap.Jobs[i].Place
	return len(place) > 0 && !p.snap.Holds(p.pools[i][p.at[i]], place)
}

// keepsAdmissions reports whether an answer admits every job that best admits: another number of them would
// not do, since an admission is a promise to the user of that job.
func (p *pooling) keepsAdmissions(a elastic.Allocation) bool {
	return !slices.ContainsFunc(p.snap.Jobs, func(j elastic.Job) bool { return p.best[j.ID].Promised && !a[j.ID].Promised })
}

// overtakers reports whether the jobs that lose their GPUs by the answer all came after job i,
// have not started, and were not admitted: the earlier job starts first in any pool.
func (p *pooling) overtakers(i int, a elastic.Allocation) bool {
	for k := range p.snap.Jobs {
		j := &p.snap.Jobs[k]
		was := p.best[j.ID]
		if was.GPUs > 0 && a[j.ID].GPUs == 0 && (k < i || was.Promised || len(p.snap.Committed(*j)) > 0) {
			return false
		}
	}
	return true
}

// answer limits every job to its pool.
// Decision.Within then makes plan.Arrange place the job there. It changes best in place: the answer
// of a policy belongs to the stage that asked.
func (p *pooling) answer() elastic.Allocation {
	for i := range p.snap.Jobs {
		id := p.snap.Jobs[i].ID
		d, decided := p.best[id]
		if !decided || len(p.pools[i]) < 2 {
			continue
		}
		d.Within = p.pools[i][p.at[i]]
		if why := reason.Cause(d.Why); why != nil && d.GPUs > 0 && p.runsElsewhere(i) {
			d.Why = reason.MovesToPool{GPUs: d.GPUs, Because: why}
		}
		if pool := nodes.ParsePartition(d.Within); p.snap.Edges[d.Within] && d.GPUs > 0 {
			d.Why = reason.Join(d.Why, reason.OnEdge{Node: pool.Part, Pool: pool.Slurm})
		}
		p.best[id] = d
	}
	return p.best
}
