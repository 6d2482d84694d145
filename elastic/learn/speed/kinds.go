package speed

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// family is the curves of one job on every node type that it ran on.
type family struct {
	on   map[string]*Curve
	base string // the type with the most samples
}

// Kinds joins the curves of one job on several node types, for On. The first type in order is
// the one used where no type is given.
//
// order MUST have at least one type. A type without a curve in on gets the prior.
func Kinds(order []string, on map[string]*Curve) *Curve {
	kin := &family{on: make(map[string]*Curve, len(on)), base: order[0]}
	for _, kind := range order {
		from := on[kind]
		if from == nil {
			from = unknown
		}
		own := &Curve{knowledge: from.knowledge}
		own.kin, own.kind = kin, ""
		kin.on[kind] = own
	}
	return kin.on[kin.base]
}

// KindOf returns the kind of a place on nodes of these types: the type if it is one, else all
// types in order, joined by +.
// types is not changed.
func KindOf(types []string) string {
	sorted := slices.Clone(types)
	slices.Sort(sorted)
	return strings.Join(slices.Compact(sorted), "+")
}

// Mixed reports whether a kind is several types.
func Mixed(kind string) bool { return strings.Contains(kind, "+") }

// On returns the curve on one node type (Sample.Kind). A type on which the job did not run is
// assumed to be as fast as the one with the most samples; of several types together the slowest
// counts, since all GPUs of a job wait for each other.
func (c *Curve) On(kind string) *Curve {
	if c == nil || c.kin == nil {
		return c
	}
	own, seen := c.kin.on[kind]
	if !seen {
		own = c.kin.slowest(kind)
	}
	if c.idle != nil && own.idle == nil {
		own = own.Idle(c.idle.at, c.idle.share)
	}
	return own
}

// slowest returns the curve on several types together, or on one without samples.
func (f *family) slowest(kinds string) *Curve {
	slowest := f.on[f.base]
	worst := 0.0
	for part := range strings.SplitSeq(kinds, "+") {
		own, seen := f.on[part]
		if !seen {
			continue
		}
		if s, _ := own.Seconds(Shape{1, 1}); s > worst {
			slowest, worst = own, s
		}
	}
	return slowest
}

// KindsSeen returns the node types that the curve distinguishes, in order; nil if it has one
// curve for all.
func (c *Curve) KindsSeen() []string {
	if c == nil || c.kin == nil {
		return nil
	}
	out := make([]string, 0, len(c.kin.on))
	for kind := range c.kin.on {
		out = append(out, kind)
	}
	slices.Sort(out)
	return out
}

// Observed returns how many samples of equal weight the curve has of one node type; +Inf if it
// is Known.
func (c *Curve) Observed(kind string) float64 {
	switch {
	case c == nil:
		return 0
	case c.kin != nil:
		own, seen := c.kin.on[kind]
		if !seen {
			return 0
		}
		c = own
	case c.kind != kind && c.known == nil:
		return 0
	}
	if c.known != nil {
		return math.Inf(1)
	}
	sum := 0.0
	for _, p := range c.measured {
		if !p.lent {
			sum += p.count
		}
	}
	return sum
}

// kindsOf lists the node types of usable samples, in order. Samples without a type belong to
// the only type, if there is only one.
func kindsOf(all ...[]Sample) []string {
	var out []string
	for _, samples := range all {
		for i := range samples {
			if s := &samples[i]; s.usable() && !slices.Contains(out, s.Kind) {
				out = append(out, s.Kind)
			}
		}
	}
	slices.Sort(out)
	if len(out) == 2 && out[0] == "" {
		return out[1:]
	}
	return out
}

// kindred is what is known of one node type by itself.
type kindred struct {
	units, steps []Sample
	unit, step   *Curve
}

// fitKinds makes a curve for each node type. A shape measured on one type only also says how
// the time changes with the shape on other types: they borrow its samples, scaled by the ratio
// of the types where both were measured.
func fitKinds(units, steps []Sample, kinds []string, now time.Time) *Curve {
	known := make([]kindred, len(kinds))
	for i, kind := range kinds {
		k := &known[i]
		k.units, k.steps = ofKind(units, kind), ofKind(steps, kind)
		k.unit, k.step = fit(k.units, now), fit(k.steps, now)
	}
	on := make(map[string]*Curve, len(kinds))
	for i, kind := range kinds {
		k := &known[i]
		units, steps := k.units, k.steps
		for j := range known {
			if j == i || Mixed(kinds[j]) { // which type slowed a run on several types is not known
				continue
			}
			if by, ok := k.slower(&known[j]); ok {
				units = append(slices.Clip(units), scaled(known[j].units, by, k.unit)...)
				steps = append(slices.Clip(steps), scaled(known[j].steps, by, k.step)...)
			}
		}
		on[kind] = fitWith(units, steps, now)
		on[kind].disown(k)
	}
	order := slices.Clone(kinds)
	weight := func(kind string) int {
		k := &known[slices.Index(kinds, kind)]
		return 2*len(k.units) + len(k.steps) // an epoch counts more than a step
	}
	slices.SortStableFunc(order, func(a, b string) int {
		if Mixed(a) != Mixed(b) { // it stands for none of its types
			return mixedLast(a)
		}
		return cmp.Compare(weight(b), weight(a))
	})
	return Kinds(order, on)
}

func mixedLast(a string) int {
	if Mixed(a) {
		return 1
	}
	return -1
}

// slower returns how many times as long everything takes as on the other type; false if no
// shape was timed on both, or the shapes timed on both disagree.
func (k *kindred) slower(than *kindred) (float64, bool) {
	if k.step != nil && than.step != nil {
		return k.step.part(than.step)
	}
	if k.unit != nil && than.unit != nil {
		return k.unit.part(than.unit)
	}
	return 0, false
}

// disown marks the points that were not measured on this node type.
func (c *Curve) disown(k *kindred) {
	for i := range c.measured {
		p := &c.measured[i]
		p.lent = !k.unit.has(p.Shape) && !k.step.has(p.Shape)
	}
}

func (c *Curve) has(s Shape) bool {
	if c == nil {
		return false
	}
	_, seen := c.at(s)
	return seen
}

func ofKind(samples []Sample, kind string) []Sample {
	var out []Sample
	for _, s := range samples {
		if s.Kind == kind {
			out = append(out, s)
		}
	}
	return out
}
