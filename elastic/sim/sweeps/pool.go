package sweeps

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/sweep/search"
	"github.com/sluice-hpc/sluice/elastic/sweep/space"
)

// params is the space from which the testbench's configurations were drawn.
var params = []string{
	"batch_size=logint:16:512", "learning_rate=log:1e-4:1e-1", "max_dropout=float:0:1", "max_units=logint:64:1024",
	"momentum=float:.1:.99", "num_layers=int:1:5", "weight_decay=float:1e-5:.1",
}

// Pool is a task's configurations as points of the space: what a searcher suggests becomes the
// nearest configuration, by the distance in the unit cube, that was not tried yet.
type Pool struct {
	task   *Task
	space  *space.Space
	points []space.Point
	units  [][]float64
}

// NewPool reads the task's configurations.
func NewPool(t *Task) (*Pool, error) {
	s, err := space.Parse(params, nil)
	if err != nil {
		return nil, err
	}
	p := &Pool{task: t, space: s}
	for _, config := range t.Configs {
		var parts []string
		for i, param := range s.Parameters() {
			if param.Name != t.Names[i] {
				return nil, fmt.Errorf("parameter %d of task %s is %s, not %s", i+1, t.Name, t.Names[i], param.Name)
			}
			x := min(max(config[i], param.Low), param.High) // the table is rounded
			parts = append(parts, param.Name+"="+strconv.FormatFloat(x, 'g', -1, 64))
		}
		g, err := s.Given(strings.Join(parts, ","))
		if err != nil {
			return nil, fmt.Errorf("task %s: %w", t.Name, err)
		}
		point, _ := s.Complete(g, rand.New(rand.NewPCG(0, 0)))
		u, _ := s.Units(point)
		p.points, p.units = append(p.points, point), append(p.units, u)
	}
	return p, nil
}

// nearest is the free configuration next to the point.
func (p *Pool) nearest(point space.Point, used []bool) int {
	u, _ := p.space.Units(point)
	best, least := -1, math.Inf(1)
	for k, v := range p.units {
		sum := 0.
		for i := range u {
			sum += (u[i] - v[i]) * (u[i] - v[i])
		}
		if !used[k] && sum < least {
			best, least = k, sum
		}
	}
	return best
}

// Regrets searches by the method, one full trial after the other, and returns the regret after
// each of the given numbers of trials: what the best one found lacks to the best of the pool, as
// part of what the median lacks. 0 is the best, and 1 no better than the median.
func (p *Pool) Regrets(method string, seed uint64, after []int) ([]float64, error) {
	var finals []float64
	for _, curve := range p.task.Metric {
		finals = append(finals, curve[len(curve)-1])
	}
	sorted := slices.Sorted(slices.Values(finals))
	best, median := sorted[len(sorted)-1], (sorted[(len(sorted)-1)/2]+sorted[len(sorted)/2])/2
	problem := search.Problem{Space: p.space, Method: method, Max: true, Seed: seed}
	used := make([]bool, len(finals))
	var history []search.Observation
	var regrets []float64
	found := math.Inf(-1)
	for n := 1; len(regrets) < len(after); n++ {
		list, err := search.Suggest(problem, history, 1)
		if err != nil {
			return nil, err
		}
		k := p.nearest(list[0].Point, used)
		used[k] = true
		found = max(found, finals[k])
		o := list[0].Observation()
		o.Point, o.State = p.points[k], search.Done
		o.Curve = []search.Measure{{Epoch: p.task.Epochs(), Value: finals[k]}}
		history = append(history, o)
		if slices.Contains(after, n) {
			regrets = append(regrets, (best-found)/(best-median))
		}
	}
	return regrets, nil
}
