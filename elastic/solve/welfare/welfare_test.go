package welfare

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawProblem draws small problems with all features: gangs of several tasks, edges, three
// resources, rising costs, accounts by node type.
func drawProblem(t *rapid.T) *Problem {
	p := &Problem{}
	count := rapid.IntRange(1, 4).Draw(t, "nodes")
	for range count {
		n := Node{Free: []int64{rapid.Int64Range(0, 4).Draw(t, "gpus"), rapid.Int64Range(0, 9).Draw(t, "cpus"), 1}}
		if rapid.Bool().Draw(t, "typed") {
			n.Account = []int{rapid.IntRange(0, 1).Draw(t, "type"), 2, 3}
		}
		p.Nodes = append(p.Nodes, n)
	}
	all := make([]int32, count)
	for i := range all {
		all[i] = int32(i)
	}
	for range rapid.IntRange(0, 3).Draw(t, "costs") {
		c := Cost{{0, rapid.Float64Range(0, 1).Draw(t, "rate")}}
		if rapid.Bool().Draw(t, "rises") {
			c = append(c, Step{rapid.Int64Range(1, 6).Draw(t, "from"), c[0].Rate + rapid.Float64Range(0, 2).Draw(t, "more")})
		}
		p.Costs = append(p.Costs, c)
		p.Used = append(p.Used, rapid.Int64Range(0, 4).Draw(t, "used"))
	}
	for range rapid.IntRange(0, 4).Draw(t, "jobs") {
		p.Jobs = append(p.Jobs, drawJob(t, all))
	}
	return p
}

func drawJob(t *rapid.T, all []int32) Job {
	j := Job{}
	for range rapid.IntRange(0, 4).Draw(t, "options") {
		o := Option{Value: rapid.Float64Range(-1, 10).Draw(t, "value")}
		for range rapid.IntRange(1, 2).Draw(t, "tasks") {
			edges := all
			if rapid.IntRange(0, 2).Draw(t, "affinity") == 0 {
				edges = slices.DeleteFunc(slices.Clone(all), func(n int32) bool { return rapid.Bool().Draw(t, "no edge") })
			}
			o.Tasks = append(o.Tasks, Task{
				Count: rapid.IntRange(1, 2).Draw(t, "count"), Nodes: edges,
				Needs: []int64{rapid.Int64Range(0, 3).Draw(t, "needs"), rapid.Int64Range(0, 3).Draw(t, "cpus"), rapid.Int64Range(0, 1).Draw(t, "spans")},
			})
		}
		j.Options = append(j.Options, o)
	}
	return j
}

// brute tries everything; it is written only to be obviously correct.
func brute(p *Problem) float64 {
	best := math.Inf(-1)
	places := make([]Place, len(p.Jobs))
	var job func(i int)
	job = func(i int) {
		if i == len(p.Jobs) {
			if w, ok := weigh(p, places); ok {
				best = max(best, w)
			}
			return
		}
		if places[i] = nowhere; !p.Jobs[i].Must {
			job(i + 1)
		}
		for k := range p.Jobs[i].Options {
			var task func(nodes []int32)
			task = func(nodes []int32) {
				if len(nodes) == p.Jobs[i].Options[k].tasks() {
					places[i] = Place{k, slices.Clone(nodes)}
					if p.Jobs[i].check(places[i]) == nil {
						job(i + 1)
					}
					return
				}
				for n := range p.Nodes {
					task(append(nodes, int32(n)))
				}
			}
			task(nil)
		}
	}
	job(0)
	return best
}

// weigh computes a plan's welfare from scratch.
func weigh(p *Problem, places []Place) (welfare float64, ok bool) {
	used := make([]int64, len(p.Costs))
	taken := make([][3]int64, len(p.Nodes))
	for i, at := range places {
		if at.Option == None {
			continue
		}
		o, k := p.Jobs[i].Options[at.Option], 0
		welfare += o.Value
		for _, t := range o.Tasks {
			for range t.Count {
				n := at.Nodes[k]
				for r, need := range t.Needs {
					if taken[n][r] += need; taken[n][r] > p.Nodes[n].Free[r] {
						return 0, false
					}
					if a := p.Nodes[n].account(r); a < len(used) {
						used[a] += need
					}
				}
				k++
			}
		}
	}
	for a, c := range p.Costs {
		welfare -= c.At(p.Used[a]+used[a]) - c.At(p.Used[a])
	}
	return welfare, true
}

func empty(p *Problem) Plan {
	plan := Plan{Places: make([]Place, len(p.Jobs))}
	for i := range plan.Places {
		plan.Places[i] = nowhere
	}
	return plan
}

func TestExactIsBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		p.Jobs = p.Jobs[:min(3, len(p.Jobs))]
		p.Nodes = p.Nodes[:min(3, len(p.Nodes))]
		for i := range p.Jobs {
			for k := range p.Jobs[i].Options {
				for l := range p.Jobs[i].Options[k].Tasks {
					s := &p.Jobs[i].Options[k].Tasks[l]
					s.Nodes = slices.DeleteFunc(slices.Clone(s.Nodes), func(n int32) bool { return int(n) >= len(p.Nodes) })
				}
			}
		}
		want := brute(p)
		got, proven := Exact(p, Plan{}, 1e6)
		if err := p.Check(got); err != nil || !proven || !near(got.Welfare, want) {
			t.Fatalf("%v (proven %v, %v), and %v is best", got, proven, err, want)
		}
		if b := Bound(p, 0, 100); b < want-1e-9*(1+abs(want)) {
			t.Fatalf("bound %v under %v", b, want)
		}
	})
}

