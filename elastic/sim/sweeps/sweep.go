package sweeps

import (
	"math/rand/v2"

	"github.com/sluice-hpc/sluice/elastic/sweep/level"
	"github.com/sluice-hpc/sluice/elastic/sweep/rung"
)

// Sweep is one of the simulated sweeps. A policy may read what is exported; the goal and the
// curves to come are not.
type Sweep struct {
	Order   int         // of arrival
	Arrived float64     // s
	Asked   int         // trials asked for so far
	Trials  int         // trials in all
	Epochs  int         // of a whole trial
	Stopped int         // trials that are done, or paused by a rule
	Results []float64   // last metrics of trials that are done or paused, as they came
	Best    []float64   // the best Kept metrics of trials, the best first
	Seconds float64     // GPU-seconds used
	Spent   []float64   // GPU-seconds of each stopped trial, as they came
	Level   level.State // by D's rule
	Lanes   int         // lanes it has and keeps
	Done    int         // epochs done, of all trials
	Since   int         // trials that stopped since the best metric rose last

	task    *Task
	goal    float64
	reached float64 // s; below 0: not yet
	configs []int   // in the order in which they are asked for
	board   *rung.Board
	ahead   []*trial // taken from a lane, to go on first
	paused  []*trial
	running int
	extra   int  // lanes that run paused trials
	paced   bool // its rungs know how long epochs take
}

// trial is one configuration's training.
type trial struct {
	number int
	config int
	epoch  int // epochs done
	spent  float64
	extra  bool    // was paused, goes on while GPUs idle
	rest   float64 // s that are left of its epoch, where a lane was taken in it; 0 = all of it
}

// Kept is how many of the best metrics a sweep lists.
const Kept = 10

func newSweep(order int, at float64, t *Task, trials int, goal float64, rng *rand.Rand) *Sweep {
	return &Sweep{Order: order, Arrived: at, Trials: trials, Epochs: t.Epochs(), task: t, goal: goal, reached: -1, configs: rng.Perm(len(t.Metric))[:trials]}
}

// waits is how many trials could start now without those that were paused.
func (s *Sweep) waits() int { return len(s.ahead) + s.Trials - s.Asked }

// next is the trial for a free lane.
func (s *Sweep) next() *trial {
	switch {
	case len(s.ahead) > 0:
		t := s.ahead[0]
		s.ahead = s.ahead[1:]
		return t
	case s.Asked < s.Trials:
		t := &trial{number: s.Asked, config: s.configs[s.Asked]}
		s.Asked++
		return t
	}
	return nil
}

// resume is the paused trial that goes on first: at the highest rung, of these the best.
func (s *Sweep) resume() *trial {
	best := -1
	var of rung.Verdict
	for i, t := range s.paused {
		v := s.board.Verdict(t.number)
		if best < 0 || v.Rung > of.Rung || v.Rung == of.Rung && v.Rank < of.Rank {
			best, of = i, v
		}
	}
	if best < 0 {
		return nil
	}
	t := s.paused[best]
	s.paused = append(s.paused[:best], s.paused[best+1:]...)
	t.extra = true
	return t
}

// report takes in the metric at the end of an epoch, and says whether the sweep's goal is reached.
func (s *Sweep) report(t *trial, now float64) {
	t.epoch++
	s.Done++
	v := s.task.Metric[t.config][t.epoch-1]
	if s.board != nil && s.paced && t.epoch == 1 {
		s.board.Pace(t.number, s.task.Seconds[t.config][0])
	}
	if s.board != nil {
		s.board.Report(t.number, t.epoch, v)
	}
	if v >= s.goal && s.reached < 0 {
		s.reached = now
	}
}

// stopped takes in that a trial is done or paused.
func (s *Sweep) stopped(t *trial, rule level.Rule) {
	v := s.task.Metric[t.config][t.epoch-1]
	s.Stopped++
	s.Spent = append(s.Spent, t.spent)
	s.Results = append(s.Results, v)
	s.Since++
	if len(s.Best) == 0 || v > s.Best[0] {
		s.Since = 0
	}
	i := 0
	for i < len(s.Best) && s.Best[i] >= v {
		i++
	}
	s.Best = append(s.Best[:i:i], append([]float64{v}, s.Best[i:]...)...)
	s.Best = s.Best[:min(len(s.Best), Kept)]
	s.Level = rule.Done(s.Level, s.Results, true)
}
