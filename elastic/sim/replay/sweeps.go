package replay

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/sweeps"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// sweepRun is one sweep that has come. Its lanes are jobs of the snapshot.
type sweepRun struct {
	*sweeps.Live
	token  string
	uid    uint32
	number elastic.JobID // of its first lane
	left   int           // lanes that have not ended
	runs   int           // lanes that have a GPU
	out    SweepResult
}

// laneRun is a job's place in its sweep.
type laneRun struct {
	sweep *sweepRun
	index int // from 0
}

// takeSweep adds a sweep that has just come, at this index in the workload.
func (r *round) takeSweep(j workload.Job, at int) {
	uid := uint32(len(r.sweeps) + 1)
	if same := slices.IndexFunc(r.sweeps, func(s *sweepRun) bool { return s.out.User == j.User }); same >= 0 {
		uid = r.sweeps[same].uid // lanes are divided between the sweeps of one user
	}
	s := &sweepRun{
		Live: sweeps.NewLive(*j.Sweep), token: fmt.Sprintf("%032x", at+1), uid: uid, number: elastic.JobID(len(r.out.Jobs) + 1), left: j.Sweep.Lanes,
		out: SweepResult{Name: j.Name, User: j.User, Account: j.Account, Task: j.Sweep.Task.Name, Submit: j.Submit, First: -1, Goal: -1, Asked: j.Sweep.Trials},
	}
	r.sweeps = append(r.sweeps, s)
	price := r.price(j)
	name := j.Name
	j.Spec.Sweep = s.token
	for k := range j.Sweep.Lanes {
		j.Name = fmt.Sprintf("%s.%d", name, k+1)
		r.out.Jobs = append(r.out.Jobs, JobResult{at: at, lane: k + 1, Name: j.Name, Account: j.Account, Submit: j.Submit, Start: -1})
		r.wait(live{Job: j, index: len(r.out.Jobs) - 1, price: price, lane: &laneRun{s, k}}, uid)
	}
}

// tellSweeps shows the next decision how far the sweeps are.
func (r *round) tellSweeps() {
	if len(r.sweeps) == 0 {
		return
	}
	r.snap.Sweeps = make(map[string]elastic.Sweep, len(r.sweeps))
	for _, s := range r.sweeps {
		if s.left > 0 {
			t := s.Told()
			r.snap.Sweeps[s.token] = elastic.Sweep{Number: s.number, Metric: "metric", Over: t.Over, Wants: t.Wants, Level: t.Level, Trials: t.Trials, Gap: t.Gap, Bid: t.Bid}
		}
	}
}

// changeLane starts or stops a lane that has just been moved.
func (r *round) changeLane(m move, kind string) {
	l := &r.live[m.job]
	s := l.lane.sweep
	if len(m.from) > 0 {
		s.Stop(l.lane.index, r.now.Seconds())
		s.runs--
	}
	if kind == "stop" {
		s.out.Taken++
		return
	}
	if s.out.First < 0 {
		s.out.First = r.now
	}
	s.runs++
	s.out.Lanes = max(s.out.Lanes, s.runs)
	l.upTo = r.now
	s.Start(l.lane.index, (r.now + l.pause).Seconds())
}

// passSweeps lets the sweeps' lanes run, and ends those that leave.
func (r *round) passSweeps(until time.Duration) {
	if len(r.sweeps) == 0 {
		return
	}
	idle := true // as in the daemon: no other job waits
	for i := range r.live {
		idle = idle && (r.live[i].lane != nil || r.snap.Jobs[i].Phase != elastic.Waiting)
	}
	for _, s := range r.sweeps {
		if s.left > 0 {
			s.Pass(until.Seconds(), idle)
		}
	}
	for i := range r.live {
		l := &r.live[i]
		if l.lane == nil || len(l.split) == 0 {
			continue
		}
		s := l.lane.sweep
		at, left := s.Left(l.lane.index)
		if !left {
			r.bookLane(i, until)
			continue
		}
		end := max(l.upTo, min(seconds(at), until))
		r.bookLane(i, end)
		r.out.Jobs[l.index].End = end
		r.snap.Jobs[i].Phase = elastic.Ended
		r.dead++
		r.end(i)
		s.runs--
		if s.left--; s.left == 0 {
			s.out.End = end
			r.ended++
		}
	}
}

// bookLane books the lane's time up to then.
func (r *round) bookLane(i int, then time.Duration) {
	l := &r.live[i]
	res := &r.out.Jobs[l.index]
	passed := then - l.upTo
	delay := min(l.pause, passed)
	l.pause -= delay
	l.upTo = then
	res.Restarting += l.gpus * delay.Seconds()
	res.Useful += l.gpus * (passed - delay).Seconds()
	res.Cost += l.rate * passed.Seconds() / 3600
	r.snap.Jobs[i].Attained += l.gpus * passed.Seconds()
	l.lane.sweep.out.GPUSeconds += l.gpus * passed.Seconds()
	r.worked = r.worked || passed > delay
}

// sweepResults sums up the sweeps, and takes their lanes out of the jobs.
func (r *round) sweepResults(out *Result) {
	for _, s := range r.sweeps {
		o := s.Outcome()
		s.out.Begun, s.out.Done, s.out.Paused, s.out.Over = o.Begun, o.Done, o.Paused, seconds(o.Over)
		if o.Reached >= 0 {
			s.out.Goal = seconds(o.Reached)
		}
		out.Sweeps = append(out.Sweeps, s.out)
	}
	if len(r.sweeps) > 0 {
		out.Jobs = slices.DeleteFunc(out.Jobs, func(j JobResult) bool { return j.lane > 0 })
	}
}
