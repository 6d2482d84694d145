package search

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// Part of a population that is replaced, and from which replacements are copied: a quarter. With
// fewer than 4 trials at an epoch nothing is compared there.
const quarter = 4

// members is Members, or 8 where it is not set.
func (p Problem) members() int {
	if p.Members <= 0 {
		return 8
	}
	return p.Members
}

// period is Period in epochs, or 4 where it is not set.
func (p Problem) period() int {
	if p.Period <= 0 {
		return 4
	}
	return p.Period
}

// Losers lists the running trials of a pbt sweep that are to be stopped, by trial: at the last
// multiple of Period epochs that they reached, they are in the worst quarter of all trials that
// reached it. Once such a trial is Paused, Suggest gives its replacement. A trial that a
// replacement copies is judged again only Period epochs later. The caller MUST pause what is listed
// BEFORE it asks Suggest: a trial that goes on running is listed again with every call, and gets no
// replacement. None is listed while fewer than 4 trials reached the epoch, or if the trial is as
// good as the best.
func Losers(p Problem, history []Observation) []Loser {
	asked := canonical(history)
	var list []Loser
	for _, o := range asked {
		if o.State != Running {
			continue
		}
		epoch := p.judged(o)
		if epoch <= o.Origin.Epoch {
			continue
		}
		order := p.standings(asked, epoch)
		n := len(order)
		place := slices.IndexFunc(order, func(s standing) bool { return s.trial == o.Trial })
		if n >= quarter && place >= n-n/quarter && order[place].value != order[0].value {
			list = append(list, Loser{o.Trial, epoch, place + 1, n})
		}
	}
	return list
}

// Loser is a trial that is to be replaced, and where that shows.
type Loser struct {
	Trial     int
	Epoch     int // at which it was compared
	Place, Of int // from 1; how many trials reached the epoch
}

// judged is the last multiple of Period that the trial reached. The epoch of its origin while it
// has no report; 0 for a trial from the start.
func (p Problem) judged(o Observation) int {
	if len(o.Curve) == 0 {
		return o.Origin.Epoch
	}
	return o.Curve[len(o.Curve)-1].Epoch / p.period() * p.period()
}

// standing is a trial's value at an epoch. The value may be of an earlier epoch, if reports are
// missing.
type standing struct {
	trial int
	value float64
}

// standings lists the trials that reached the epoch, the best first; each with its newest value
// up to it. A copy has no values before its origin, and its parent counts there.
func (p Problem) standings(asked []Observation, epoch int) []standing {
	var list []standing
	for _, o := range asked {
		if len(o.Curve) == 0 || o.Curve[len(o.Curve)-1].Epoch < epoch {
			continue
		}
		i := slices.IndexFunc(o.Curve, func(m Measure) bool { return m.Epoch > epoch })
		if i < 0 {
			i = len(o.Curve)
		}
		if i > 0 {
			list = append(list, standing{o.Trial, o.Curve[i-1].Value})
		}
	}
	slices.SortFunc(list, func(a, b standing) int {
		return cmp.Or(cmp.Compare(p.cost(a.value), p.cost(b.value)), cmp.Compare(a.trial, b.trial))
	})
	return list
}

// cost is small for good values. Models and standings compare costs only, so Max is known in one
// place.
func (p Problem) cost(value float64) float64 {
	if p.Max {
		return -value
	}
	return value
}

// evolve is the next trial of a pbt sweep: a member of the first population, or the replacement of
// the first trial that stopped or failed and has none. Each trial is replaced once, in the order of
// the trials; a replacement is a trial that may be replaced in turn. ErrWait if every trial that
// stopped has its replacement. The caller sets Trial.
func (p Problem) evolve(asked []Observation) (Suggestion, error) {
	var s Suggestion
	if len(asked) < p.members() {
		point, err := p.sobol(merge(asked))
		s.Point = point
		return s, err
	}
	replaced := map[int]bool{}
	for _, o := range asked {
		replaced[o.Origin.Replaces-1] = true
	}
	for _, o := range asked {
		if (o.State == Paused || o.State == Failed) && !replaced[o.Trial] {
			return p.replace(asked, o)
		}
	}
	return s, ErrWait
}

// replace copies one of the best quarter at the epoch at which the trial was judged, and changes
// its parameters. A trial that failed before its first decision starts anew. The copy goes on from
// the checkpoint that the leading trial wrote at this epoch, so the caller MUST keep the
// checkpoints of multiples of Period.
func (p Problem) replace(asked []Observation, o Observation) (Suggestion, error) {
	rng := p.random(len(asked), "pbt")
	s := Suggestion{Origin: Origin{Replaces: o.Trial + 1}}
	epoch := p.judged(o)
	best := p.standings(asked, epoch)
	best = slices.DeleteFunc(best, func(b standing) bool { return b.trial == o.Trial })
	if epoch == 0 || len(best) == 0 {
		point, err := p.fresh(merge(asked))
		s.Point = point
		return s, err
	}
	best = best[:max(1, len(best)/quarter)]
	from := best[rng.IntN(len(best))].trial
	i := slices.IndexFunc(asked, func(a Observation) bool { return a.Trial == from })
	s.Origin.From, s.Origin.Epoch = from+1, epoch
	point, found := p.explore(asked[i].Point, rng)
	if !found {
		return s, ErrConstraints
	}
	s.Point = point
	return s, nil
}

// explore moves each number by a fifth of its value up or down, a logarithmic one by a factor of
// 1.2 or 1/1.2, and with a probability of 1/4 draws any parameter anew, as the paper does. Choices
// are kept unless drawn anew. A parameter that the parent did not have is drawn. False if
// space.Draws changed points all break the constraints.
func (p Problem) explore(from space.Point, rng *rand.Rand) (space.Point, bool) {
	params := p.Space.Parameters()
	for range space.Draws {
		u, exists := p.Space.Units(from)
		for i, param := range params {
			switch v, _ := from.Get(param.Name); {
			case !exists[i] || rng.Float64() < .25:
				u[i] = rng.Float64()
			case param.Numeric():
				x := v.Number * 1.2
				if rng.IntN(2) == 0 {
					x = v.Number / 1.2
				}
				u[i] = param.Place(x)
			}
		}
		if point := p.Space.At(u); p.Space.Satisfies(point) {
			return point, true
		}
	}
	return space.Point{}, false
}
