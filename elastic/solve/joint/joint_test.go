package joint_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// solve does what a policy does: sizes placed in several orders, the best improved.
func solve(p *joint.Problem, seed uint64, moves int) (built, improved joint.Plan, ok bool) {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := joint.NewSearch(p)
	largest, smallest, now := make([]int, len(p.Jobs)), make([]int, len(p.Jobs)), make([]int, len(p.Jobs))
	for i, j := range p.Jobs {
		smallest[i], largest[i] = j.Sizes[0].GPUs, j.Sizes[len(j.Sizes)-1].GPUs
		for _, sh := range j.Now {
			now[i] += sh.GPUs
		}
	}
	for _, sizes := range [][]int{now, smallest, largest} {
		for _, order := range joint.Orders(sizes, 4, rng) {
			if value, can := s.Build(sizes, order); can && (!ok || value > built.Value) {
				built, ok = s.Plan(), true
			}
		}
	}
	if ok {
		improved = s.Improve(built, moves, rng)
	}
	return built, improved, ok
}

// TestPlansAreSound: every plan that is built or improved fits, obeys the rules, can be carried
// out, and has the value it states.
func TestPlansAreSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problems(t, true)
		built, improved, ok := solve(p, 3, 60)
		if !ok {
			t.Skip("no plan")
		}
		for _, plan := range []joint.Plan{built, improved} {
			checkPlan(t, p, plan)
		}
		if improved.Value < built.Value-1e-9*math.Abs(built.Value) {
			t.Fatalf("improved from %v to %v", built.Value, improved.Value)
		}
		again, better, _ := solve(p, 3, 60)
		if !reflect.DeepEqual(built, again) || !reflect.DeepEqual(improved, better) {
			t.Fatal("the same seed gives another plan")
		}
	})
}

func checkPlan(t *rapid.T, p *joint.Problem, plan joint.Plan) {
	w, value := world{p, plan.Places}, 0.0
	for i, j := range p.Jobs {
		place := plan.Places[i]
		stays := slices.Equal(place, j.Now)
		switch {
		case len(place) == 0 && j.Must:
			t.Fatalf("job %d must have a place: %+v", i, plan)
		case len(place) == 0:
		case !stays && !slices.ContainsFunc(everywhere(p, j), func(s []joint.Share) bool { return slices.Equal(inOrder(p, s), inOrder(p, place)) }):
			t.Fatalf("job %d is on %v, which is none of its places", i, place)
		case !w.fits(i, place):
			t.Fatalf("job %d is on %v, for which there is no room: %+v", i, place, plan)
		}
		value += worth(p, j, place)
	}
	if math.Abs(value-plan.Value) > 1e-9*math.Max(1, value) {
		t.Fatalf("is worth %v, says %v: %+v", value, plan.Value, plan)
	}
	if !p.AtOnce && !w.reached() {
		t.Fatalf("no order lets all jobs get there: %+v of %+v", plan, p)
	}
}

// inOrder returns a place as Slurm lists it, in the order of nodes; if any split is possible it
// keeps its order.
func inOrder(p *joint.Problem, place []joint.Share) []joint.Share {
	if p.AtOnce {
		return place
	}
	return slices.SortedFunc(slices.Values(place), func(a, b joint.Share) int { return a.Node - b.Node })
}

// sizes lists the shares of a place, small ones first.
func sizes(place []joint.Share) []int {
	var out []int
	for _, s := range place {
		out = append(out, s.GPUs)
	}
	slices.Sort(out)
	return out
}

// worth returns the best value of the place.
func worth(p *joint.Problem, j joint.Job, place []joint.Share) float64 {
	switch {
	case len(place) == 0:
		return 0
	case slices.Equal(place, j.Now):
		return j.Stay
	}
	best := math.Inf(-1)
	for _, s := range j.Sizes {
		for _, o := range s.Options {
			outside := func(s joint.Share) bool { return !slices.Contains(j.Groups[o.Of-1], p.Nodes[s.Node].Class) }
			if slices.Equal(slices.Sorted(slices.Values(o.Split)), sizes(place)) && (o.Of == 0 || !slices.ContainsFunc(place, outside)) {
				best = max(best, o.Value)
			}
		}
	}
	return best
}

