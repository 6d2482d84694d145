package bound_test

import (
	"math"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/bound"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// search tries every schedule of a few jobs, round by round.
type search struct {
	cfg  bound.Config
	gpus int
	jobs []workload.Job
	best float64 // sum of JCTs, seconds
	seen map[visit]float64
}

// visit is a state of the whole cluster; what led there does not matter but for
// the sum of JCTs.
type visit struct {
	round int
	all   [3]state
}

// state is one job within a schedule.
type state struct {
	left  float64 // units
	gpus  int
	pause float64 // seconds of restart to pass
	done  bool
	began bool
}

// optimum is the least mean JCT there is. Sizes change at rounds only, each change
// but one to zero costs a restart; with cfg.Keep started jobs keep their minimum, with
// cfg.Prompt they start in the first round. It is huge where no schedule does.
func optimum(cfg bound.Config, gpus int, jobs []workload.Job) time.Duration {
	s := &search{cfg: cfg, gpus: gpus, jobs: jobs, best: math.Inf(1), seen: map[visit]float64{}}
	all := make([]state, len(jobs))
	for i, j := range jobs {
		all[i].left = j.Spec.Total
	}
	s.round(0, all, 0)
	if math.IsInf(s.best, 1) {
		return math.MaxInt64
	}
	return time.Duration(math.Ceil(s.best / float64(len(jobs)) * 1e9))
}

// round goes on from a round with the sum of the JCTs so far.
func (s *search) round(n int, all []state, sum float64) {
	now := float64(n) * s.cfg.Interval.Seconds()
	lower, open := sum, false
	for i, j := range s.jobs {
		if !all[i].done {
			open = true
			quick := math.Min(j.Speeds.Seconds([]int{1}), j.Speeds.Seconds([]int{2})) * all[i].left
			lower += math.Max(now-j.Submit.Seconds(), 0) + quick
		}
	}
	if !open {
		s.best = math.Min(s.best, sum)
	}
	at := visit{round: n}
	for i, st := range all {
		st.left = math.Round(st.left * 1e9)
		at.all[i] = st
	}
	if had, ok := s.seen[at]; ok && had <= sum {
		return
	}
	s.seen[at] = sum
	if open && lower < s.best {
		s.choose(n, 0, s.gpus, all, sum)
	}
}

// choose tries all sizes of job i and those after it.
func (s *search) choose(n, i, free int, all []state, sum float64) {
	if i == len(all) {
		s.pass(n, all, sum)
		return
	}
	j, now := s.jobs[i], time.Duration(n)*s.cfg.Interval
	for g := min(free, s.gpus); g >= 0; g-- {
		here := j.Submit <= now
		allowed := g == 0 && !(s.cfg.Keep && all[i].began) && !(s.cfg.Prompt && here && !all[i].began) || g > 0 && here && j.Spec.Allows(g, s.gpus)
		if all[i].done {
			allowed = g == 0
		}
		if !allowed {
			continue
		}
		next := append([]state(nil), all...)
		if st := &next[i]; g != st.gpus {
			st.gpus, st.pause = g, s.cfg.Restart.Seconds()
			st.began = st.began || g > 0
		}
		s.choose(n, i+1, free-g, next, sum)
	}
}

// pass lets the round pass.
func (s *search) pass(n int, all []state, sum float64) {
	step := s.cfg.Interval.Seconds()
	moved := false
	for i := range all {
		st := &all[i]
		if st.gpus == 0 || st.done {
			continue
		}
		delay := math.Min(st.pause, step)
		st.pause -= delay
		pace := s.jobs[i].Speeds.Seconds([]int{st.gpus})
		need := st.left * pace
		moved = true
		if need <= step-delay {
			sum += float64(n)*step + delay + need - s.jobs[i].Submit.Seconds()
			*st = state{done: true}
			continue
		}
		st.left -= (step - delay) / pace
	}
	late := time.Duration(n)*s.cfg.Interval > s.jobs[len(s.jobs)-1].Submit+time.Hour
	if (moved || n < 4) && !late {
		s.round(n+1, all, sum)
	}
}
