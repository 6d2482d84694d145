package replay

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// round is the cluster between two decisions.
type round struct {
	cfg     Config
	now     time.Duration
	snap    elastic.Snapshot // what the policy sees; Jobs runs parallel to live
	live    []live
	pos     []int32        // index in live of each job of the workload
	dead    int            // entries of live whose jobs have ended
	ends    endings        // when jobs end, where nothing but that is asked of them
	at      map[string]int // node by name
	told    *told          // what the policy knows of speeds
	part    *parting       // the shares of accounts; nil without
	sweeps  []*sweepRun    // that have come, in their order
	arrived int            // jobs and sweeps
	few     []int          // workspace of changing

	cluster   int  // GPUs
	busy      int  // GPUs in use
	changed   bool // a job arrived or ended since the last decision
	worked    bool // some job got on in the round
	ended     int
	out       Result
	firstCome time.Duration
	lastEnd   time.Duration
	spread    struct{ sum, n float64 } // fragmentation
}

// live is one job that has come and not ended.
type live struct {
	workload.Job
	index int           // in out.Jobs
	lane  *laneRun      // nil = an ordinary job
	model *model        // where its samples go; nil for an oracle
	split []int         // of its place; nil while it has none
	pace  float64       // seconds a unit on the split
	price time.Duration // of a restart
	kind  string        // of its place
	rate  float64       // what its GPUs cost an hour, where costs are given
	gpus  float64       // of its place
	pause time.Duration // of restart still to pass
	upTo  time.Duration // booked so far
}

func newRound(cfg Config) *round {
	r := &round{cfg: cfg, at: map[string]int{}, told: newTold(cfg)}
	if cfg.Shares != nil {
		r.part = newParting(cfg)
	}
	r.snap.Nodes = slices.Clone(cfg.Nodes)
	r.snap.Limits = cfg.Limits
	r.snap.Limits.Every = cfg.Interval
	for i, n := range r.snap.Nodes {
		r.at[n.Name] = i
		r.cluster += n.GPUs - n.Used
	}
	return r
}

// take adds a job that has just come.
func (r *round) take(j workload.Job) error {
	if j.Sweep == nil && j.Spec.Total <= 0 {
		return fmt.Errorf("job %s has no work: total %v", j.Name, j.Spec.Total)
	}
	if r.part != nil && !r.cfg.Shares.Has(j.Account) {
		return fmt.Errorf("job %s: %w", j.Name, share.UnknownAccount{Account: j.Account})
	}
	if len(r.out.Jobs) == 0 {
		r.firstCome = j.Submit
	}
	at := r.arrived
	r.arrived++
	if j.Sweep != nil {
		r.takeSweep(j, at)
		return nil
	}
	index := len(r.out.Jobs)
	r.out.Jobs = append(r.out.Jobs, JobResult{at: at, Name: j.Name, Account: j.Account, Submit: j.Submit, Start: -1, Deadline: j.Deadline, Worth: r.worth(j)})
	if j.Deadline > 0 {
		j.Spec.Deadline, j.Spec.Soft = begin.Add(j.Deadline), true
	}
	m := r.told.model(j)
	r.wait(live{Job: j, index: index, model: m, price: r.price(j)}, 0)
	r.snap.Jobs[len(r.snap.Jobs)-1].Curve = r.told.curve(j, m)
	return nil
}

// price is what a start and every resize of the job cost, as far as policies know.
func (r *round) price(j workload.Job) time.Duration {
	if r.cfg.RestartOn != nil {
		return r.cfg.RestartOn(min(j.Spec.Max, r.cluster))
	}
	if r.cfg.RestartOf != nil {
		return r.cfg.RestartOf(j)
	}
	return r.cfg.Restart
}

// wait lets a job, or a lane, wait for GPUs.
func (r *round) wait(l live, uid uint32) {
	r.pos = append(r.pos, int32(len(r.live)))
	r.live = append(r.live, l)
	r.snap.Jobs = append(r.snap.Jobs, elastic.Job{
		ID: elastic.JobID(l.index + 1), Name: l.Name, User: l.User, UID: uid, Account: l.Account, Spec: l.Spec, Asked: l.Asked,
		Phase: elastic.Waiting, Submitted: begin.Add(l.Submit), Speaks: true, Price: elastic.Price{Start: l.price, Measured: 1},
	})
	r.changed = true
	r.eventAt(l.Submit, l.index, "submit", nil, nil, nil)
}

// pass lets the time to the next decision pass: restarts run out, jobs train and
// end. A policy that decides on events alone is spared the progress of the others.
func (r *round) pass() {
	until := r.now + r.cfg.Interval
	if r.part != nil {
		r.part.book(&r.snap, r.cfg.Interval)
	}
	if r.cfg.Policy.OnEvents {
		for len(r.ends) > 0 && r.ends[0].at <= until {
			r.train(int(r.pos[r.ends.pop().job]), until)
		}
	} else {
		for i := range r.live {
			if len(r.live[i].split) > 0 && r.live[i].lane == nil {
				r.train(i, until)
			}
		}
	}
	r.passSweeps(until)
	r.now = until
	r.bury()
}

