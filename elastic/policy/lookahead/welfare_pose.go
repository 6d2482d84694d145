package lookahead

import (
	"math"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/learn/bandit"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/solve/joint"
	"github.com/sluice-hpc/sluice/elastic/solve/welfare"
)

// The resources of a node. The last one is counted so that two jobs on several nodes do not
// share a node.
const (
	resGPU = iota
	resCPU
	resMemory // MB
	resSpan
	resources
)

// speedError is the relative standard deviation assumed for a job's speed on a GPU type of
// which one epoch was measured, and mostBonus the largest bonus there. A job that runs
// elsewhere gets untriedBonus for a type where it never ran: more than staying can gain after
// one epoch, plus the resize cost; otherwise no type would be tried.
const (
	speedError   = 0.1
	mostBonus    = 0.3
	untriedBonus = 0.5
)

// stayBonus is the factor by which staying counts more than its value, so that nothing changes
// without a gain: many allocations have equal values.
const stayBonus = 1.001

// valueJobs sets the value of a job to what users pay for an hour of a GPU at its best use (its
// smallest size on the type where it is fastest), times the hours that its remaining work would
// take there. So the value of an hour of a run is proportional to its speed.
//
// With V the value of a GPU-hour (1, see normalized), g the smallest size, t the seconds per unit
// there and u the remaining units, worth = V*g*t*u. Divided by the remaining seconds at some
// place, it is the value per hour of running there, as moveWorth and staying use it.
func (w *welfareRound) valueJobs() {
	for i := range w.jobs {
		p := &w.jobs[i]
		if p.Role == roles.Fixed || len(p.choices) == 0 {
			continue
		}
		least, alone := p.choices[0].gpus, math.Inf(1)
		for _, classes := range p.group.kinds {
			for _, s := range p.Curve.On(w.kindOfClasses(p, classes)).Splits(w.grid(p), least)[0] {
				alone = min(alone, s.Seconds)
			}
		}
		if math.IsInf(alone, 1) { // it runs on no type at this size, as far as is known
			alone = p.choices[0].splits[0].Seconds
		}
		p.worth = w.costs.Value * alone * float64(least) * p.Work
	}
}

// optimism returns how much faster a job is assumed to be on a type than was measured: less,
// the more was measured there. With a single type there is nothing to try. Several types
// together run at the speed of the slowest and teach nothing about any of them: their bonus is
// the smallest of theirs. It is a factor of the speed there, from 1 to 1+untriedBonus.
func (w *welfareRound) optimism(p *job, kind string) float64 {
	seen := p.Curve.Observed(kind)
	if len(w.types) < 2 || math.IsInf(seen, 1) || p.Curve.Samples() == 0 {
		return 1
	}
	if seen == 0 && p.Now > 0 && !speed.Mixed(kind) {
		return 1 + untriedBonus
	}
	hope := 1 + min(mostBonus, bandit.Bonus(speedError, int(seen), p.Curve.Samples()))
	if speed.Mixed(kind) {
		for part := range strings.SplitSeq(kind, "+") {
			hope = min(hope, w.optimism(p, part))
		}
	}
	return hope
}

// untriedMix reports whether a kind is several types of which one was never tried alone. A job
// grows there only once each is known, since such a run would not teach it.
func untriedMix(p *job, kind string) bool {
	return speed.Mixed(kind) && slices.ContainsFunc(strings.Split(kind, "+"), func(part string) bool { return p.Curve.Observed(part) == 0 })
}

// staying returns the value of staying, including the bonus of its type. The job MUST have GPUs.
func (w *welfareRound) staying(p *job) float64 {
	v := p.worth / p.stay * w.optimism(p, w.kindOf(p, p.At)) * stayBonus
	if p.Now == p.Pin {
		v += wantPin
	}
	return v
}

// poseWelfare formulates the decision: first the jobs, then the ordinary jobs that wait for
// room, in the order of posed.
func (w *welfareRound) poseWelfare() *welfare.Problem {
	p := &welfare.Problem{Nodes: w.poseWelfareNodes()}
	w.price(p)
	w.classNodes, w.classLists, w.stays = nil, nil, nil
	for _, i := range w.posed {
		p.Jobs = append(p.Jobs, w.poseWelfareJob(&w.jobs[i]))
		w.stays = append(w.stays, w.jobs[i].Now > 0)
	}
	for k, d := range w.snap.Demands[:min(len(w.snap.Demands), roles.MostDemands)] {
		asked := w.poseDemand(d, k)
		o := asked.Sizes[0].Options[0]
		p.Jobs = append(p.Jobs, welfare.Job{Options: []welfare.Option{{Value: o.Value, Tasks: []welfare.Task{{
			Count: len(o.Split), Needs: []int64{int64(o.Split[0]), 1, 0, 0}, Nodes: w.nodes(asked.Groups[0]),
		}}}}})
		w.stays = append(w.stays, false)
	}
	return p
}

