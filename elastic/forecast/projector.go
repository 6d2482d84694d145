package forecast

import (
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// projector is the cluster at one moment of a projection.
// all has every job of the first snapshot, in its order; live those that have not ended.
type projector struct {
	began  time.Time
	snap   elastic.Snapshot // Jobs runs parallel to live
	live   []*course
	all    []*course
	living int
	fleets map[string]*fleet // by token
}

// course is one job on its way.
// job is the answer so far, of which the last segment is open.
type course struct {
	job    Job
	waited bool      // it had no GPUs when the projection began
	busy   time.Time // until then it is between two sizes, and does not train
	ended  bool
	moves  int
	// trust and trained are for the mean confidence: seconds of training, weighted and not.
	trust, trained float64
}

// newProjector copies what it changes of the snapshot, and takes the open moves as made.
func newProjector(s elastic.Snapshot) *projector {
	open := s.Intents
	s.Jobs, s.Nodes, s.Tenants = slices.Clone(s.Jobs), slices.Clone(s.Nodes), slices.Clone(s.Tenants)
	s.Intents, s.Due = nil, nil
	p := &projector{began: s.Now, snap: s, living: len(s.Jobs)}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Phase == elastic.Queued || j.Phase == elastic.Completing { // Slurm is about to start it, or to let it wait
			j.Phase = elastic.Waiting
		}
		c := &course{job: Job{ID: j.ID}, waited: len(j.Place) == 0}
		c.begin(Segment{From: s.Now, GPUs: j.GPUs(), Nodes: len(j.Place), Sure: 1})
		p.live, p.all = append(p.live, c), append(p.all, c)
	}
	for _, in := range open {
		p.finish(in)
	}
	p.sweepsOf()
	return p
}

// finish makes an open move, of which a part is done already. One whose nodes Slurm chooses is left out.
func (p *projector) finish(in elastic.Intent) {
	i := p.index(in.Job)
	switch {
	case i < 0:
	case in.Kind == elastic.Park:
		p.move(i, in.Kind, nil, 0)
	case (in.Kind == elastic.Start || in.Kind == elastic.Resize) && !in.AnyNodes && len(in.Target) > 0:
		p.move(i, in.Kind, in.Target, max(0, price(&p.snap.Jobs[i], in.Kind)-p.snap.Now.Sub(in.Opened)))
	}
}

// index returns where a job is in the snapshot; -1 = it has ended.
func (p *projector) index(id elastic.JobID) int {
	return slices.IndexFunc(p.snap.Jobs, func(j elastic.Job) bool { return j.ID == id })
}

// price is the time for which a job does not train because of a move.
// A start has no save, stop and queue.
func price(j *elastic.Job, kind elastic.Kind) time.Duration {
	if kind == elastic.Start {
		return j.Price.Start + j.Price.Load
	}
	return j.Price.Total()
}

// decide makes one decision and its moves. It reports whether there were any.
// An admission is kept for the following decisions, as the daemon keeps it in its journal.
func (p *projector) decide(decide Decide) (moved bool) {
	plan := decide(p.snap)
	at := make(map[elastic.JobID]int, len(p.snap.Jobs))
	for i := range p.snap.Jobs {
		at[p.snap.Jobs[i].ID] = i
	}
	for _, r := range plan.Reasons {
		if i, lives := at[r.Job]; lives && r.Promised {
			p.snap.Jobs[i].Promised = true
		}
	}
	for _, in := range plan.Open {
		i, lives := at[in.Job]
		switch {
		case !lives:
		case in.Kind == elastic.Park:
			p.move(i, in.Kind, nil, 0)
			moved = true
		case in.Kind == elastic.Start || in.Kind == elastic.Resize:
			p.move(i, in.Kind, in.Target, price(&p.snap.Jobs[i], in.Kind))
			moved = true
		}
	}
	p.rank()
	return moved
}

// move gives a job another place; it trains there once dead has passed.
// No place: it is parked, and waits. A time limit begins anew with every start.
func (p *projector) move(i int, kind elastic.Kind, to nodes.Placement, dead time.Duration) {
	j, c := &p.snap.Jobs[i], p.live[i]
	nodes.Credit(p.snap.Nodes, j.Load(j.Place))
	nodes.Charge(p.snap.Nodes, j.Load(to))
	now := p.snap.Now
	j.Place, j.Incarnation = to, j.Incarnation+1
	if kind != elastic.Start {
		c.moves++
	}
	if len(to) == 0 {
		j.Phase, j.TimeLeft = elastic.Waiting, 0
		c.begin(Segment{From: now, Sure: c.sure(now.Sub(p.began), false)})
		return
	}
	j.Phase, j.Started, j.TimeLeft, j.Restarts = elastic.Running, now, j.TimeLimit, j.Restarts+1
	if j.Begun.IsZero() {
		j.Begun = now
	}
	if kind != elastic.Start {
		j.Moved = now.Add(dead)
	}
	if c.waited && c.job.Starts.IsZero() {
		c.job.Starts = now
	}
	c.busy = now.Add(dead)
	size := Segment{From: now, GPUs: to.GPUs(), Nodes: len(to), Moves: dead > 0, Sure: c.sure(now.Sub(p.began), false)}
	c.begin(size)
	if dead > 0 {
		size.From, size.Moves = c.busy, false
		c.begin(size)
	}
}

// begin ends the last segment and begins the next. One without length is replaced.
func (c *course) begin(next Segment) {
	if n := len(c.job.Segments); n > 0 {
		last := &c.job.Segments[n-1]
		if !last.From.Before(next.From) {
			c.job.Segments = c.job.Segments[:n-1]
			if n > 1 {
				c.job.Segments[n-2].To = next.From
			}
		} else {
			last.To = next.From
		}
	}
	c.job.Segments = append(c.job.Segments, next)
}

// pace returns the seconds that a unit of the job's work takes where it runs, and how sure that is;
// false if it is not known.
// How sure it is: from 0.1 to 1.
func (p *projector) pace(j *elastic.Job) (seconds, sure float64, known bool) {
	curve := j.Curve.On(p.snap.Kind(j, j.Place))
	if curve.Samples() == 0 && !curve.Exact() {
		return 0, 0, false
	}
	shape := speed.Shape{GPUs: j.GPUs(), Nodes: len(j.Place)}
	seconds, _ = curve.Seconds(shape)
	return seconds, max(0.1, curve.Confidence(shape)), seconds > 0 && !math.IsInf(seconds, 0)
}
