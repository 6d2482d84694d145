package lookahead

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/solve/knapsack"
	"github.com/sluice-hpc/sluice/nodes"
)

// round is one decision under construction. Invariants: floor has the use of ordinary jobs and of
// Fixed jobs, and of no other; gpus is the sum of its free GPUs. Classes are indices into sorts.
type round struct {
	snap    elastic.Snapshot
	at      map[string]int // node by name
	floor   []nodes.Node   // inventory with the use of everything that is not decided about
	class   []int          // class of each node
	sorts   []string       // partitions and type of each class
	groups  map[string]*group
	jobs    []job // in order of the snapshot: first come, first served
	moving  map[elastic.JobID]elastic.Intent
	gpus    int   // GPUs that can be decided about
	posed   []int // jobs of the problem, by index into jobs
	stop    bool  // started jobs may be stopped now
	starts  int   // how many waiting jobs are started, or get a minimum, at most
	solver  knapsack.Solver
	classes knapsack.Classes
	sizes   []int    // workspace of accepted
	several bool     // there are several types of GPU
	mixed   []string // GPU types of the nodes that have several
	causes  causes
}

// causes are the reasons that differ between lookahead and welfare.
type causes struct {
	stops   reason.Reason // which job has priority where jobs are stopped
	shrinks reason.Reason // what other jobs do with GPUs that are given back
	stays   reason.Reason // why a job does not grow
	byType  bool          // it distinguishes GPU types
}

var endTimeCauses = causes{stops: reason.EndSoonerFirst, shrinks: reason.OthersEndSooner, stays: reason.NoResizePays}

// job is a job with what every step of a decision needs to know about it.
type job struct {
	roles.Subject
	group   *group
	choices []choice                         // accepted sizes for which a split exists, ascending
	must    bool                             // MUST NOT be left without GPUs
	admit   bool                             // waits and gets its minimum now
	rests   bool                             // was moved lately
	behind  *job                             // the earlier job that this one waits for
	end     float64                          // remaining seconds on an equal share of the GPUs
	stay    float64                          // remaining seconds at its present place; 0 without one
	worth   float64                          // shadow price (co-state): seconds saved, over all jobs, by finishing its remaining work
	surely  float64                          // the share of a predicted gain that is not measurement noise
	plan    deadlinePlan                     // what its deadline requires
	use     struct{ horizon, share float64 } // see useful
}

// choice is a size with its possible splits. splits is never empty, and belongs to the curve: it
// MUST NOT be changed.
type choice struct {
	gpus   int
	splits []speed.Timed   // with seconds per unit, fastest first; on the GPU type where it is fastest
	kinds  [][]speed.Timed // the same on each of the group's types; nil if the speeds do not differ
	best   float64         // remaining seconds with the fastest split
	packed float64         // and with the fewest nodes
}

// typical returns the expected remaining time at a size before its place is known: somewhat
// nearer to the fastest split than to the one on the fewest nodes.
func (c choice) typical() float64 { return 0.6*c.best + 0.4*c.packed }

// group is the part of the cluster that the jobs of a partition may use. Jobs with equal
// partitions and GPU type share one group, so that groups are compared by address. gpus and grid
// are of the partition that has most, since a job runs in one partition only.
type group struct {
	kinds   [][]int // classes that may be used together, best first: one GPU type, then all
	classes []int   // all of them
	grid    speed.Grid
	gpus    int
	sizes   []int // sizes to try for a job that accepts any
}

// newRound sorts the nodes into classes: nodes of one class have the same partitions and the
// same GPU type, so a job may use all of them or none.
func newRound(s elastic.Snapshot) *round {
	o := &round{
		snap: s, at: make(map[string]int, len(s.Nodes)), groups: map[string]*group{},
		moving: make(map[elastic.JobID]elastic.Intent, len(s.Intents)), starts: len(s.Jobs), causes: endTimeCauses,
	}
	for _, in := range s.Intents {
		o.moving[in.Job] = in
	}
	o.floor = s.Foreign()
	o.class = make([]int, len(s.Nodes))
	for i, n := range s.Nodes {
		o.at[n.Name] = i
		kind := strings.Join(n.Partitions, ",") + " " + n.Type
		o.class[i] = slices.Index(o.sorts, kind)
		if o.class[i] < 0 {
			o.class[i] = len(o.sorts)
			o.sorts = append(o.sorts, kind)
		}
		o.several = o.several || n.Type != s.Nodes[0].Type
		for _, t := range n.Types {
			if o.several = true; !slices.Contains(o.mixed, t.Type) {
				o.mixed = append(o.mixed, t.Type)
			}
		}
	}
	return o
}

// group returns the nodes that jobs of a partition may use if they request a GPU type; "" =
// any.
func (o *round) group(partition, kind string) *group {
	key := partition + " " + kind
	g, ok := o.groups[key]
	if !ok {
		g = o.newGroup(partition, kind)
		o.groups[key] = g
	}
	return g
}

