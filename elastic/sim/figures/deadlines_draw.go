package figures

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/solve/deadline"
	"github.com/sluice-hpc/sluice/nodes"
)

// drawnJobs are made-up jobs with deadlines, a third of them promised theirs.
func drawnJobs(seed uint64, count int) []deadline.Job {
	rng := rand.New(rand.NewPCG(seed, 0xdead))
	out := make([]deadline.Job, count)
	for i := range out {
		j := deadline.Job{Work: 1, Price: 30, Promised: rng.IntN(3) == 0}
		power := .6 + .4*rng.Float64()
		alone := math.Exp(5 + 5*rng.Float64()) // seconds on one GPU: 150 s to 6 h
		for n := 1; n <= 64; n *= 2 {
			j.Sizes, j.Rate = append(j.Sizes, n), append(j.Rate, math.Pow(float64(n), power)/alone)
		}
		j.Due = alone * (.3 + 2*rng.Float64())
		out[i] = j
	}
	return out
}

// datedSnapshot is a made-up site whose jobs all have deadlines within a day, a minute after
// the policy decided about it first.
func datedSnapshot(z size, seed uint64, p policy.Policy) elastic.Snapshot {
	s := z.snapshot(seed)
	rng := rand.New(rand.NewPCG(seed, 0xda7e))
	for i := range s.Jobs {
		s.Jobs[i].Spec.Deadline = s.Now.Add(time.Duration(600+rng.IntN(24*3600)) * time.Second)
	}
	a := p.Allocate(s)
	where := plan.Arrange(s, a)
	for i := range s.Jobs {
		j := &s.Jobs[i]
		j.Promised = a[j.ID].Promised
		if to := where.Target[j.ID]; !to.Equal(j.Place) {
			s.Nodes = nodes.With(nodes.Without(s.Nodes, nodes.Load{Place: j.Place}), nodes.Load{Place: to})
			j.Place, j.Phase, j.Moved = to, elastic.Running, s.Now
		}
		if len(j.Place) == 0 {
			j.Phase = elastic.Waiting
		}
	}
	s.Now = s.Now.Add(time.Minute)
	return s
}
