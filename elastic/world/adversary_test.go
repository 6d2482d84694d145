package world_test

import (
	"math"
	"math/rand/v2"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/world"
)

// adversary is a way to report false speeds and progress. The program trains normally; only its
// progress lines are wrong.
type adversary struct {
	name string
	// noise: the false reports are not deliberate; the program's clock is bad.
	noise bool
	forge func(*rand.Rand, world.Job) func(*checkpoint.Progress)
}

// reports returns a function for Behaviour.ForgeLine that changes the lines of one job, with random
// numbers from the seed. The job's Total is that of its Spec.
func (a adversary) reports(seed uint64, j world.Job) func(*checkpoint.Progress) {
	return a.forge(rand.New(rand.NewPCG(seed, 0xadde)), j)
}

// few is the largest number of GPUs that an adversary treats as few.
const few = 2

// adversaries are all of them, the ones that are not deliberate first.
var adversaries = []adversary{
	noisy("log-normal noise", func(rng *rand.Rand) float64 { return math.Exp(0.3 * rng.NormFloat64()) }),
	noisy("heavy tails", func(rng *rand.Rand) float64 { // Student's t with two degrees of freedom
		return math.Exp(0.15 * rng.NormFloat64() / math.Sqrt(rng.ExpFloat64()+1e-9))
	}),
	noisy("outliers of ten", func(rng *rand.Rand) float64 {
		return []float64{10, 0.1, 1, 1, 1, 1, 1, 1, 1, 1}[rng.IntN(10)] // every tenth either way
	}),
	lies("is fast", func(p *checkpoint.Progress, _ world.Job, _ int) { p.Seconds /= 5 }),
	lies("is slow", func(p *checkpoint.Progress, _ world.Job, _ int) { p.Seconds *= 5 }),
	lies("is a little faster", func(p *checkpoint.Progress, _ world.Job, _ int) { p.Seconds /= 1.2 }),
	lies("scales beyond all measure", func(p *checkpoint.Progress, _ world.Job, _ int) { p.Seconds /= float64(max(1, p.GPUs)) }),
	lies("is slow on few GPUs", func(p *checkpoint.Progress, _ world.Job, _ int) {
		if p.GPUs <= few {
			p.Seconds *= 5
		}
	}),
	lies("alternates from line to line", func(p *checkpoint.Progress, _ world.Job, n int) { p.Seconds *= swing(n) }),
	lies("changes after every resize", func(p *checkpoint.Progress, _ world.Job, _ int) { p.Seconds *= swing(p.Restarts) }),
	lies("wants what it has not", func(p *checkpoint.Progress, _ world.Job, n int) { // many: too slow; few: too fast
		p.Seconds *= float64(max(1, p.GPUs)) / 4
	}),
	lies("has little left", func(p *checkpoint.Progress, j world.Job, _ int) { p.Done += 0.9 * (j.Spec.Total - p.Done) }),
	lies("is almost done", func(p *checkpoint.Progress, j world.Job, _ int) { p.Done = 0.99 * j.Spec.Total }),
	lies("has done more than all there is", func(p *checkpoint.Progress, j world.Job, _ int) { p.Done += 2 * j.Spec.Total }),
	lies("has most of it left", func(p *checkpoint.Progress, _ world.Job, _ int) { p.Done *= 0.1 }),
	lies("has much left, then little", func(p *checkpoint.Progress, j world.Job, n int) {
		if n/4%2 == 0 {
			p.Done *= 0.1
		} else {
			p.Done += 0.9 * (j.Spec.Total - p.Done)
		}
	}),
	{"is half as long as it is", false, func(*rand.Rand, world.Job) func(*checkpoint.Progress) {
		return func(p *checkpoint.Progress) { p.Done, p.Seconds = 2*p.Done, p.Seconds/2 } // in every line alike
	}},
	{"is twice as long as it is", false, func(*rand.Rand, world.Job) func(*checkpoint.Progress) {
		return func(p *checkpoint.Progress) { p.Done, p.Seconds = p.Done/2, 2*p.Seconds }
	}},
	lies("is fast and almost done", func(p *checkpoint.Progress, j world.Job, _ int) {
		p.Seconds /= 5 * float64(max(1, p.GPUs))
		p.Done += 0.9 * (j.Spec.Total - p.Done)
	}),
}

// swing is the factor of reports that try to change a policy's decision.
func swing(n int) float64 {
	if n%2 == 0 {
		return 4
	}
	return 0.25
}

// noisy multiplies each time of a unit by a random factor.
func noisy(name string, draw func(*rand.Rand) float64) adversary {
	return adversary{name, true, func(rng *rand.Rand, _ world.Job) func(*checkpoint.Progress) {
		return func(p *checkpoint.Progress) { p.Seconds *= draw(rng) }
	}}
}

// lies changes each progress line; n counts them.
func lies(name string, change func(p *checkpoint.Progress, j world.Job, n int)) adversary {
	return adversary{name, false, func(_ *rand.Rand, j world.Job) func(*checkpoint.Progress) {
		n := 0
		return func(p *checkpoint.Progress) {
			if p.Event != "progress" {
				return
			}
			change(p, j, n)
			n++
		}
	}}
}