// TestNearTheBest: on tiny clusters the best of a few plans, improved, is the optimum in 99 of
// 100 cases. In 2 or 3 of 100 no plan is found although there is one: those in which a job that
// lacks nothing has to make way.
func TestNearTheBest(t *testing.T) {
	value, found, count := 0.0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := problems(t, false)
		p.Near = 0
		most := best(p)
		_, plan, ok := solve(p, 5, 300)
		switch {
		case math.IsInf(most, 0) && ok:
			t.Fatalf("found %+v where there is no plan", plan)
		case math.IsInf(most, 0) || most <= 0:
			return
		case plan.Value > most*(1+1e-9):
			t.Fatalf("worth %v, and the best of all is %v: %+v of %+v", plan.Value, most, plan, p)
		}
		if count++; ok {
			found++
			value += plan.Value / most
		}
	})
	t.Logf("%d problems, %d plans, worth %.4f of the best", count, found, value/float64(found))
	if float64(found) < 0.85*float64(count) || value < 0.97*float64(found) {
		t.Errorf("of %d problems %d have a plan, worth %.4f of the best", count, found, value/float64(found))
	}
}

// TestExact: the exhaustive search finds what simple enumeration finds. With jobs that cannot
// be kept from sharing nodes a plan may be reachable only in an order in which they come last;
// such plans may be missed.
func TestExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problems(t, false)
		most := best(p)
		plan, ok := joint.Exact(p)
		mixes := slices.ContainsFunc(p.Jobs, func(j joint.Job) bool { return j.Mixes })
		if ok != !math.IsInf(most, 0) && !mixes {
			t.Fatalf("found a plan: %v; the best of all is worth %v", ok, most)
		}
		if ok && (plan.Value > most+1e-9*max(1, most) || !mixes && plan.Value < most-1e-9*max(1, most)) {
			t.Fatalf("worth %v, and the best of all is %v: %+v of %+v", plan.Value, most, plan, p)
		}
		if ok {
			checkPlan(t, p, plan)
		}
	})
}

// TestManyNodes: a job finds nodes of its own, however many it needs.
func TestManyNodes(t *testing.T) {
	p := &joint.Problem{Nodes: make([]joint.Node, 300)}
	for i := range p.Nodes {
		p.Nodes[i] = joint.Node{Free: 8, CPUs: -1, MemoryMB: -1}
	}
	split := slices.Repeat([]int{8}, 250)
	p.Jobs = []joint.Job{{Groups: [][]int{{0}}, Sizes: []joint.Size{{GPUs: 2000, Options: []joint.Option{{Split: split, Value: 1}}}}}}
	s := joint.NewSearch(p)
	if value, ok := s.Build([]int{2000}, []int{0}); !ok || value != 1 || len(s.Plan().Places[0]) != 250 {
		t.Errorf("worth %v: %+v", value, s.Plan())
	}
}

// TestNoJobsWaitInACircle: two jobs would both gain by exchanging places, and neither can go
// first; at the same moment they can.
func TestNoJobsWaitInACircle(t *testing.T) {
	node := joint.Node{Free: 2, CPUs: -1, MemoryMB: -1}
	job := func(node int, class ...int) joint.Job {
		return joint.Job{
			Groups: [][]int{class}, Must: true, Now: []joint.Share{{Node: node, GPUs: 2}}, Stay: 1,
			Sizes: []joint.Size{{GPUs: 2, Options: []joint.Option{{Split: []int{2}, Value: 5}}}},
		}
	}
	p := &joint.Problem{Nodes: []joint.Node{node, node}, Jobs: []joint.Job{job(0, 1), job(1, 0)}}
	p.Nodes[1].Class = 1
	for _, atOnce := range []bool{false, true} {
		p.AtOnce = atOnce
		_, plan, ok := solve(p, 1, 300)
		if want := map[bool]float64{false: 2, true: 10}[atOnce]; !ok || plan.Value != want {
			t.Errorf("at once %v: got %+v, want the value %v", atOnce, plan, want)
		}
	}
}