// poseWelfareNodes returns what is free on each node: GPUs, CPUs, memory, jobs on several nodes,
// and for nodes with several GPU types the GPUs of each. Jobs on several nodes that share one
// already may stay. Each node has its amounts in the order of the constants above, then one for
// each type in o.mixed; what is not counted is a very large number.
func (w *welfareRound) poseWelfareNodes() []welfare.Node {
	spans := make([]int64, len(w.floor))
	for _, i := range w.posed {
		for _, s := range w.jobs[i].At {
			if len(w.jobs[i].At) > 1 {
				spans[w.at[s.Node]]++
			}
		}
	}
	out := make([]welfare.Node, len(w.floor))
	for i, n := range w.poseNodes() {
		free := []int64{int64(n.Free), int64(n.CPUs), n.MemoryMB, max(1, spans[i])}
		if n.Spanning {
			free[resSpan] = spans[i]
		}
		for r := range free {
			if free[r] < 0 || r == resSpan && w.snap.Limits.ShareNodes {
				free[r] = math.MaxInt32 // not counted
			}
		}
		for k := range w.mixed {
			of := int64(math.MaxInt32)
			if len(n.Types) > 0 {
				of = int64(n.Types[k])
			}
			free = append(free, of)
		}
		out[i].Free = free
	}
	return out
}

// poseWelfareJob lists a job's places: its present one, and every split on every node type. The
// present place comes first, if there is one: shares and option rely on that (stays).
func (w *welfareRound) poseWelfareJob(p *job) welfare.Job {
	j := welfare.Job{Must: p.must}
	if p.Now > 0 {
		o := welfare.Option{Value: w.staying(p)}
		for _, s := range p.At {
			o.Tasks = append(o.Tasks, welfare.Task{Count: 1, Needs: w.needs(p, s.GPUs, len(p.At)), Nodes: []int32{int32(w.at[s.Node])}})
		}
		j.Options = append(j.Options, o)
	}
	sizes := make([]int, len(p.choices))
	for k, c := range p.choices {
		sizes[k] = c.gpus
	}
	for _, classes := range p.group.kinds {
		kind, nodes := w.kindOfClasses(p, classes), w.nodes(classes)
		faster, few := w.optimism(p, kind), sizes
		if untriedMix(p, kind) {
			few = sizes[:min(1, len(sizes))] // the minimum may be anywhere
		}
		for k, splits := range p.Curve.On(kind).Splits(w.grid(p), few...) {
			for _, s := range splits {
				if len(s.Split) <= len(nodes) && (len(s.Split) > 1 || !w.acrossTypes(p, classes)) { // a single node holds its present allocation
					value := w.moveWorth(p, sizes[k], s.Seconds*p.Work/faster, horizon)
					j.Options = append(j.Options, welfare.Option{Value: value, Tasks: w.tasks(p, s.Split, nodes)})
				}
			}
		}
	}
	return j
}

// tasks returns the shares of a split, in its order, equal ones together.
func (w *welfareRound) tasks(p *job, split []int, nodes []int32) []welfare.Task {
	var out []welfare.Task
	for k, n := range split {
		if k > 0 && n == split[k-1] {
			out[len(out)-1].Count++
			continue
		}
		out = append(out, welfare.Task{Count: 1, Needs: w.needs(p, n, len(split)), Nodes: nodes})
	}
	return out
}

// needs returns what a share of this many GPUs takes of its node. GPUs count twice on a node with
// several types, in all and by type; a job that names no type counts in all only.
func (w *welfareRound) needs(p *job, gpus, across int) []int64 {
	load := p.Load(nil)
	out := []int64{int64(gpus), int64(load.CPUs(gpus)), int64(gpus) * load.MemPerGPUMB, 0}
	if across > 1 {
		out[resSpan] = 1
	}
	for k := range w.mixed {
		need := int64(0)
		if w.typeOf(load.Type) == k+1 {
			need = int64(gpus)
		}
		out = append(out, need)
	}
	return out
}

// nodes lists the nodes of classes; the same classes give the same list. The caller MUST NOT
// change it.
func (w *welfareRound) nodes(classes []int) []int32 {
	for k, of := range w.classLists {
		if slices.Equal(of, classes) {
			return w.classNodes[k]
		}
	}
	var out []int32
	for i, c := range w.class {
		if slices.Contains(classes, c) && w.floor[i].Usable {
			out = append(out, int32(i))
		}
	}
	w.classLists, w.classNodes = append(w.classLists, classes), append(w.classNodes, out)
	return out
}

// sameShares reports whether two places have the same shares in the same order.
func sameShares(a, b []joint.Share) bool { return slices.Equal(a, b) }

// nodesFor returns the nodes of a place in the order of an option's tasks; false if the place
// is not of the option. The place may list its shares in any order.
func nodesFor(o *welfare.Option, place []joint.Share) ([]int32, bool) {
	left := slices.Clone(place)
	var out []int32
	for t := range o.Tasks {
		task := &o.Tasks[t]
		for range task.Count {
			k := slices.IndexFunc(left, func(s joint.Share) bool {
				_, edge := slices.BinarySearch(task.Nodes, int32(s.Node))
				return edge && int64(s.GPUs) == task.Needs[resGPU]
			})
			if k < 0 {
				return nil, false
			}
			out = append(out, int32(left[k].Node))
			left = slices.Delete(left, k, k+1)
		}
	}
	return out, len(left) == 0
}