// newGroup returns the nodes of partitions (comma separated) for a GPU type, with the splits
// that they allow; own is the requested type, "" = any. A run is within one list of kinds: one
// type in one partition or, last, all types of a partition.
func (o *round) newGroup(partitions, own string) *group {
	g := &group{grid: speed.Grid{Any: o.snap.Limits.AnySplit()}}
	for _, partition := range strings.Split(partitions, ",") {
		var kinds [][]int
		var types []string
		var all []int
		count, gpus := 0, 0
		for i, n := range o.floor {
			if !n.Usable || n.GPUs == 0 || !n.In(partition) {
				continue
			}
			count, gpus = count+1, gpus+n.Has(own)
			g.grid.PerNode = max(g.grid.PerNode, n.Has(own))
			c := o.class[i]
			if slices.Contains(all, c) {
				continue
			}
			all = append(all, c)
			kind := cmp.Or(own, n.Type)
			k := slices.Index(types, kind)
			if k < 0 {
				types, kinds = append(types, kind), append(kinds, nil)
				k = len(types) - 1
			}
			kinds[k] = append(kinds[k], c)
		}
		if len(kinds) > 1 { // mixed types last: they run at the speed of the slowest
			kinds = append(kinds, all)
		}
		g.kinds = append(g.kinds, kinds...)
		g.grid.Nodes, g.gpus = max(g.grid.Nodes, count), max(g.gpus, gpus)
	}
	for _, kind := range g.kinds {
		for _, c := range kind {
			if !slices.Contains(g.classes, c) {
				g.classes = append(g.classes, c)
			}
		}
	}
	g.sizes = usualSizes(g.gpus, g.grid.PerNode)
	return g
}

// dense is the number of GPUs up to which every size is tried. Beyond it only whole nodes in
// growing steps are, which keeps fragments and choices few.
const dense = 64

// usualSizes lists the sizes to try for a job that accepts any. With 8 GPUs a node and 256 in all
// these are 1 to 16, then 24, 32, 48 and 64, then 96, 128, 192 and 256. Without nodes there are
// none.
func usualSizes(most, perNode int) []int {
	var out []int
	for n := 1; n <= min(most, dense); n++ {
		if most <= dense || n <= 2*perNode || n%perNode == 0 && spaced(n/perNode) {
			out = append(out, n)
		}
	}
	for k := dense/max(1, perNode) + 1; perNode > 0 && k*perNode <= most; k++ {
		if spaced(k) {
			out = append(out, k*perNode)
		}
	}
	return out
}

// spaced holds for numbers of nodes about a third apart: 1 2 3 4 6 8 12 16 24 ...
func spaced(k int) bool {
	for k%2 == 0 {
		k /= 2
	}
	return k == 1 || k == 3
}

// classify separates the jobs that can be decided about from the others, and books what the
// others have on the floor. The resize cost counts once more for each checkpoint request that the
// job left unanswered, because the next one may be unanswered too. Only Fixed jobs are booked: the
// GPUs of a movable job count as free.
func (o *round) classify() {
	var fixtures []nodes.Load
	o.jobs = make([]job, len(o.snap.Jobs))
	for i := range o.snap.Jobs {
		p, ej := &o.jobs[i], &o.snap.Jobs[i]
		p.Subject = roles.Subject{Job: *ej, At: o.committed(ej), ResizeCost: max(leastPrice, ej.Price.Total().Seconds()) * float64(1+ej.Deaf)}
		p.Now = p.At.GPUs()
		p.group = o.group(ej.Partition, ej.Spec.Type())
		if pin := ej.Directive.Pin; pin > 0 && ej.Spec.Allows(pin, max(pin, p.group.gpus)) {
			p.Pin = pin
		}
		p.Role, p.FixedBecause = o.roleOf(&p.Subject)
		if why := o.strands(p.At); p.Role == roles.Movable && why != nil {
			p.Role, p.FixedBecause = roles.Fixed, reason.Keeps{GPUs: p.Now, Because: why}
		}
		if p.Role == roles.Fixed && len(p.At) > 0 {
			fixtures = append(fixtures, p.Load(p.At))
		}
	}
	nodes.Charge(o.floor, fixtures...)
	for _, n := range o.floor {
		o.gpus += n.Free()
	}
}

// committed is Snapshot.Committed, without a search of the intents.
func (o *round) committed(j *elastic.Job) nodes.Placement {
	if _, ok := o.moving[j.ID]; !ok {
		return j.Place
	}
	return o.snap.Committed(*j)
}

// roleOf is Classify, without a search of the intents. The search would cost jobs x intents.
func (o *round) roleOf(j *roles.Subject) (roles.Role, reason.Reason) {
	few := o.snap
	few.Intents = nil
	if in, ok := o.moving[j.ID]; ok {
		few.Intents = []elastic.Intent{in}
	}
	return j.Classify(&few)
}