// train lets one running job go on until then.
func (r *round) train(i int, until time.Duration) {
	l, j := &r.live[i], &r.snap.Jobs[i]
	res := &r.out.Jobs[l.index]
	delay := min(l.pause, until-l.upTo)
	l.pause -= delay
	left := (until - l.upTo - delay).Seconds()
	need := (l.Spec.Total - j.Done) * l.pace
	worked := math.Min(left, need)
	r.worked = r.worked || worked > 0
	res.Restarting += l.gpus * delay.Seconds()
	res.Useful += l.gpus * worked
	j.Attained += l.gpus * (delay.Seconds() + worked)
	res.Cost += l.rate * (delay.Seconds() + worked) / 3600
	if need <= left {
		j.Done, j.Phase = l.Spec.Total, elastic.Ended
		res.End = l.upTo + delay + seconds(worked)
		r.dead++
		r.end(i)
		return
	}
	l.upTo = until
	j.Done += worked / l.pace
	if worked > 0 {
		r.told.sample(l.model, l.split, l.kind, l.pace, worked/l.pace, r.snap.Now)
	}
}

// worth is what all of a job's work is worth to its user, as the policy welfare has it:
// the hours it takes on its smallest size, on the type it is fastest on, for each GPU.
func (r *round) worth(j workload.Job) float64 {
	if r.cfg.Limits.Costs == nil {
		return 0
	}
	size := max(1, j.Spec.Min)
	least := j.Speeds.Seconds([]int{size}) / r.told.kinds.best(j)
	if math.IsInf(least, 0) {
		return 0
	}
	return r.cfg.Limits.Costs.Value * least * j.Spec.Total * float64(size) / 3600
}

// rateOf is what the GPUs of a place cost an hour, below the peak.
func (r *round) rateOf(place nodes.Placement) float64 {
	if r.cfg.Limits.Costs == nil {
		return 0
	}
	sum := 0.0
	for _, s := range place {
		sum += float64(s.GPUs) * r.cfg.Limits.Costs.Of(r.told.kinds.of[s.Node])
	}
	return sum
}

func seconds(s float64) time.Duration { return time.Duration(math.Ceil(s * float64(time.Second))) }

// end takes a job that has ended off its nodes.
func (r *round) end(i int) {
	j, index := &r.snap.Jobs[i], r.live[i].index
	r.changed = true
	if r.live[i].lane == nil {
		r.ended++
	}
	r.lastEnd = max(r.lastEnd, r.out.Jobs[index].End)
	r.release(j.Place)
	r.eventAt(r.out.Jobs[index].End, index, "end", j.Place, nil, nil)
	j.Place, r.live[i].split = nil, nil
}

// crowd is up to how many jobs those that ended are taken out of the snapshot at
// once. Among more they stay a while, as ended, until they are many.
const crowd = 1024

// bury takes the jobs that ended out of the snapshot, keeping the others' order.
func (r *round) bury() {
	if r.dead == 0 || len(r.live) > crowd && r.dead < len(r.live)/8 {
		return
	}
	kept := 0
	for i := range r.live {
		if r.snap.Jobs[i].Phase == elastic.Ended {
			continue
		}
		if kept != i {
			r.live[kept], r.snap.Jobs[kept] = r.live[i], r.snap.Jobs[i]
			r.pos[r.live[kept].index] = int32(kept)
		}
		kept++
	}
	clear(r.live[kept:])
	clear(r.snap.Jobs[kept:])
	r.live, r.snap.Jobs, r.dead = r.live[:kept], r.snap.Jobs[:kept], 0
}

func (r *round) release(p nodes.Placement) { r.shift(p, -1) }
func (r *round) hold(p nodes.Placement)    { r.shift(p, 1) }

// shift books a place on its nodes, or off them.
func (r *round) shift(p nodes.Placement, sign int) {
	for _, s := range p {
		n := &r.snap.Nodes[r.at[s.Node]]
		n.Used += sign * s.GPUs
		r.busy += sign * s.GPUs
		if len(p) > 1 {
			n.Spanning += sign
		}
	}
}

func (r *round) event(job int, kind string, from, to nodes.Placement, why reason.Reason) {
	r.eventAt(r.now, job, kind, from, to, why)
}

func (r *round) eventAt(at time.Duration, job int, kind string, from, to nodes.Placement, why reason.Reason) {
	if r.cfg.Events != nil {
		of := &r.out.Jobs[job]
		r.cfg.Events(Event{At: at, Job: of.at, Lane: of.lane, Name: of.Name, Kind: kind, From: from, To: to, Why: why, Moment: begin.Add(at)})
	}
}

// result sums up.
func (r *round) result(w workload.Workload) Result {
	out := r.out
	out.Policy, out.Workload, out.Seed, out.Info, out.Note = r.cfg.Policy.Name, w.Name, w.Seed, r.cfg.Info, w.Note
	out.Makespan = r.lastEnd - r.firstCome
	for _, j := range out.Jobs {
		if j.lane == 0 {
			out.Restarts += j.Restarts
		}
		out.Useful += j.Useful
		out.Restarting += j.Restarting
	}
	r.sweepResults(&out)
	out.Idle = max(0, float64(r.cluster)*out.Makespan.Seconds()-out.Useful-out.Restarting)
	if r.part != nil {
		out.Accounts = r.part.result(out.Jobs)
	}
	if r.spread.n > 0 {
		out.Fragmentation = r.spread.sum / r.spread.n
	}
	return out
}