// TestExactWithMust: jobs that must have nodes have them, if that is possible.
func TestExactWithMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		for i := range p.Jobs {
			p.Jobs[i].Must = rapid.Bool().Draw(t, "must")
		}
		want := brute(p)
		got, proven := Exact(p, Plan{}, 1e6)
		switch {
		case math.IsInf(want, -1):
			if got.Places != nil {
				t.Fatalf("%v, and there is no plan", got)
			}
		case p.Check(got) != nil || !proven || !near(got.Welfare, want):
			t.Fatalf("%v (proven %v, %v), and %v is best", got, proven, p.Check(got), want)
		}
	})
}

// TestSearchesAreSound: the results of the searches are valid, never worse than what they
// started from and never better than the optimum, and reproducible.
func TestSearchesAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		if rapid.Bool().Draw(t, "rule") {
			p.Allows = func(places []Place) bool { // no two jobs at their last options
				last := 0
				for i, at := range places {
					if at.Option == len(p.Jobs[i].Options)-1 {
						last++
					}
				}
				return last < 2
			}
			if p.Allows(empty(p).Places) == false {
				p.Allows = nil
			}
		}
		exact, proven := Exact(p, Plan{}, 1e6)
		starts := []Plan{empty(p)}
		for _, whole := range []bool{false, true} {
			g := Greedy(p, empty(p), whole)
			if err := p.Check(g); err != nil || g.Welfare < 0 {
				t.Fatalf("greedy: %v: %v", g, err)
			}
			starts = append(starts, g)
		}
		if again := Greedy(p, starts[1], false); again.Welfare < starts[1].Welfare-1e-9 {
			t.Fatalf("greedy goes from %v to %v", starts[1], again)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		run := func() Plan {
			plan, ok := Genetic(p, starts, Effort{8, 50}, rand.New(rand.NewPCG(seed, 1)))
			if !ok {
				t.Fatal("it had a start")
			}
			return plan
		}
		got := run()
		if err := p.Check(got); err != nil {
			t.Fatalf("%v: %v", got, err)
		}
		for _, s := range starts {
			if got.Welfare < s.Welfare-1e-9 {
				t.Fatalf("%v is worse than the start %v", got, s)
			}
		}
		if proven && got.Welfare > exact.Welfare+1e-9*(1+abs(exact.Welfare)) {
			t.Fatalf("%v is better than the best, %v", got, exact)
		}
		if !reflect.DeepEqual(got, run()) {
			t.Fatal("it answers otherwise when asked again")
		}
	})
}

// TestGangsStartTogether: of two gangs that do not both fit, one runs completely.
func TestGangsStartTogether(t *testing.T) {
	edges := []int32{0, 1}
	gang := Job{Options: []Option{{Value: 3, Tasks: []Task{
		{Count: 1, Needs: []int64{2}, Nodes: edges},
		{Count: 1, Needs: []int64{1}, Nodes: edges},
	}}}}
	p := &Problem{Nodes: []Node{{Free: []int64{3}}, {Free: []int64{2}}}, Jobs: []Job{gang, gang}}
	plan, _ := Genetic(p, []Plan{empty(p)}, Effort{8, 200}, rand.New(rand.NewPCG(1, 1)))
	if err := p.Check(plan); err != nil || plan.Welfare != 3 {
		t.Fatalf("%v: %v", plan, err)
	}
}

// TestCostsKeepResourcesIdle: what costs more than its value is not used, and with rising costs
// only as much as pays.
func TestCostsKeepResourcesIdle(t *testing.T) {
	one := Job{Options: []Option{{Value: 2, Tasks: []Task{{Count: 1, Needs: []int64{1}, Nodes: []int32{0}}}}}}
	p := &Problem{Nodes: []Node{{Free: []int64{4}}}, Jobs: []Job{one, one, one, one}, Costs: []Cost{{{0, 1}, {3, 5}}}, Used: []int64{1}}
	plan, proven := Exact(p, Plan{}, 1000)
	if !proven || plan.Welfare != 2 { // the others use 1: two more at 1 each, worth 2 each
		t.Fatalf("%v %v", plan, proven)
	}
	if g := Greedy(p, empty(p), false); !near(g.Welfare, 2) {
		t.Fatalf("greedy: %v", g)
	}
}

// TestGeneticLeavesALocalBest: from a plan that no single change improves it finds the exchange
// of two nodes that does.
func TestGeneticLeavesALocalBest(t *testing.T) {
	on := func(fast, slow float64) Job {
		return Job{Must: true, Options: []Option{
			{Value: fast, Tasks: []Task{{Count: 1, Needs: []int64{1}, Nodes: []int32{0}}}},
			{Value: slow, Tasks: []Task{{Count: 1, Needs: []int64{1}, Nodes: []int32{1}}}},
		}}
	}
	p := &Problem{Nodes: []Node{{Free: []int64{1}}, {Free: []int64{1}}}, Jobs: []Job{on(3, 1), on(9, 2)}}
	from := Plan{Places: []Place{{0, []int32{0}}, {1, []int32{1}}}, Welfare: 5}
	for seed := range uint64(20) {
		plan, ok := Genetic(p, []Plan{from}, Effort{4, 200}, rand.New(rand.NewPCG(seed, 1)))
		if !ok || plan.Welfare != 10 {
			t.Fatalf("seed %d: %v", seed, plan)
		}
	}
}

func TestCost(t *testing.T) {
	c := Cost{{0, 1}, {10, 3}}
	for used, want := range map[int64]float64{0: 0, 4: 4, 10: 10, 12: 16} {
		if got := c.At(used); got != want {
			t.Errorf("%d: %v, want %v", used, got, want)
		}
	}
	if got := c.kinks(4, 20); !slices.Equal(got, []int64{0, 6, 20}) {
		t.Errorf("%v", got)
	}
}
