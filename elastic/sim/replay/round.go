package replay

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// round is the cluster between two decisions.
type round struct {
	cfg  Config
	now  time.Duration
	snap elastic.Snapshot // what the policy sees; Jobs runs parallel to live
	live []live
	at   map[string]int // node by name
	told *told          // what the policy is told about speeds

	cluster   int  // GPUs
	busy      int  // GPUs in use
	changed   bool // somebody came or ended since the last decision
	ended     int
	out       Result
	firstCome time.Duration
	lastEnd   time.Duration
	spread    struct{ sum, n float64 } // fragmentation
}

// live is one job that has come and not ended.
type live struct {
	workload.Job
	index int           // in the workload
	split []int         // of its place; nil while it has none
	pace  float64       // seconds a unit on the split
	price time.Duration // of a restart
	pause time.Duration // of restart still to pass
}

func newRound(cfg Config) *round {
	r := &round{cfg: cfg, at: map[string]int{}, told: newTold(cfg.Info)}
	r.snap.Nodes = slices.Clone(cfg.Nodes)
	r.snap.Limits = cfg.Limits
	for i, n := range r.snap.Nodes {
		r.at[n.Name] = i
		r.cluster += n.GPUs - n.Used
	}
	return r
}

// take adds a job that has just come.
func (r *round) take(j workload.Job) error {
	if j.Spec.Total <= 0 {
		return fmt.Errorf("job %s has no work: total %v", j.Name, j.Spec.Total)
	}
	index := len(r.out.Jobs)
	if index == 0 {
		r.firstCome = j.Submit
	}
	r.out.Jobs = append(r.out.Jobs, JobResult{Name: j.Name, Submit: j.Submit, Start: -1, Deadline: j.Deadline})
	price := r.cfg.Restart
	if r.cfg.RestartOf != nil {
		price = r.cfg.RestartOf(j)
	}
	r.live = append(r.live, live{Job: j, index: index, price: price})
	r.snap.Jobs = append(r.snap.Jobs, elastic.Job{
		ID: elastic.JobID(index + 1), Name: j.Name, User: j.User, Spec: j.Spec, Asked: j.Asked,
		Phase: elastic.Held, Submitted: begin.Add(j.Submit), Speaks: true,
		Price: elastic.Price{Start: price, Measured: 1}, Curve: r.told.curve(j),
	})
	r.changed = true
	r.eventAt(j.Submit, index, "submit", nil, nil, "")
	return nil
}

// pass lets the time to the next decision pass: restarts run out, jobs train and
// end.
func (r *round) pass() {
	for i := range r.live {
		if len(r.live[i].split) > 0 {
			r.train(i)
		}
	}
	r.now += r.cfg.Interval
	r.bury()
}

// train lets one running job go on for an interval.
func (r *round) train(i int) {
	l, j := &r.live[i], &r.snap.Jobs[i]
	res := &r.out.Jobs[l.index]
	gpus := float64(j.GPUs())
	delay := min(l.pause, r.cfg.Interval)
	l.pause -= delay
	left := (r.cfg.Interval - delay).Seconds()
	need := (l.Spec.Total - j.Done) * l.pace
	worked := math.Min(left, need)
	res.Restarting += gpus * delay.Seconds()
	res.Useful += gpus * worked
	j.Attained += gpus * (delay.Seconds() + worked)
	if need <= left {
		j.Done, j.Phase = l.Spec.Total, elastic.Ended
		res.End = r.now + delay + time.Duration(math.Ceil(worked*float64(time.Second)))
		return
	}
	j.Done += worked / l.pace
	if worked > 0 {
		r.told.sample(l.Job, l.split, l.pace, worked/l.pace, r.snap.Now)
	}
}

// bury takes the jobs that ended out of the cluster, keeping the others' order.
func (r *round) bury() {
	kept := 0
	for i := range r.live {
		j := &r.snap.Jobs[i]
		if j.Phase == elastic.Ended {
			r.release(j.Place)
			r.changed = true
			r.ended++
			r.lastEnd = max(r.lastEnd, r.out.Jobs[r.live[i].index].End)
			r.eventAt(r.out.Jobs[r.live[i].index].End, r.live[i].index, "end", j.Place, nil, "")
			continue
		}
		if kept != i {
			r.live[kept], r.snap.Jobs[kept] = r.live[i], r.snap.Jobs[i]
		}
		kept++
	}
	clear(r.live[kept:])
	clear(r.snap.Jobs[kept:])
	r.live, r.snap.Jobs = r.live[:kept], r.snap.Jobs[:kept]
}

func (r *round) release(p nodes.Placement) {
	for _, s := range p {
		r.snap.Nodes[r.at[s.Node]].Used -= s.GPUs
		r.busy -= s.GPUs
	}
}

func (r *round) hold(p nodes.Placement) {
	for _, s := range p {
		r.snap.Nodes[r.at[s.Node]].Used += s.GPUs
		r.busy += s.GPUs
	}
}

func (r *round) event(job int, kind string, from, to nodes.Placement, why string) {
	r.eventAt(r.now, job, kind, from, to, why)
}

func (r *round) eventAt(at time.Duration, job int, kind string, from, to nodes.Placement, why string) {
	if r.cfg.Events != nil {
		r.cfg.Events(Event{At: at, Job: job, Name: r.out.Jobs[job].Name, Kind: kind, From: from, To: to, Why: why})
	}
}

// result sums up.
func (r *round) result(w workload.Workload) Result {
	out := r.out
	out.Policy, out.Workload, out.Seed, out.Info, out.Note = r.cfg.Policy.Name, w.Name, w.Seed, r.cfg.Info, w.Note
	out.Makespan = r.lastEnd - r.firstCome
	for _, j := range out.Jobs {
		out.Restarts += j.Restarts
		out.Useful += j.Useful
		out.Restarting += j.Restarting
	}
	out.Idle = max(0, float64(r.cluster)*out.Makespan.Seconds()-out.Useful-out.Restarting)
	if r.spread.n > 0 {
		out.Fragmentation = r.spread.sum / r.spread.n
	}
	return out
}
