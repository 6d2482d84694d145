package anneal_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/solve/anneal"
	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// cluster returns nodes of four GPUs.
func cluster(count int) []joint.Node {
	out := make([]joint.Node, count)
	for i := range out {
		out[i] = joint.Node{Free: 4, CPUs: -1, MemoryMB: -1}
	}
	return out
}

// job draws a job that scales by some power of its GPUs, is slower or faster on several nodes,
// and pays for a move. Splits are even, as Slurm allocates them.
func job(rng *rand.Rand, nodes int) joint.Job {
	j := joint.Job{Groups: [][]int{{0}}, Must: rng.IntN(4) > 0}
	power, weight, hop, price := 0.3+0.7*rng.Float64(), 0.2+rng.Float64(), 0.9+0.3*rng.Float64(), 0.85+0.1*rng.Float64()
	for n := 1; n <= 4*nodes; n++ {
		s := joint.Size{GPUs: n}
		for m := (n + 3) / 4; m <= min(n, nodes); m++ {
			if n%m == 0 {
				split := make([]int, m)
				for k := range split {
					split[k] = n / m
				}
				s.Options = append(s.Options, joint.Option{Split: split, Value: price * weight * math.Pow(float64(n), power) / math.Pow(hop, float64(m-1))})
			}
		}
		if len(s.Options) == 2 && s.Options[1].Value > s.Options[0].Value {
			s.Options[0], s.Options[1] = s.Options[1], s.Options[0]
		}
		if len(s.Options) > 0 {
			j.Sizes = append(j.Sizes, s)
		}
	}
	return j
}

// problem draws jobs of which some run where a plan has placed them.
func problem(seed uint64, nodes, jobs int) *joint.Problem {
	rng := rand.New(rand.NewPCG(seed, uint64(jobs)))
	p := &joint.Problem{Nodes: cluster(nodes), AtOnce: rng.IntN(2) == 0, Share: rng.IntN(2) == 0}
	for range jobs {
		p.Jobs = append(p.Jobs, job(rng, nodes))
	}
	sizes := make([]int, jobs)
	for i := range sizes {
		sizes[i] = rng.IntN(1 + 4*nodes)
	}
	s := joint.NewSearch(p)
	if _, ok := s.Build(sizes, rng.Perm(jobs)); !ok {
		return p
	}
	for i, place := range s.Plan().Places {
		if len(place) > 0 && rng.IntN(3) > 0 {
			p.Jobs[i].Now, p.Jobs[i].Stay = place, p.Worth(i, place)/0.9
		}
	}
	return p
}

// present returns the plan that moves no job, and starts those that must start.
func present(p *joint.Problem) (*joint.Search, joint.Plan, bool) {
	s := joint.NewSearch(p)
	sizes, order := make([]int, len(p.Jobs)), make([]int, len(p.Jobs))
	for i := range p.Jobs {
		order[i] = i
		for _, sh := range p.Jobs[i].Now {
			sizes[i] += sh.GPUs
		}
		if p.Jobs[i].Must {
			sizes[i] = max(sizes[i], p.Jobs[i].Smallest())
		}
	}
	_, ok := s.Build(sizes, order)
	return s, s.Plan(), ok
}

func improve(s *joint.Search, from joint.Plan, seed uint64, changes int) joint.Plan {
	return anneal.Improve(s, from, changes, rand.New(rand.NewPCG(seed, 1)))
}

// TestNeverBelowItsStart: the result is neither below the initial plan nor above the optimum;
// it fits, has the value it states, can be carried out, and the same seed finds it again.
func TestNeverBelowItsStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problem(rapid.Uint64().Draw(t, "seed"), 2, rapid.IntRange(1, 4).Draw(t, "jobs"))
		s, from, ok := present(p)
		if !ok {
			t.Skip("no plan to begin with")
		}
		changes := rapid.SampledFrom([]int{0, 1, 10, 300}).Draw(t, "changes")
		got := improve(s, from, 3, changes)
		exact, _ := joint.Exact(p)
		if got.Value < from.Value || got.Value > exact.Value*(1+1e-9) {
			t.Fatalf("from %v to %v, and the best is %v", from.Value, got.Value, exact.Value)
		}
		sound(t, p, got)
		if s.Resume(got); !s.Reachable() {
			t.Fatalf("they would wait for each other in a circle: %+v", got)
		}
		s, from, _ = present(p)
		if again := improve(s, from, 3, changes); !reflect.DeepEqual(again.Places, got.Places) {
			t.Fatalf("the same seed finds %+v, and then %+v", got, again)
		}
	})
}

