package world_test

import (
	"math"
	"math/rand/v2"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/world"
)

// adversary is a way to report speeds and progress that are not so. The program trains
// as ever; only its lines of progress are wrong.
type adversary struct {
	name string
	// noise marks one that means no harm: its clock is bad.
	noise bool
	forge func(*rand.Rand, world.Job) func(*checkpoint.Progress)
}

// reports returns what it does to the lines of one job, drawn from the seed: put it into
// Behaviour.ForgeLine. The job's Total is the one of its Spec.
func (a adversary) reports(seed uint64, j world.Job) func(*checkpoint.Progress) {
	return a.forge(rand.New(rand.NewPCG(seed, 0xadde)), j)
}

// few is up to how many GPUs an adversary takes for few.
const few = 2

// adversaries are all of them, those that mean no harm first.
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

// swing is what claims that try to make a policy turn are multiplied by.
func swing(n int) float64 {
	if n%2 == 0 {
		return 4
	}
	return 0.25
}

// noisy multiplies each time of a unit by a drawn factor.
func noisy(name string, draw func(*rand.Rand) float64) adversary {
	return adversary{name, true, func(rng *rand.Rand, _ world.Job) func(*checkpoint.Progress) {
		return func(p *checkpoint.Progress) { p.Seconds *= draw(rng) }
	}}
}

// lies changes each line, of which the n-th progress it is.
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
