package sweeps

import (
	"container/heap"
	"math"
	"math/rand/v2"

	"github.com/sluice-hpc/sluice/elastic/sweep/level"
	"github.com/sluice-hpc/sluice/elastic/sweep/rung"
)

// Config is one simulation.
type Config struct {
	Tasks  []*Task // from which sweeps are drawn, each task at most once
	Sweeps int
	Gap    float64 // s between arrivals, on average, exponentially distributed
	GPUs   int
	Trials int     // of each sweep
	Start  float64 // s from a lane's trial to its first epoch
	Goal   float64 // quantile of a task's last metrics
	Seed   uint64
	Policy Policy
	Rungs  *rung.Rule // nil: full trials
}

// Policy divides GPUs. Divide returns lanes for each of the sweeps that have something to run;
// it is called whenever a trial stops or a sweep arrives. wants is what each could use.
type Policy struct {
	Divide  func(sweeps []*Sweep, wants []int, gpus int) []int
	Rejudge bool
	Return  bool
	Paces   bool // rungs know how long epochs take: rung.Board.Pace
	Promote bool // ASHA with promotion: every trial stops at each rung, the best go on later
}

// Result is the time from each sweep's arrival to its goal, and the time at which all had reached
// theirs, in seconds.
type Result struct {
	Times []float64
	All   float64
}

// Mean is the mean time from arrival to goal, s.
func (r Result) Mean() float64 {
	sum := 0.
	for _, t := range r.Times {
		sum += t
	}
	return sum / float64(len(r.Times))
}

// lane runs a trial of a sweep.
type lane struct {
	sweep   *Sweep
	trial   *trial
	at      float64 // the end of the present epoch
	began   float64
	release bool
}

type run struct {
	Config
	now    float64
	sweeps []*Sweep // arrived
	later  []*Sweep
	lanes  lanes
	rule   level.Rule
}

// Run simulates until every sweep has reached its goal, or has nothing left to run.
func Run(c Config) Result {
	rng := rand.New(rand.NewPCG(c.Seed, 0x5eed))
	r := &run{Config: c, rule: level.DefaultRule()}
	at := 0.
	for i, k := range rng.Perm(len(c.Tasks))[:c.Sweeps] {
		t := c.Tasks[k]
		s := newSweep(i, at, t, c.Trials, t.Goal(c.Goal), rng)
		if c.Rungs != nil {
			rule := *c.Rungs
			rule.Epochs, rule.Max = t.Epochs(), true
			s.board, s.paced = rung.NewBoard(rule), c.Policy.Paces
		}
		r.later = append(r.later, s)
		at += rng.ExpFloat64() * c.Gap
	}
	all := r.later
	for r.step() {
	}
	var result Result
	for _, s := range all {
		reached := s.reached
		if reached < 0 {
			reached = r.now // it has run everything and never will
		}
		result.Times = append(result.Times, reached-s.Arrived)
		result.All = max(result.All, reached)
	}
	return result
}

// step goes to the next event; false at the end.
func (r *run) step() bool {
	arrival, end := math.Inf(1), math.Inf(1)
	if len(r.later) > 0 {
		arrival = r.later[0].Arrived
	}
	if len(r.lanes) > 0 {
		end = r.lanes[0].at
	}
	switch {
	case math.IsInf(arrival, 1) && (math.IsInf(end, 1) || r.reached()):
		return false
	case arrival <= end:
		r.now = arrival
		r.sweeps, r.later = append(r.sweeps, r.later[0]), r.later[1:]
		r.divide()
	default:
		r.now = end
		r.epoch(r.lanes[0])
	}
	return true
}

func (r *run) reached() bool {
	for _, s := range r.sweeps {
		if s.reached < 0 {
			return false
		}
	}
	return true
}