// strands returns why Slurm starts nothing new on a node of the place; nil if there is no such
// node. A job there may stay, but could not start again on that node, so that it is not resized.
func (o *round) strands(place nodes.Placement) reason.Reason {
	for _, s := range place {
		i, known := o.at[s.Node]
		switch {
		case !known:
			return reason.NothingNew{Node: s.Node}
		case !o.floor[i].Usable:
			return nothingNew(&o.floor[i])
		}
	}
	return nil
}

// nothingNew returns why no new job is placed on the node.
func nothingNew(n *nodes.Node) reason.Reason {
	return reason.NothingNew{Node: n.Name, State: n.Why.State, Note: n.Why.Note, Until: n.Why.Until}
}

// estimate sets the remaining time of each job, at its present size and at every other, in seconds.
// For a job without samples the median work of the others is assumed.
func (o *round) estimate() {
	typical := o.work()
	for i := range o.jobs {
		p := &o.jobs[i]
		if p.Role == roles.Fixed {
			continue
		}
		if p.Curve.Samples() == 0 && !p.Finished() {
			p.Work = typical
		}
		if p.Work <= 0 { // it has done all its declared work
			p.Work = leastRest * math.Max(1, p.Spec.Total)
		}
		if len(p.At) > 0 {
			seconds, _ := o.curve(p, p.At).Split(p.At.Split())
			p.stay = seconds * p.Work
		}
		p.rests = o.snap.Resting(&p.Job)
		p.surely = 1 / (1 + p.Curve.Scatter())
		if p.choices = o.choices(p); p.Role == roles.Movable && len(p.choices) == 0 {
			o.fix(p, reason.NoOtherSize)
		}
	}
}

// fix takes a running job out of the decision: it keeps what it has. It MUST come BEFORE the
// values and the problem are made.
func (o *round) fix(p *job, why reason.Reason) {
	p.Role, p.FixedBecause, p.must = roles.Fixed, reason.Keeps{GPUs: p.Now, Because: why}, false
	nodes.Charge(o.floor, p.Load(p.At))
	o.gpus -= p.Now
}

// leastPrice is the least resize cost that is assumed, in seconds: it keeps jobs from
// exchanging places for nothing.
const leastPrice = 5.0

// leastRest is the share of its total that a job is assumed to have left when it has done more
// than its declared work.
const leastRest = 0.01

// work estimates the remaining units of every job with a known speed, and returns what the
// other jobs are assumed to need on 1 GPU, in seconds.
func (o *round) work() (typical float64) {
	var known []float64
	for i := range o.jobs {
		if alone := o.jobs[i].Measure(); alone > 0 {
			known = append(known, alone)
		}
	}
	return roles.MedianWork(known)
}

// choices lists the sizes that a job accepts and for which some split exists.
func (o *round) choices(p *job) []choice {
	sizes := o.accepted(p)
	out := make([]choice, 0, len(sizes))
	if o.several && len(p.group.kinds) > 1 && p.Curve.KindsSeen() != nil {
		return o.byKind(p, sizes, out)
	}
	for i, splits := range p.Curve.Splits(o.grid(p), sizes...) {
		if len(splits) > 0 {
			out = append(out, p.choice(sizes[i], splits))
		}
	}
	return out
}

// grid returns the splits that the cluster can give the job.
func (o *round) grid(p *job) speed.Grid {
	grid := p.group.grid
	grid.Uneven = p.Spec.AllowUneven
	if p.MaxNodes > 0 {
		grid.Nodes = min(grid.Nodes, p.MaxNodes)
	}
	return grid
}

// accepted lists the sizes to try that a job accepts, ascending. The result is valid until the
// next call.
func (o *round) accepted(p *job) []int {
	sizes := p.group.sizes
	switch {
	case p.Pin > 0:
		sizes = []int{p.Pin}
		if p.Now > 0 && p.Now != p.Pin && p.Spec.Allows(p.Now, p.group.gpus) {
			sizes = append(sizes, p.Now)
			slices.Sort(sizes)
		}
	case len(p.Spec.Sizes) > 0:
		sizes = p.Spec.Sizes
	case p.Spec.Step > 1 || !slices.Contains(sizes, p.Spec.Min):
		sizes = p.Spec.Options(min(p.group.gpus, max(dense, 8*p.Spec.Min)))
	}
	o.sizes = o.sizes[:0]
	for _, n := range sizes {
		if n == p.Pin || p.Spec.Allows(n, p.group.gpus) {
			o.sizes = append(o.sizes, n)
		}
	}
	return o.sizes
}

// choice returns the size n with its splits, which MUST NOT be empty, fastest first.
func (p *job) choice(n int, splits []speed.Timed) choice {
	c := choice{gpus: n, splits: splits, best: splits[0].Seconds * p.Work}
	c.packed = c.fewest().Seconds * p.Work
	return c
}

// fewest returns the split of the size with the fewest nodes.
func (c choice) fewest() speed.Timed {
	fewest := c.splits[0]
	for _, s := range c.splits[1:] {
		if len(s.Split) < len(fewest.Split) {
			fewest = s
		}
	}
	return fewest
}
