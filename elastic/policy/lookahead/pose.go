package lookahead

import (
	"cmp"
	"math"
	"slices"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// Values of requirements, which outweigh all gains: the values of work add up to the number of
// jobs. Their ORDER is their priority.
const (
	// The k-th ordinary job counts wantDemand times (roles.MostDemands - k), so that earlier ones
	// come first.
	wantDemand  = 1e6 // a waiting ordinary job finds room
	wantPin     = 1e4 // a pinned job has the size of its pin
	wantDue     = 5e3 // a job has what its admission needs
	restPenalty = 1e3 // a job that was moved lately stays
)

// horizon is the time for which a resize is expected to be of use, in seconds: the next arrival
// or end changes everything again. From 400 to 4000 results change by at most 0.5% on the
// published workloads; short horizons restart jobs less often.
const horizon = 500.0

// steps bounds the search for sizes: near-optimal sizes are found soon, to prove optimality may
// take long.
const steps = 200_000

// patience is the minimum of the horizon as a multiple of the resize cost: where resizes are
// expensive there are fewer of them, and each is of use for longer. A move that costs c seconds
// leaves 1 - c/horizon of the value of the new place while c is at most horizon/patience, which is
// 62.5 s, and 7/8 of it beyond.
const patience = 8.0

// payback is how many times its cost a resize has to save if the site does not set it.
const payback = 2.0

// pose formulates the decision as a problem of places and values: first the jobs, then the
// ordinary jobs that wait for room.
//
// The jobs of the problem are o.posed, in that order, then demands by priority, at most
// roles.MostDemands. Every reader of a plan's places MUST keep to that: place k is of job posed[k]
// while k < len(posed). Near is 1%: within it, whole idle nodes are kept rather than the last
// gain.
func (o *round) pose() *joint.Problem {
	p := &joint.Problem{Nodes: o.poseNodes(), Share: o.snap.Limits.ShareNodes, AtOnce: o.snap.Limits.AtOnce(), Near: 0.01}
	o.posed = o.posed[:0]
	for i := range o.jobs {
		if o.jobs[i].active() {
			o.posed = append(o.posed, i)
		}
	}
	p.Jobs = make([]joint.Job, 0, len(o.posed)+len(o.snap.Demands))
	for _, i := range o.posed {
		p.Jobs = append(p.Jobs, o.poseJob(&o.jobs[i]))
	}
	for k, d := range o.snap.Demands[:min(len(o.snap.Demands), roles.MostDemands)] {
		p.Jobs = append(p.Jobs, o.poseDemand(d, k))
	}
	return p
}

// poseNodes returns the nodes without the jobs to decide about. What a node does not declare,
// CPUs or memory, is not counted (-1).
func (o *round) poseNodes() []joint.Node {
	out := make([]joint.Node, len(o.floor))
	for i, n := range o.floor {
		out[i] = joint.Node{Free: n.Free(), Class: o.class[i], CPUs: -1, MemoryMB: -1, Spanning: n.Spanning > 0}
		for k := 0; k < len(o.mixed) && len(n.Types) > 0; k++ {
			out[i].Types = append(out[i].Types, n.FreeOf(o.mixed[k]))
		}
		if n.CPUs > 0 {
			out[i].CPUs = max(0, n.CPUs-n.CPUsUsed)
		}
		if n.MemoryMB > 0 {
			out[i].MemoryMB = max(0, n.MemoryMB-n.MemUsedMB)
		}
	}
	return out
}

// poseJob lists a job's places with their values. Options of one size share one array and are
// listed with the largest value first, as joint.Size requires: splits come fastest first, and only
// those of several GPU types are sorted again.
func (o *round) poseJob(p *job) joint.Job {
	j := joint.Job{
		Groups: p.group.kinds, Must: p.must, CPUsPerGPU: p.Spec.CPUsPerGPU, MemPerGPUMB: p.Spec.MemPerGPUMB,
		Type: o.typeOf(p.Spec.Type()),
	}
	for _, s := range p.At {
		j.Now = append(j.Now, joint.Share{Node: o.at[s.Node], GPUs: s.GPUs})
	}
	j.Stay = p.stayWorth()
	count := 0
	for _, c := range p.choices {
		count += len(c.splits) * (1 + len(c.kinds))
	}
	options := make([]joint.Option, 0, count)
	j.Sizes = make([]joint.Size, len(p.choices))
	for k, c := range p.choices {
		from := len(options)
		if c.kinds == nil {
			options = o.poseSplits(options, p, c.gpus, c.splits, 0)
		}
		for g, splits := range c.kinds {
			options = o.poseSplits(options, p, c.gpus, splits, g+1)
		}
		j.Sizes[k] = joint.Size{GPUs: c.gpus, Options: options[from:]}
		if c.kinds != nil {
			slices.SortStableFunc(options[from:], func(a, b joint.Option) int { return cmp.Compare(b.Value, a.Value) })
		}
	}
	return j
}

// poseSplits adds the options of a size on one group of nodes or, with 0, on any.
func (o *round) poseSplits(to []joint.Option, p *job, size int, splits []speed.Timed, of int) []joint.Option {
	for _, s := range splits {
		to = append(to, joint.Option{Split: s.Split, Value: o.moveWorth(p, size, s.Seconds*p.Work, horizon), Loose: s.Loose, Of: of})
	}
	return to
}

// poseDemand returns an ordinary job as a job with one size: room for it outweighs any growth,
// but no job is stopped for it. Earlier ones come first. Slurm gives it what nodes.Reserve sets
// aside. Where no node has GPUs for it, it is posed as 1 GPU, so that the k-th demand is still the
// k-th job after posed.
func (o *round) poseDemand(d elastic.Demand, k int) joint.Job {
	g := o.group(d.Partition, d.Type)
	count, share := d.Want().Shape(o.floor)
	split := make([]int, max(1, count))
	for i := range split {
		split[i] = max(1, share)
	}
	return joint.Job{
		Groups: [][]int{g.classes}, Mixes: true, Type: o.typeOf(d.Type),
		Sizes: []joint.Size{{GPUs: len(split) * split[0], Options: []joint.Option{{Split: split, Value: wantDemand * float64(roles.MostDemands-k)}}}},
	}
}

// stayWorth returns the value of staying; 0 if the job has no place. It is on the scale of moveWorth,
// without a resize cost. A rest does not change it: only leaving is penalized.
func (p *job) stayWorth() float64 {
	if p.Now == 0 {
		return 0
	}
	v := p.worth/p.stay - p.brokenPromise(p.Now)
	if p.Now == p.Pin {
		v += wantPin
	}
	return v
}

// moveWorth returns the value of a new place where the job's remaining time is rest seconds. A
// running job pays for the move: the dead time counts against the horizon, and against the
// remaining time, so that jobs near their end are not moved. With w the job's worth, c its resize
// cost, H the horizon and p the payback,
//
//	w/rest * (1 - c/max(H, patience*c)) * rest/(rest + p*c) * surely
//
// plus the values of requirements. For a job without GPUs it is w/rest.
//
// With a resize cost of 14 s, the usual horizon and payback and no measurement noise, a place
// counts 0.96 of its value if the job would need another hour there, and 0.66 if it would need a
// minute. rest MUST be above 0.
func (o *round) moveWorth(p *job, size int, rest, horizon float64) float64 {
	v := p.worth / rest
	if p.Now > 0 {
		times := payback
		if o.snap.Limits.Payback > 0 {
			times = o.snap.Limits.Payback
		}
		v *= p.useful(horizon) * rest / (rest + times*p.ResizeCost) * p.surely
		if size != p.Pin && p.rests {
			v -= restPenalty
		}
	}
	if size == p.Pin {
		v += wantPin
	}
	return v - p.brokenPromise(size)
}

// useful returns the share of a horizon that is left after the move. It caches the last answer,
// because places are valued one after the other for one horizon. It is from 7/8 to 1. horizon MUST
// NOT be 0, which stands for an empty cache.
func (p *job) useful(horizon float64) float64 {
	if p.use.horizon != horizon {
		p.use.horizon, p.use.share = horizon, math.Max(0, 1-p.ResizeCost/max(horizon, patience*p.ResizeCost))
	}
	return p.use.share
}

// guesses are ways to estimate the remaining time at a size before its place is known.
var guesses = []func(choice) float64{
	choice.typical,
	func(c choice) float64 { return c.best },
	func(c choice) float64 { return c.packed },
}

// horizons are tried in turn: a long one, a short one, and one in which moves cost nothing in
// the long run. Plans are compared under the usual one.
var horizons = []float64{1200, 300, math.Inf(1)}

// candidates lists promising sizes to place: the exact solutions of the multiple-choice
// knapsack over sizes, for several estimates of places and horizons, and the present sizes. The
// first count of them go through the guesses under the first horizon, then under the next one.
// Lists that are equal to an earlier one are left out. The present sizes come last.
func (o *round) candidates(p *joint.Problem, count int) [][]int {
	var out [][]int
	add := func(sizes []int) {
		if !slices.ContainsFunc(out, func(have []int) bool { return slices.Equal(have, sizes) }) {
			out = append(out, sizes)
		}
	}
	for n := range count {
		add(o.sized(p, guesses[n%len(guesses)], horizons[n/len(guesses)%len(horizons)]))
	}
	add(o.asNow(p))
	return out
}

// asNow returns the present size of each job, and the minimum for those that must start. If the
// admission of a job that starts needs more than its minimum now, it gets that.
func (o *round) asNow(p *joint.Problem) []int {
	sizes := make([]int, len(p.Jobs))
	for k, i := range o.posed {
		sizes[k] = o.jobs[i].Now
		if sizes[k] == 0 && o.jobs[i].must {
			sizes[k] = max(o.jobs[i].Least(), o.jobs[i].plan.least)
		}
	}
	for k := len(o.posed); k < len(p.Jobs); k++ {
		sizes[k] = p.Jobs[k].Sizes[0].GPUs
	}
	return sizes
}

// sized solves the knapsack of sizes. What a job must have is set aside first: it is the option
// of weight 0, and the other options have their weight and value relative to it. A job that need
// not have GPUs gets an option of weight 0 and value 0 instead. So in the solution, choice c of a
// job that must have GPUs is its c-th size, and of another job its (c-1)-th.
//
// If a job accepts 2, 4 and 8 GPUs the weights are 0, 2 and 6 if it must have GPUs, else 0, 2, 4
// and 8. GPUs are counted without nodes, so that the sizes may not all have a place. If the
// minimums exceed o.gpus the capacity is 0, and Build finds what fits.
func (o *round) sized(jp *joint.Problem, belief func(choice) float64, horizon float64) []int {
	sizes := make([]int, len(jp.Jobs))
	capacity := o.gpus
	o.classes.Reset()
	for k, i := range o.posed {
		p := &o.jobs[i]
		base := 0.0
		if p.must {
			sizes[k] = p.choices[0].gpus
			base = o.sizeWorth(p, p.choices[0], belief, horizon)
			capacity -= sizes[k]
		} else {
			o.classes.Add(0, 0)
		}
		for _, c := range p.choices {
			o.classes.Add(c.gpus-sizes[k], o.sizeWorth(p, c, belief, horizon)-base)
		}
		o.classes.End()
	}
	for k := len(o.posed); k < len(jp.Jobs); k++ {
		s := jp.Jobs[k].Sizes[0]
		o.classes.Add(0, 0)
		o.classes.Add(s.GPUs, s.Options[0].Value)
		o.classes.End()
	}
	o.solver.Budget = steps
	for k, c := range o.solver.Choose(o.classes.All(), max(0, capacity)).Choice {
		switch {
		case k >= len(o.posed):
			sizes[k] = c * jp.Jobs[k].Sizes[0].GPUs
		case o.jobs[o.posed[k]].must:
			sizes[k] = o.jobs[o.posed[k]].choices[c].gpus
		case c > 0:
			sizes[k] = o.jobs[o.posed[k]].choices[c-1].gpus
		}
	}
	return sizes
}

// sizeWorth returns the value of a size before its place is known. The present size counts as
// staying if that is worth more, else as a move to another place.
func (o *round) sizeWorth(p *job, c choice, belief func(choice) float64, horizon float64) float64 {
	v := o.moveWorth(p, c.gpus, belief(c), horizon)
	if c.gpus == p.Now {
		v = max(v, p.stayWorth())
	}
	return v
}
