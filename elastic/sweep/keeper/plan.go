package keeper

import (
	"errors"

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

// NewPlan reads what a sweep searches, and how. The error is of the user's texts, an *space.Error or
// an *sweep.OptionError where an option is at fault. s MUST be valid (sweep.Parse). It also makes the
// first suggestions as a trial (search.Problem.Check), so constraints that no point satisfies are
// refused here. A space that has no point beyond its tries is not: they are all its trials.
//
// What is refused here is refused when a sweep is submitted or extended, too (sbatch.CheckSweep).
func NewPlan(s sweep.Sweep) (Plan, error) {
	sp, tries, err := space.Read(s.Params, s.Wheres, s.Tries)
	if err == nil {
		err = s.Check(sp.Varied())
	}
	if err != nil {
		return Plan{}, err
	}
	method, halving, _ := s.Search()
	if s.Asks() {
		method = "random"
	}
	p := Plan{Sweep: s, Halving: halving, Asks: s.Asks(), points: map[string]space.Point{}}
	p.Problem = search.Problem{Space: sp, Method: method, Max: s.Metric.Max, Seed: s.Seed, Tries: tries, Levels: space.Levels,
		Repeats: s.Repeats, Members: s.Members, Period: s.Period()}
	if err := p.Problem.Check(); err != nil && !errors.Is(err, search.ErrExhausted) {
		return Plan{}, err
	}
	return p, nil
}
