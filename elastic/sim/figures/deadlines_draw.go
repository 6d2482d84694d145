package figures

import (
	"math"
	"math/rand/v2"

	"github.com/sluice-hpc/sluice/elastic/deadline"
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
