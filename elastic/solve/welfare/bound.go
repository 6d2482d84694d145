package welfare

import (
	"cmp"
	"math"
	"slices"
)

// Bound returns an upper bound of the welfare of every plan: a Lagrangian relaxation in which
// each job decides alone, paying a price for what it takes of each resource of each node, and
// the provider sells as much as the prices make worth its cost. The prices are improved by this
// many steps of a subgradient method (Held, Wolfe & Crowder, Mathematical Programming 6, 1974);
// the value of every step is a bound, and the smallest is returned. low is a welfare that can
// be reached.
//
// A wrong low, also one above the optimum, changes only how fast prices improve and when they stop,
// never whether the result is a bound. At least one step is made. The result is -Inf if a job that
// must have nodes has no option with enough of them. A step costs the number of all edges, and
// their sorting where a task has more than it needs.
func Bound(p *Problem, low float64, steps int) float64 { return newDual(p).descend(low, steps) }

// dual is a set of prices.
// price and pay are values per unit and hour: the multipliers of the nodes' room and of the equation
// that the use which jobs make of an account is what the provider sells of it.
type dual struct {
	p      *Problem
	kinds  int
	price  []float64 // by node and resource, at least 0
	pay    []float64 // by account, the cost of a unit's use as the jobs see it
	most   []int64   // by account, the amount that exists
	taken  []float64 // by node and resource
	used   []float64 // by account
	sold   []float64 // by account: use that the provider offers
	best   []float64 // the prices with the smallest bound, then the pay
	offers []offer   // workspace
}

// newDual begins with free nodes, and pay at the cost of the next unit beyond what others use.
func newDual(p *Problem) *dual {
	d := &dual{p: p, kinds: p.kinds()}
	d.price, d.taken = make([]float64, len(p.Nodes)*d.kinds), make([]float64, len(p.Nodes)*d.kinds)
	d.pay, d.used, d.sold = make([]float64, len(p.Costs)), make([]float64, len(p.Costs)), make([]float64, len(p.Costs))
	d.most = make([]int64, len(p.Costs))
	for n := range p.Nodes {
		for r, free := range p.Nodes[n].Free {
			if a := p.Nodes[n].account(r); a < len(d.most) {
				d.most[a] += free
			}
		}
	}
	for a, c := range p.Costs {
		d.pay[a] = c.slope(p.used(a))
	}
	return d
}

// descend lowers the bound step by step and leaves the best prices in place.
// The length of a step is that of Held, Wolfe and Crowder: the distance from low, over the square of
// the subgradient, times a factor that begins at 2 and is halved after 10 steps without progress.
// It ends early when the bound reaches low, which is then optimal, or when no price can change.
func (d *dual) descend(low float64, steps int) float64 {
	least, scale, since := math.Inf(1), 2.0, 0
	for range max(1, steps) {
		at := d.value()
		if d.best == nil || at < least-1e-12*(1+math.Abs(least)) {
			least, since = at, 0
			d.best = append(append(d.best[:0], d.price...), d.pay...)
		} else if since++; since >= 10 {
			scale, since = scale/2, 0
		}
		if least <= low+1e-9*(1+math.Abs(low)) || !d.follow(scale*math.Max(at-low, 1e-6*math.Abs(at))) {
			break
		}
	}
	copy(d.price, d.best)
	copy(d.pay, d.best[len(d.price):])
	return least
}

// value returns the bound of the prices, and records what is taken and used.
func (d *dual) value() float64 {
	clear(d.taken)
	clear(d.used)
	sum := 0.0
	for i := range d.p.Jobs {
		sum += d.answer(&d.p.Jobs[i])
	}
	for n := range d.p.Nodes {
		for r, free := range d.p.Nodes[n].Free {
			sum += d.price[n*d.kinds+r] * float64(free)
		}
	}
	for a := range d.pay {
		sum += d.profit(a)
	}
	return sum
}

// profit returns the provider's profit from selling the use of an account at its pay: the
// conjugate of its cost.
// It sets sold to the use that gives the profit, from 0 to what exists.
func (d *dual) profit(a int) float64 {
	c, used := d.p.Costs[a], d.p.used(a)
	base, best := c.At(used), math.Inf(-1)
	for _, x := range c.kinks(used, d.most[a]) {
		if v := d.pay[a]*float64(x) - (c.At(used+x) - base); v > best {
			best, d.sold[a] = v, float64(x)
		}
	}
	return best
}

// answer returns the surplus of a job's best option, and takes what it needs.
// A job that need not run takes nothing where no option has a surplus above 0.
func (d *dual) answer(j *Job) float64 {
	most, pick := math.Inf(-1), None
	if !j.Must {
		most = 0
	}
	for k := range j.Options {
		if v := d.surplus(&j.Options[k]); v > most {
			most, pick = v, k
		}
	}
	if pick == None {
		return most
	}
	o := &j.Options[pick]
	for i := range o.Tasks {
		t := &o.Tasks[i]
		offers, _ := d.cheapest(t)
		for _, at := range offers {
			for r, need := range t.Needs {
				d.taken[int(at.node)*d.kinds+r] += float64(need)
				if a := d.p.Nodes[at.node].account(r); a < len(d.used) {
					d.used[a] += float64(need)
				}
			}
		}
	}
	return most
}

// surplus returns an option's value less its price; -Inf if a task has too few edges.
func (d *dual) surplus(o *Option) float64 {
	v := o.Value
	for i := range o.Tasks {
		offers, ok := d.cheapest(&o.Tasks[i])
		if !ok {
			return math.Inf(-1)
		}
		for _, at := range offers {
			v -= at.price
		}
	}
	return v
}

// offer is the cost of a task on a node.
// price is for all its needs there, with the pay for their use.
type offer struct {
	node  int32
	price float64
}

// cheapest returns the nodes on which equal tasks cost least, one each, valid until the next
// call; false if there are not enough.
func (d *dual) cheapest(t *Task) ([]offer, bool) {
	if len(t.Nodes) < t.Count {
		return nil, false
	}
	d.offers = d.offers[:0]
	for _, n := range t.Nodes {
		sum := 0.0
		for r, need := range t.Needs {
			sum += float64(need) * d.price[int(n)*d.kinds+r]
			if a := d.p.Nodes[n].account(r); a < len(d.pay) {
				sum += float64(need) * d.pay[a]
			}
		}
		d.offers = append(d.offers, offer{n, sum})
	}
	if t.Count < len(d.offers) {
		slices.SortStableFunc(d.offers, func(a, b offer) int { return cmp.Compare(a.price, b.price) })
	}
	return d.offers[:t.Count], true
}

// follow makes a step against the subgradient, scaled by gap; false if it is zero.
// A price at 0 that would fall does not count in the length of the subgradient, because it stays.
func (d *dual) follow(gap float64) bool {
	square := 0.0
	each := func(see func(price *float64, slack float64)) {
		for n := range d.p.Nodes {
			for r, free := range d.p.Nodes[n].Free {
				see(&d.price[n*d.kinds+r], float64(free)-d.taken[n*d.kinds+r])
			}
		}
		for a := range d.pay {
			see(&d.pay[a], d.sold[a]-d.used[a])
		}
	}
	each(func(price *float64, slack float64) {
		if *price > 0 || slack < 0 {
			square += slack * slack
		}
	})
	if square == 0 || math.IsInf(gap, 0) || math.IsNaN(gap) {
		return false
	}
	each(func(price *float64, slack float64) { *price = math.Max(0, *price-gap/square*slack) })
	return true
}
