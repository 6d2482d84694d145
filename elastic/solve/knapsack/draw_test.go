package knapsack_test

import (
	"cmp"
	"math"

	"github.com/sluice-hpc/sluice/elastic/solve/knapsack"
)

// draw is a small repeatable random source (splitmix64).
type draw struct{ state uint64 }

func (r *draw) word() uint64 {
	r.state += 0x9e3779b97f4a7c15
	x := r.state
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (r *draw) n(n int) int   { return int(r.word() % uint64(n)) }
func (r *draw) unit() float64 { return float64(r.word()>>11) / (1 << 53) }

var zero = knapsack.Option{}

func one(weight int, value float64) knapsack.Option {
	return knapsack.Option{Weight: weight, Value: value}
}

func lighter(a, b knapsack.Option) int { return cmp.Compare(a.Weight, b.Weight) }

// sized appends typical sizes of jobs: 1, 2, 4 and 8, 16, ... 64 GPUs.
func (r *draw) sized(own []knapsack.Option, value func(gpus float64) float64) []knapsack.Option {
	for _, w := range []int{1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64} {
		own = append(own, one(w, value(float64(w))))
	}
	return own
}

// speeds appends a job's options with a concave speed, weighted as in a policy.
func (r *draw) speeds(own []knapsack.Option, power float64) []knapsack.Option {
	weight := math.Exp(4 * r.unit())
	return r.sized(append(own, zero), func(w float64) float64 { return weight * math.Pow(w, power) })
}

// rough appends a job's options with a measured speed: not concave, not monotone, with a price
// for every size but the present one.
func (r *draw) rough(own []knapsack.Option) []knapsack.Option {
	power, weight, now := 0.3+0.6*r.unit(), math.Exp(4*r.unit()), r.n(11)
	if r.n(2) == 0 {
		own = append(own, zero) // not started: may wait
	}
	first := len(own)
	own = r.sized(own, func(w float64) float64 {
		return weight * math.Pow(w, power) * (0.75 + 0.25*r.unit()) * 0.95
	})
	own[first+now].Value /= 0.95
	return own
}

// scatter appends options without any structure.
func (r *draw) scatter(own []knapsack.Option, count, heaviest int) []knapsack.Option {
	for range 1 + r.n(count) {
		own = append(own, one(r.n(heaviest+1), 20*r.unit()-5))
	}
	return own
}

// nodes appends sizes of whole nodes of 8 GPUs only.
func (r *draw) nodes(own []knapsack.Option) []knapsack.Option {
	own, power := append(own, zero), 0.3+0.6*r.unit()
	for w := 8; w <= 64; w += 8 {
		own = append(own, one(w, math.Pow(float64(w), power)))
	}
	return own
}
