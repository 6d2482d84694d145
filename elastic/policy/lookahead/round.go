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

// round is one look ahead in the making.
type round struct {
	snap    elastic.Snapshot
	at      map[string]int // node by name
	floor   []nodes.Node   // with what nobody here decides about on it
	class   []int          // of each node
	sorts   []string       // the partitions and type of each class
	groups  map[string]*group
	jobs    []job // in order of the snapshot: first come, first served
	moving  map[elastic.JobID]elastic.Intent
	gpus    int   // that can be decided about
	posed   []int // jobs of the problem, by index into jobs
	stop    bool  // started jobs may be stopped now
	starts  int   // how many of those that wait are started, or get a minimum, at most
	solver  knapsack.Solver
	classes knapsack.Classes
	sizes   []int    // workspace of accepted
	several bool     // there are several types of GPU
	mixed   []string // types of GPU of the nodes that have several
	causes  causes
}

// causes are the reasons in which lookahead and welfare differ.
type causes struct {
	stops   reason.Reason // who goes first where jobs are stopped
	shrinks reason.Reason // what others do with GPUs that are given back
	stays   reason.Reason // why nobody grows
	byType  bool          // it tells types of GPU apart
}

var endTimeCauses = causes{stops: reason.EndSoonerFirst, shrinks: reason.OthersEndSooner, stays: reason.NoResizePays}

// job is a job with what every step of a look ahead needs to know of it.
type job struct {
	roles.Subject
	group   *group
	choices []choice                         // accepted sizes with a split that exists, ascending
	must    bool                             // may not be left without GPUs
	admit   bool                             // waits and gets its minimum now
	rests   bool                             // moved a moment ago
	behind  *job                             // waits because this one came first
	end     float64                          // seconds the rest would take on an equal share
	stay    float64                          // seconds the rest takes where it is; 0 when it is nowhere
	worth   float64                          // co-state: seconds saved, over all jobs, by doing the rest
	surely  float64                          // of what another size promises, the part that is not noise
	plan    deadlinePlan                     // what deadlines mean for it
	use     struct{ horizon, share float64 } // see useful
}

// choice is a size with the ways to have it.
type choice struct {
	gpus   int
	splits []speed.Timed   // seconds a unit, fastest first; on the type of GPU it is fastest on
	kinds  [][]speed.Timed // the same on each of the group's kinds; nil where speeds do not tell these apart
	best   float64         // seconds the rest takes with the fastest
	packed float64         // and on the fewest nodes
}

// typical is what the rest is expected to take at a size before its place is known:
// somewhat nearer the fastest split than the tightest.
func (c choice) typical() float64 { return 0.6*c.best + 0.4*c.packed }

// group is the part of the cluster that the jobs of a partition may use.
type group struct {
	kinds   [][]int // classes used together, best first: one GPU type, then all
	classes []int   // all of them
	grid    speed.Grid
	gpus    int
	sizes   []int // worth trying when a job accepts any
}

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

// group returns what a partition's jobs may use that ask for a type of GPU; "" = any.
func (o *round) group(partition, kind string) *group {
	key := partition + " " + kind
	g, ok := o.groups[key]
	if !ok {
		g = o.newGroup(partition, kind)
		o.groups[key] = g
	}
	return g
}

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
		if len(kinds) > 1 { // mixed types last: they run at the pace of the slowest
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

// dense is up to how many GPUs every size is worth trying; beyond, whole nodes in
// growing steps keep fragments and choices few.
const dense = 64

// usualSizes lists the sizes worth trying for a job that accepts any.
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

// classify tells the jobs that can be decided about from the others, and puts what
// the others have on the floor.
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

func (o *round) committed(j *elastic.Job) nodes.Placement {
	if _, ok := o.moving[j.ID]; !ok {
		return j.Place
	}
	return o.snap.Committed(*j)
}

func (o *round) roleOf(j *roles.Subject) (roles.Role, reason.Reason) {
	few := o.snap
	few.Intents = nil
	if in, ok := o.moving[j.ID]; ok {
		few.Intents = []elastic.Intent{in}
	}
	return j.Classify(&few)
}

// strands names a node of a place where nothing new is started, and why that is; nil
// when there is none.
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

func nothingNew(n *nodes.Node) reason.Reason {
	return reason.NothingNew{Node: n.Name, State: n.Why.State, Note: n.Why.Note, Until: n.Why.Until}
}

// estimate fills in how long the rest of each job takes, as it is and at every
// size.
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
		if p.Work <= 0 { // it has done all it said it would do
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

// fix takes a running job out of the decision: it keeps what it has.
func (o *round) fix(p *job, why reason.Reason) {
	p.Role, p.FixedBecause, p.must = roles.Fixed, reason.Keeps{GPUs: p.Now, Because: why}, false
	nodes.Charge(o.floor, p.Load(p.At))
	o.gpus -= p.Now
}

// leastPrice is the least a move is taken to cost, in seconds: it keeps jobs from
// changing places for nothing.
const leastPrice = 5.0

// leastRest is the part of its total a job is taken to have left when it has done
// more than it said.
const leastRest = 0.01

// work estimates the units left of every job with a known speed, and returns what
// the others are taken to need on one GPU, in seconds.
func (o *round) work() (typical float64) {
	var known []float64
	for i := range o.jobs {
		if alone := o.jobs[i].Measure(); alone > 0 {
			known = append(known, alone)
		}
	}
	return roles.MedianWork(known)
}

// choices lists the sizes a job accepts and some split exists for.
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

// grid is the splits the cluster can give the job.
func (o *round) grid(p *job) speed.Grid {
	grid := p.group.grid
	grid.Uneven = p.Spec.AllowUneven
	if p.MaxNodes > 0 {
		grid.Nodes = min(grid.Nodes, p.MaxNodes)
	}
	return grid
}

// accepted lists the sizes worth trying that a job accepts, ascending. It is valid
// until the next call.
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

func (p *job) choice(n int, splits []speed.Timed) choice {
	c := choice{gpus: n, splits: splits, best: splits[0].Seconds * p.Work}
	c.packed = c.fewest().Seconds * p.Work
	return c
}

// fewest is the way to have the size on the fewest nodes.
func (c choice) fewest() speed.Timed {
	fewest := c.splits[0]
	for _, s := range c.splits[1:] {
		if len(s.Split) < len(fewest.Split) {
			fewest = s
		}
	}
	return fewest
}
