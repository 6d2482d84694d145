package policy

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/joint"
	"github.com/sluice-hpc/sluice/elastic/knapsack"
)

// What must be outweighs what pays: values of work add up to the number of jobs.
const (
	wantStart  = 1e9 // a job that must have GPUs has some
	wantDemand = 1e6 // an ordinary job that waits finds room
	wantPin    = 1e4 // a pinned job has its pin
	restless   = 1e3 // a job that moved a moment ago is left alone
)

// horizon is over how long a resize is expected to be of use, in seconds: the next
// arrival or end changes everything again. From 600 to 4000 nothing changes by more
// than half a percent on the published workloads.
const horizon = 2000.0

// payback is how many times its price a move has to bring in when the site does
// not say.
const payback = 2.0

// pose writes the decision down as a problem of places and values.
func (o *outlook) pose() *joint.Problem {
	p := &joint.Problem{Share: o.snap.Limits.ShareNodes, Near: 0.01}
	p.Nodes = make([]joint.Node, len(o.floor))
	for i, n := range o.floor {
		p.Nodes[i] = joint.Node{Free: n.Free(), Class: o.class[i], CPUs: -1, MemoryMB: -1}
		if n.CPUs > 0 {
			p.Nodes[i].CPUs = max(0, n.CPUs-n.CPUsUsed)
		}
		if n.MemoryMB > 0 {
			p.Nodes[i].MemoryMB = max(0, n.MemoryMB-n.MemUsedMB)
		}
	}
	for i := range o.jobs {
		if o.jobs[i].active() {
			o.posed = append(o.posed, i)
			p.Jobs = append(p.Jobs, o.poseJob(&o.jobs[i], horizon))
		}
	}
	return p
}

// poseJob lists a job's places with their values.
func (o *outlook) poseJob(p *prospect, horizon float64) joint.Job {
	j := joint.Job{
		Groups: p.group.kinds, Must: p.must, CPUsPerGPU: p.Spec.CPUsPerGPU, MemPerGPUMB: p.Spec.MemPerGPUMB,
	}
	if p.must {
		j.Want = wantStart
	}
	for _, s := range p.at {
		j.Now = append(j.Now, joint.Share{Node: o.at[s.Node], GPUs: s.GPUs})
	}
	if p.now > 0 {
		j.Stay = p.worth / p.stay
		if p.now == p.pin {
			j.Stay += wantPin
		}
	}
	j.Sizes = make([]joint.Size, len(p.choices))
	for k, c := range p.choices {
		options := make([]joint.Option, len(c.splits))
		for i, s := range c.splits {
			options[i] = joint.Option{Split: s.Split, Value: o.worthOf(p, c.gpus, s.Seconds*p.work, horizon)}
		}
		j.Sizes[k] = joint.Size{GPUs: c.gpus, Options: options}
	}
	return j
}

// worthOf is the value of a new place in which the rest takes so many seconds. A
// running job pays for the move: its dead time out of the horizon, and against the
// time that is left, for which short jobs are not moved at their end.
func (o *outlook) worthOf(p *prospect, size int, rest, horizon float64) float64 {
	v := p.worth / rest
	if p.now > 0 {
		factor := payback
		if o.snap.Limits.Payback > 0 {
			factor = o.snap.Limits.Payback
		}
		v *= math.Max(0, 1-p.price/horizon) * rest / (rest + factor*p.price)
		if o.resting(p) {
			v -= restless
		}
	}
	if size == p.pin {
		v += wantPin
	}
	return v
}

func (o *outlook) resting(p *prospect) bool {
	return !p.Moved.IsZero() && o.snap.Now.Sub(p.Moved) < o.snap.Limits.Cooldown
}

// beliefs are ways to guess what a size is worth before its place is known.
var beliefs = []func(choice) float64{
	choice.typical,
	func(c choice) float64 { return c.best },
	func(c choice) float64 { return c.packed },
}

// horizons are tried beside the usual one: impatient, and as if moves were free in
// the long run.
var horizons = []float64{1200, 300, math.Inf(1)}

// candidates lists sizes worth placing: the exact solution of the multiple-choice
// knapsack over sizes, under several beliefs about places and horizons, and what
// is now.
func (o *outlook) candidates(p *joint.Problem, count int) [][]int {
	var out [][]int
	add := func(sizes []int) {
		if !slices.ContainsFunc(out, func(have []int) bool { return slices.Equal(have, sizes) }) {
			out = append(out, sizes)
		}
	}
	now := make([]int, len(p.Jobs))
	for k, i := range o.posed {
		now[k] = o.jobs[i].now
		if now[k] == 0 && o.jobs[i].must {
			now[k] = o.jobs[i].choices[0].gpus
		}
	}
	for n := 0; n < count; n++ {
		add(o.sized(beliefs[n%len(beliefs)], horizons[n/len(beliefs)%len(horizons)]))
	}
	add(now)
	return out
}

// sized solves the knapsack of sizes.
func (o *outlook) sized(belief func(choice) float64, horizon float64) []int {
	classes := make([][]knapsack.Option, len(o.posed))
	sizes := make([]int, len(o.posed))
	capacity := o.gpus
	for k, i := range o.posed {
		p := &o.jobs[i]
		base := 0.0
		if p.must {
			sizes[k] = p.choices[0].gpus
			base = o.sizeWorth(p, p.choices[0], belief, horizon)
			capacity -= sizes[k]
		}
		for _, c := range p.choices {
			classes[k] = append(classes[k], knapsack.Option{
				Weight: c.gpus - sizes[k], Value: o.sizeWorth(p, c, belief, horizon) - base,
			})
		}
	}
	chosen, _ := o.solver.Expand(classes, max(0, capacity))
	for k, c := range chosen {
		if c != knapsack.None {
			sizes[k] = o.jobs[o.posed[k]].choices[c].gpus
		}
	}
	return sizes
}

// sizeWorth is the value of a size before its place is known.
func (o *outlook) sizeWorth(p *prospect, c choice, belief func(choice) float64, horizon float64) float64 {
	v := o.worthOf(p, c.gpus, belief(c), horizon)
	if c.gpus == p.now && p.stay > 0 {
		v = max(v, p.worth/p.stay)
		if p.now == p.pin {
			v = max(v, p.worth/p.stay+wantPin)
		}
	}
	return v
}

// byRank sorts jobs that wait in the order they came.
func byRank(a, b *prospect) int { return cmp.Compare(a.rank, b.rank) }