// epoch is the end of an epoch on the lane, which is the first of the heap.
func (r *run) epoch(l *lane) {
	s, t := l.sweep, l.trial
	spent := r.now - l.began
	s.Seconds, t.spent = s.Seconds+spent, t.spent+spent
	l.began = r.now
	s.report(t, r.now)
	switch {
	case t.epoch == s.Epochs || r.pauses(s, t):
		if t.epoch < s.Epochs {
			s.paused = append(s.paused, t)
		}
		if !t.extra {
			s.stopped(t, r.rule)
		}
		r.free(l)
		r.divide()
	case l.release:
		s.ahead = append(s.ahead, t)
		if t.extra {
			s.ahead = s.ahead[:len(s.ahead)-1]
			s.paused = append(s.paused, t)
		}
		r.free(l)
		r.divide()
	default:
		l.at += r.length(s, t)
		heap.Fix(&r.lanes, 0)
	}
}

func (r *run) pauses(s *Sweep, t *trial) bool {
	if s.board == nil || t.extra {
		return false
	}
	v := s.board.Verdict(t.number)
	if r.Policy.Promote {
		return v.Rung == t.epoch
	}
	return v.Pause && (v.Rung == t.epoch || r.Policy.Rejudge)
}

// length is the duration of the trial's next epoch.
func (r *run) length(s *Sweep, t *trial) float64 {
	seconds := s.task.Seconds[t.config]
	if t.epoch == 0 {
		return seconds[0]
	}
	return max(seconds[t.epoch]-seconds[t.epoch-1], 0)
}

func (r *run) free(l *lane) {
	heap.Pop(&r.lanes)
	l.sweep.running--
	if l.trial.extra {
		l.sweep.extra--
	}
}

// divide asks the policy, marks lanes for release and starts trials on free GPUs.
func (r *run) divide() {
	var active []*Sweep
	var wants []int
	for _, s := range r.sweeps {
		s.Lanes = s.running - s.extra
		if w := s.waits() + s.Lanes + r.promotable(s); w > 0 {
			active, wants = append(active, s), append(wants, w)
		}
	}
	target := map[*Sweep]int{}
	left := r.GPUs
	if len(active) > 0 {
		for i, n := range r.Policy.Divide(active, wants, r.GPUs) {
			target[active[i]] = n
			left -= n
		}
	}
	idle := r.idle(left)
	r.release(target, idle)
	for len(r.lanes) < r.GPUs && r.begin(target, idle) {
	}
}

// idle gives GPUs that no sweep wants to paused trials, in the order of arrival, one each by turns.
func (r *run) idle(left int) map[*Sweep]int {
	extra := map[*Sweep]int{}
	for more := true; more && left > 0; {
		more = false
		for _, s := range r.sweeps {
			if left > 0 && extra[s] < s.extra+len(s.paused)-r.promotable(s) {
				extra[s]++
				left--
				more = true
			}
		}
	}
	return extra
}

// release marks the lanes beyond each sweep's target whose epochs end first.
func (r *run) release(target, idle map[*Sweep]int) {
	order := append(lanes(nil), r.lanes...)
	kept, keptExtra := map[*Sweep]int{}, map[*Sweep]int{}
	sortLanes(order)
	for i := len(order) - 1; i >= 0; i-- {
		l := order[i]
		if l.trial.extra {
			keptExtra[l.sweep]++
			l.release = keptExtra[l.sweep] > idle[l.sweep]
		} else {
			kept[l.sweep]++
			l.release = kept[l.sweep] > target[l.sweep]
		}
	}
}

// begin starts one trial on a free GPU: of the sweep that has least of its target.
func (r *run) begin(target, idle map[*Sweep]int) bool {
	var best *Sweep
	least := 1.
	for _, s := range r.sweeps {
		have := s.running - s.extra
		if want := target[s]; have < want && s.waits()+r.promotable(s) > 0 {
			if part := float64(have) / float64(want); part < least {
				best, least = s, part
			}
		}
	}
	var t *trial
	if best != nil {
		if r.Policy.Promote || r.Policy.Return {
			t = best.promote()
		}
		if t == nil {
			t = best.next()
		}
	} else {
		for _, s := range r.sweeps {
			if s.extra < idle[s] && len(s.paused) > 0 {
				best, t = s, s.resume()
				s.extra++
				break
			}
		}
	}
	if t == nil {
		return false
	}
	best.running++
	heap.Push(&r.lanes, &lane{best, t, r.now + r.Start + r.length(best, t), r.now, false})
	return true
}
