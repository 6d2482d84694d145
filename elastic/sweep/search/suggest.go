package search

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// Problem is what stays the same while a sweep searches. Space is set; Method is one of Methods;
// the rest may be zero. It is passed by value and not changed.
type Problem struct {
	Space   *space.Space
	Method  string // one of Methods
	Max     bool   // the metric is to be large; else small
	Seed    uint64
	Tries   []space.Given // points to try first
	Repeats int           // trials of each point, with other seeds of their own; 0 counts as 1
	Levels  int           // grid: values of a range without steps; 0 counts as 5
	Members int           // pbt: size of the population; 0 counts as 8
	Period  int           // pbt: epochs between two decisions about a trial; 0 counts as 4
}

// Methods lists the names of the methods. The slice is new.
func Methods() []string { return []string{"random", "grid", "sobol", "tpe", "gp", "pbt"} }

// ErrExhausted: every point of the space was tried. It may come early in a large finite space; see
// fresh.
var ErrExhausted = errors.New("every point of the space was tried")

// ErrConstraints: the constraints reject all that is drawn.
var ErrConstraints = fmt.Errorf("none of %d points drawn satisfies the constraints", space.Draws)

// ErrWait: pbt suggests no trial before one of the population falls behind.
var ErrWait = errors.New("no trial of the population is to be replaced")

// Suggest says what to try next, at most n trials. history has every trial that was asked for,
// whatever became of it. It returns fewer than n only with an error, which is ErrExhausted,
// ErrConstraints, ErrWait, or about an unknown method or a grid that is too large. The suggestions
// made before the error are valid. After ErrWait the caller asks again once a trial has paused or
// failed. The other errors are final for random, grid and sobol, which see no results; tpe and gp
// may find a point once more trials have a metric.
func Suggest(p Problem, history []Observation, n int) ([]Suggestion, error) {
	if !slices.Contains(Methods(), p.Method) {
		return nil, fmt.Errorf("no method of search is called %q; there are %v", p.Method, Methods())
	}
	asked := canonical(history)
	var list []Suggestion
	for range n {
		s, err := p.next(asked)
		if err != nil {
			return list, err
		}
		list, asked = append(list, s), append(asked, s.Observation())
	}
	return list, nil
}

// next is one suggestion after the trials asked for, which are in canonical form. In this order:
// the repeats of the newest point, the user's tries, the method. Tries and methods count points
// rather than trials (groups), so repeats shift neither.
func (p Problem) next(asked []Observation) (Suggestion, error) {
	s := Suggestion{}
	if len(asked) > 0 {
		s.Trial = asked[len(asked)-1].Trial + 1
	}
	if last, found := p.unrepeated(asked); found {
		s.Point, s.Repeat = last.Point, last.Repeat+1
		return s, nil
	}
	// Tries come first for every method, also as the first members of a population.
	groups := merge(asked)
	if i := len(groups); i < len(p.Tries) {
		point, found := p.Space.Complete(p.Tries[i], p.random(i, "try"))
		if !found {
			return s, ErrConstraints
		}
		s.Point = point
		return s, nil
	}
	var err error
	switch p.Method {
	case "pbt":
		evolved, err := p.evolve(asked)
		evolved.Trial = s.Trial
		return evolved, err
	case "sobol":
		s.Point, err = p.sobol(groups)
	case "tpe", "gp":
		s.Point, err = p.modelled(groups)
	case "grid":
		s.Point, err = p.grid(groups)
	default:
		s.Point, err = p.fresh(groups)
	}
	return s, err
}

// unrepeated is the newest point if it has not all its repeats yet. Pbt has no repeats: its
// population is compared trial by trial.
func (p Problem) unrepeated(asked []Observation) (Observation, bool) {
	if len(asked) == 0 || p.Method == "pbt" {
		return Observation{}, false
	}
	last := asked[len(asked)-1]
	return last, last.Repeat+1 < p.Repeats
}

// random is the source of suggestion i; what it is for keeps streams apart. A source of its own for
// each suggestion, rather than one that goes on, is what makes suggestion i independent of how
// often a daemon was restarted before it.
func (p Problem) random(i int, purpose string) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range []byte(purpose) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(p.Seed^h, uint64(i)))
}

// duplicates bounds how many points that were tried already are drawn in a row before the space
// counts as exhausted.
const duplicates = 1000

// fresh draws evenly a point that was not tried. A space with many more points than duplicates may
// count as exhausted while a few are left: the chance to draw one of k that are left, of m, is
// 1-(1-k/m)^duplicates.
func (p Problem) fresh(groups []group) (space.Point, error) {
	tried := triedIn(groups)
	rng := p.random(len(groups), "random")
	for range duplicates {
		point, found := p.Space.Random(rng)
		if !found {
			return point, ErrConstraints
		}
		if !tried[point.String()] {
			return point, nil
		}
	}
	return space.Point{}, ErrExhausted
}

// triedIn has the texts of the points of all groups.
func triedIn(groups []group) map[string]bool {
	tried := map[string]bool{}
	for _, g := range groups {
		tried[g.point.String()] = true
	}
	return tried
}

// grid is the first point of the grid that was not tried. Points of the user's tries that lie on
// the grid are not tried again. ErrExhausted at its end.
func (p Problem) grid(groups []group) (space.Point, error) {
	points, err := p.Space.Grid(p.levels())
	if err != nil {
		return space.Point{}, err
	}
	tried := triedIn(groups)
	for _, point := range points {
		if !tried[point.String()] {
			return point, nil
		}
	}
	return space.Point{}, ErrExhausted
}

// levels is Levels, or 5 where it is not set.
func (p Problem) levels() int {
	if p.Levels <= 0 {
		return 5
	}
	return p.Levels
}

// Check refuses a problem that no history can make right, when a sweep is submitted: an unknown
// method, a grid that is too large (an *space.Error), tries that no point can have. It makes the
// suggestions for all tries and one more. No model is asked, since no trial has a metric.
func (p Problem) Check() error {
	if p.Method == "grid" {
		if _, err := p.Space.Grid(p.levels()); err != nil {
			return err
		}
	}
	_, err := Suggest(p, nil, len(p.Tries)+1)
	return err
}
