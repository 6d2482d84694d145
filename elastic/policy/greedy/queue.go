package greedy

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// mostExplained is up to how many jobs a queue gives every job a reason. With more it explains
// those that it starts and those that it considered; the others keep what they have.
const mostExplained = 1024

// queue is a round of a policy that starts jobs in order of arrival and never resizes. It
// places them itself, one by one, so that its time is linear in the nodes and in the jobs that
// start, however many run or wait.
type queue struct {
	baseline
	snap    elastic.Snapshot
	free    *freeNodes
	pools   map[poolKey]*pool
	started []nodes.Request // in order
	// heads are requests that found no GPUs, in order. A later job that could use a node of one
	// of them waits, even if it would fit.
	heads []nodes.Request
	nodes map[kindOf]int // GPUs of the largest node
	out   elastic.Allocation
}

// baseline is what distinguishes one such policy.
type baseline struct {
	policy string
	// size returns what a job needs to start, unless its user has pinned it.
	size func(q *queue, j *elastic.Job) int
	// more, if set, returns a larger place for a job that starts.
	more func(q *queue, j *elastic.Job, ask nodes.Request, place nodes.Placement) nodes.Placement
	// why a job that starts gets its size.
	why reason.Reason
}

// allocate is one round. Jobs are served in the order of the snapshot. Once no node is open, a
// waiting job gets a reason at most.
func (e baseline) allocate(s elastic.Snapshot) elastic.Allocation {
	q := &queue{baseline: e, snap: s, free: newFreeNodes(s), pools: map[poolKey]*pool{}, nodes: map[kindOf]int{}, out: elastic.Allocation{}}
	all := len(s.Jobs) <= mostExplained
	for i := range s.Jobs {
		switch {
		case s.Jobs[i].Phase == elastic.Waiting && (all || q.free.open > 0):
			q.serve(&s.Jobs[i])
		case all:
			q.leave(&s.Jobs[i])
		}
	}
	return q.out
}

// leave sets the reason why a job stays as it is.
func (q *queue) leave(ej *elastic.Job) {
	j := roles.Subject{Job: *ej, At: q.snap.Committed(*ej)}
	j.Now = j.At.GPUs()
	is, why := j.Classify(&q.snap)
	if is != roles.Fixed {
		why = reason.Keeps{GPUs: j.Now, Because: reason.NeverResizes{Policy: q.policy}}
	}
	q.out[j.ID] = elastic.Decision{GPUs: j.Now, Why: why}
}

// serve starts a waiting job, or lets it wait. A job with an open move, or that its user holds, is
// no part of the queue: no job waits behind it.
func (q *queue) serve(j *elastic.Job) {
	if _, moving := q.snap.Intent(j.ID); moving || j.Directive.Hold {
		q.leave(j)
		return
	}
	ask := q.request(j)
	place := q.free.place(ask)
	if place == nil {
		place = q.rearrange(ask)
	}
	if place == nil {
		q.wait(j, ask)
		return
	}
	if ask.GPUs != j.Directive.Pin && q.more != nil {
		place = q.more(q, j, ask, place)
		ask.GPUs = place.GPUs()
	}
	q.free.take(ask.Load(place))
	q.started = append(q.started, ask)
	q.out[j.ID] = elastic.Decision{GPUs: ask.GPUs, Place: place, Why: q.began(j, ask.GPUs)}
}

// began returns the reason of a job that starts on n GPUs.
func (q *queue) began(j *elastic.Job, n int) reason.Reason {
	if n == j.Directive.Pin {
		return reason.Starts{GPUs: n, Because: reason.Pinned}
	}
	return reason.Starts{GPUs: n, Because: q.why}
}

// request returns the job as package nodes sees it, at the size it needs to start. A pin that the
// job does not accept is ignored, as in rounds.
func (q *queue) request(j *elastic.Job) nodes.Request {
	r := j.Request(q.snap.Limits)
	if pin := j.Directive.Pin; pin > 0 && j.Spec.Allows(pin, pin) {
		r.GPUs = pin
	} else {
		r.GPUs = q.size(q, j)
	}
	return r
}

// rearranged bounds how many jobs that start in one round are placed anew to make room for one
// more.
const rearranged = 64

// rearrange places all jobs that start in this round anew, large ones first, so that the
// request finds a place too. It returns that place, nil if there is none.
//
// Nothing was started yet in Slurm, so these places are free to change. It is not done once a job
// waits: its nodes are closed, and a place outside them may not be changed into one on them. The
// places of queue.out are replaced, and their sizes stay.
func (q *queue) rearrange(ask nodes.Request) nodes.Placement {
	if n := len(q.started); n == 0 || n > rearranged || len(q.heads) > 0 || q.free.idle(ask) < ask.GPUs {
		return nil
	}
	empty := newFreeNodes(q.snap)
	places := nodes.Place(empty.nodes, append(q.started[:len(q.started):len(q.started)], ask))
	for _, p := range places {
		if len(p.Placement) == 0 {
			return nil
		}
	}
	q.free = empty
	for i, r := range q.started {
		d := q.out[elastic.JobID(r.ID)]
		d.Place = places[i].Placement
		q.out[elastic.JobID(r.ID)] = d
		q.free.take(r.Load(d.Place))
	}
	return places[len(places)-1].Placement
}

// wait lets the job wait, and every later job that could use the same nodes. A job that could
// not start on an empty cluster keeps no other waiting. The first job that waits in its part of
// the cluster reserves (Decision.Reserves); a later one is Behind the first whose nodes it could
// use.
func (q *queue) wait(j *elastic.Job, ask nodes.Request) {
	var behind elastic.JobID
	var why reason.Reason
	if ask.GPUs > q.largest(kindOf{ask.Partition, ask.Type}) {
		if p := q.pool(ask); !p.splits(ask.GPUs) {
			q.out[j.ID] = elastic.Decision{Why: roles.CannotStart(&q.snap, j, ask.GPUs)}
			return
		}
	}
	idle := q.free.idle(ask)
	first := slices.IndexFunc(q.heads, func(h nodes.Request) bool { return q.free.meet(h, ask) })
	switch {
	case first >= 0:
		behind = elastic.JobID(q.heads[first].ID)
		why = reason.WaitsBehind{Job: int64(behind), GPUs: q.heads[first].GPUs}
	case idle < ask.GPUs:
		why = reason.Waits{GPUs: ask.GPUs, Because: reason.TakesNoneBack{Idle: idle, Policy: q.policy}}
	default:
		why = reason.Waits{GPUs: ask.GPUs, Because: reason.NotAsNeeded{Idle: idle}}
	}
	q.out[j.ID] = elastic.Decision{Why: why, Reserves: behind == 0, Behind: behind}
	if q.free.close(ask) {
		q.heads = append(q.heads, ask)
	}
}

// kindOf is a list of partitions and a GPU type; "" = any type.
type kindOf struct{ partitions, gpus string }

// largest returns the most GPUs of the type that one node of the partitions has.
func (q *queue) largest(of kindOf) int {
	n, known := q.nodes[of]
	if !known {
		for i := range q.free.nodes {
			if q.free.mayUse(i, nodes.Request{Partition: of.partitions}) {
				n = max(n, q.free.nodes[i].Has(of.gpus))
			}
		}
		q.nodes[of] = n
	}
	return n
}

// pool returns the pool of a request. It is made on first use, and kept for the round.
func (q *queue) pool(r nodes.Request) *pool {
	key := poolKey{r.Partition, r.Uneven, r.Type}
	if q.pools[key] == nil {
		q.pools[key] = newPool(q.snap.Nodes, key)
	}
	return q.pools[key]
}