// sound checks that every job that must have a place has one, that no node is over-committed,
// and that the values add up.
func sound(t *rapid.T, p *joint.Problem, plan joint.Plan) {
	value, used, spans := 0.0, make([]int, len(p.Nodes)), make([]int, len(p.Nodes))
	for i := range p.Jobs {
		place := plan.Places[i]
		if len(place) == 0 && p.Jobs[i].Must {
			t.Fatalf("job %d must have a place: %+v", i, plan)
		}
		if len(place) > 0 {
			if p.Worth(i, place) == 0 {
				t.Fatalf("job %d does not accept %v", i, place)
			}
			value += p.Worth(i, place)
		}
		for _, s := range place {
			used[s.Node] += s.GPUs
			if len(place) > 1 {
				spans[s.Node]++
			}
		}
	}
	for n := range used {
		if used[n] > p.Nodes[n].Free || spans[n] > 1 && !p.Share {
			t.Fatalf("node %d gives %d GPUs, to %d jobs over several nodes: %+v", n, used[n], spans[n], plan)
		}
	}
	if math.Abs(value-plan.Value) > 1e-9*math.Max(1, value) {
		t.Fatalf("is worth %v, says %v", value, plan.Value)
	}
}

// TestNearTheBest: on clusters so small that all plans can be enumerated.
func TestNearTheBest(t *testing.T) {
	var began, ended, count, best float64
	for seed := range uint64(100) {
		p := problem(seed, 2, 3+int(seed%2))
		s, from, ok := present(p)
		exact, _ := joint.Exact(p)
		if !ok || exact.Value <= 0 {
			continue
		}
		got := improve(s, from, seed, 2000).Value / exact.Value
		if began, ended, count = began+from.Value/exact.Value, ended+got, count+1; got > 1-1e-9 {
			best++
		}
	}
	t.Logf("%.0f problems: begins at %.4f of the best, ends at %.5f; the best in %.0f", count, began/count, ended/count, best)
	if ended < 0.999*count || best < 0.95*count || began > 0.9*count {
		t.Errorf("of %.0f problems the best is found in %.0f, the mean is %.5f of it, from %.4f", count, best, ended/count, began/count)
	}
}

// TestMoreChangesAreBetter: on a larger cluster, on average: it ends above where it began, and
// further above with more changes.
func TestMoreChangesAreBetter(t *testing.T) {
	sums := map[int]float64{}
	steps := []int{0, 300, 10_000}
	for seed := range uint64(10) {
		p := problem(seed, 8, 16)
		for _, changes := range steps {
			s, from, ok := present(p)
			if !ok {
				t.Fatalf("seed %d: no plan to begin with", seed)
			}
			sums[changes] += improve(s, from, seed, changes).Value
		}
	}
	t.Logf("sums of values by changes: %v", sums)
	if sums[300] < 1.02*sums[0] || sums[10_000] < 1.01*sums[300] {
		t.Errorf("sums of values by changes: %v", sums)
	}
}

// TestLeavesTheCircle: two jobs that would gain by exchanging places cannot both wait for each
// other, unless all move at the same moment.
func TestLeavesTheCircle(t *testing.T) {
	for _, atOnce := range []bool{false, true} {
		p := &joint.Problem{Nodes: cluster(2), AtOnce: atOnce}
		p.Nodes[1].Class = 1
		for n := range 2 {
			p.Jobs = append(p.Jobs, joint.Job{
				Groups: [][]int{{1 - n}}, Must: true, Now: []joint.Share{{Node: n, GPUs: 4}}, Stay: 1,
				Sizes: []joint.Size{{GPUs: 4, Options: []joint.Option{{Split: []int{4}, Value: 5}}}},
			})
		}
		s, from, ok := present(p)
		got := improve(s, from, 1, 300)
		if want := map[bool]float64{false: 2, true: 10}[atOnce]; !ok || got.Value != want {
			t.Errorf("at once %v: worth %v, want %v: %+v", atOnce, got.Value, want, got)
		}
	}
}
