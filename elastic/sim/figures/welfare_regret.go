package figures

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/sluice-hpc/sluice/elastic/learn/bandit"
	"github.com/sluice-hpc/sluice/elastic/solve/welfare"
)

// A study of learning: six models, three types of node with two nodes of one GPU each. In
// each slot some models have a job; the plan with the greatest optimistic welfare runs,
// and each pair in it is seen once, with noise.
const (
	learners  = 6
	typesSeen = 3
	noiseSeen = .1
)

// optimist is a way to estimate a pair that was seen, in a slot.
type optimist struct {
	name  string
	bonus func(a bandit.Arm, slot int) float64
}

var optimists = []optimist{
	{"the mean alone, a pair never tried first", func(a bandit.Arm, _ int) float64 { return untried(a, 0) }},
	{"ln ln t, scatter known", func(a bandit.Arm, t int) float64 { return untried(a, bandit.Bonus(noiseSeen, a.Count, t)) }},
	{"ln ln t, range only", func(a bandit.Arm, t int) float64 { return bandit.Bonus(.5, a.Count, t) }},
	{"ln t (UCB1), range only", func(a bandit.Arm, t int) float64 {
		return math.Sqrt(2 * math.Log(float64(t+1)) / float64(max(1, a.Count)))
	}},
	{"the mean alone, nought when never tried", func(bandit.Arm, int) float64 { return 1e-6 }},
}

// untried is the bonus, and for what was never tried the most a speed can be.
func untried(a bandit.Arm, bonus float64) float64 {
	if a.Count == 0 {
		return 1
	}
	return bonus
}

// regrets shows how much is lost to not knowing, by slot.
func regrets(b *bench, s *sheet) {
	slots, seeds := either(b, 2000, 100), either[uint64](b, 10, 2)
	marks := []int{10, 30, 100, 300, 1000, 2000}
	heads := []string{"regret of learned speeds, slots' worth of the best's welfare"}
	for _, m := range marks {
		heads = append(heads, fmt.Sprintf("by slot %d", m))
	}
	s.heads(append(heads, "setting")...)
	for _, o := range optimists {
		sums := make([]float64, slots)
		for seed := uint64(1); seed <= seeds && b.ctx.Err() == nil; seed++ {
			for t, lost := range o.learn(seed, slots) {
				sums[t] += lost / float64(seeds)
			}
		}
		cells := []string{o.name}
		for _, m := range marks {
			if m > slots {
				cells = append(cells, "")
				continue
			}
			total := 0.0
			for _, lost := range sums[:m] {
				total += lost
			}
			cells = append(cells, two(total))
		}
		s.line(append(cells, fmt.Sprintf("seeds 1-%d, %d models, %d types of 2 nodes, noise %g, a model has a job in 7 of 10 slots, exact solver", seeds, learners, typesSeen, noiseSeen))...)
	}
}

// learn returns the regret of each slot, relative to the mean welfare of the best.
func (o optimist) learn(seed uint64, slots int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 0x1e))
	var truth [learners][typesSeen]float64
	for m := range truth {
		for k := range truth[m] {
			truth[m][k] = .2 + .8*rng.Float64()
		}
	}
	var arms [learners][typesSeen]bandit.Arm
	known := map[int]float64{}
	lost, best := make([]float64, slots), 0.0
	for t := range slots {
		present := 0
		for m := range learners {
			if rng.Float64() < .7 {
				present |= 1 << m
			}
		}
		ideal, solved := known[present]
		if !solved {
			ideal = worth(assign(present, func(m, k int) float64 { return truth[m][k] }), func(m, k int) float64 { return truth[m][k] })
			known[present] = ideal
		}
		plan := assign(present, func(m, k int) float64 { return arms[m][k].Mean + o.bonus(arms[m][k], t+1) })
		best += ideal
		lost[t] = ideal - worth(plan, func(m, k int) float64 { return truth[m][k] })
		for m, at := range plan {
			if at.Option != welfare.None {
				arms[m][at.Option].Observe(truth[m][at.Option] + noiseSeen*rng.NormFloat64())
			}
		}
	}
	for t := range lost {
		lost[t] *= float64(slots) / best
	}
	return lost
}

// assign is the best plan for the models that have a job, by these speeds.
func assign(present int, speed func(model, kind int) float64) []welfare.Place {
	p := &welfare.Problem{}
	var edges [typesSeen][]int32
	for k := range typesSeen {
		for range 2 {
			edges[k] = append(edges[k], int32(len(p.Nodes)))
			p.Nodes = append(p.Nodes, welfare.Node{Free: []int64{1}})
		}
	}
	nothing := welfare.Plan{Places: make([]welfare.Place, learners)}
	for m := range learners {
		nothing.Places[m].Option = welfare.None
		var j welfare.Job
		for k := range typesSeen {
			if present&(1<<m) != 0 {
				j.Options = append(j.Options, welfare.Option{Value: speed(m, k), Tasks: []welfare.Task{{Count: 1, Needs: []int64{1}, Nodes: edges[k]}}})
			}
		}
		p.Jobs = append(p.Jobs, j)
	}
	plan, _ := welfare.Exact(p, welfare.Greedy(p, nothing, false), 100_000)
	return plan.Places
}

// worth is the sum of the speeds of a plan.
func worth(plan []welfare.Place, speed func(model, kind int) float64) float64 {
	sum := 0.0
	for m, at := range plan {
		if at.Option != welfare.None {
			sum += speed(m, at.Option)
		}
	}
	return sum
}
