package keeper

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/search"
	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// Plan is a sweep as the searchers read it. It is made by NewPlan and belongs to one goroutine:
// points is written by every Step, and copies of a Plan share it. A new sweep.json needs a new
// Plan; the book stays.
type Plan struct {
	Sweep   sweep.Sweep
	Problem search.Problem
	Halving bool // trials that lose at a rung are paused
	Asks    bool // points are the answers of a program; Problem is for the user's tries only

	points map[string]space.Point // those that were read, by their text; there are thousands
}

// mostByModel bounds the trials of a sweep that is searched by a Gaussian process.
const mostByModel = 1000

// point reads the text of a point. It does not ask the space, so trials from before an edit of the
// space stay in the history.
func (p Plan) point(text string) (space.Point, bool) {
	if point, known := p.points[text]; known {
		return point, true
	}
	point, err := space.ReadPoint(sweep.PointJSON(sweep.ParsePoint(text)))
	if err != nil {
		return point, false
	}
	p.points[text] = point
	return point, true
}

// NewPlan reads what a sweep searches, and how. The error is of the user's texts, an *space.Error
// where it has a column. s MUST be valid (sweep.Parse). It also makes the first suggestions as a
// trial (search.Problem.Check), so constraints that no point satisfies are refused here. A space
// that has no point beyond its tries is not: they are all its trials.
//
//	asha       random points, halving     tpe       points by tpe, every trial to its end
//	ask        points by the user's program
//	asha+tpe   points by tpe, halving     grid, sobol, gp, random   likewise
func NewPlan(s sweep.Sweep) (Plan, error) {
	p := Plan{Sweep: s, points: map[string]space.Point{}}
	sp, err := space.Parse(s.Params, s.Wheres)
	if err != nil {
		return Plan{}, err
	}
	method, halving := s.Algorithm, false
	if first, second, both := strings.Cut(s.Algorithm, "+"); first == "asha" {
		halving, method = true, "random"
		if both {
			method = second
		}
	}
	p.Halving = halving
	if p.Asks = method == "ask"; p.Asks {
		method = "random"
	}
	p.Problem = search.Problem{Space: sp, Method: method, Max: s.Metric.Max, Seed: s.Seed}
	for i, text := range s.Tries {
		given, err := sp.Given(text)
		if err != nil {
			if e, is := err.(*space.Error); is {
				e.Index = i
			}
			return Plan{}, err
		}
		p.Problem.Tries = append(p.Problem.Tries, given)
	}
	if method == "gp" && s.Trials > mostByModel {
		return Plan{}, fmt.Errorf("--sweep %s: at most %d trials, because each suggestion takes time with the third power of their number; choose tpe for more", s.Algorithm, mostByModel)
	}
	if method == "pbt" {
		return Plan{}, fmt.Errorf("--sweep %s: population based training is not carried out by lanes yet; choose asha, random, grid, sobol, tpe or gp", s.Algorithm)
	}
	if err := p.Problem.Check(); err != nil && !errors.Is(err, search.ErrExhausted) {
		return Plan{}, err
	}
	return p, nil
}
