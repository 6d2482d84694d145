package joint_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/solve/joint"
)

// TestDistinctOrders: the orders left out make no plan that an earlier one does not make.
func TestDistinctOrders(t *testing.T) {
	left := 0
	rapid.Check(t, func(t *rapid.T) {
		p := problems(t, true)
		want := make([]int, len(p.Jobs))
		for i, j := range p.Jobs {
			accepted := []int{0, sharesOf(j.Now)}
			for _, size := range j.Sizes {
				accepted = append(accepted, size.GPUs)
			}
			want[i] = rapid.SampledFrom(accepted).Draw(t, "size")
		}
		s := joint.NewSearch(p)
		plans := func(orders [][]int) (out []joint.Plan) {
			for _, order := range orders {
				if _, ok := s.Build(want, order); ok && !has(out, s.Plan()) {
					out = append(out, s.Plan())
				}
			}
			return out
		}
		all := joint.Orders(want, 12, rand.New(rand.NewPCG(1, 1)))
		each := plans(all)
		few := s.Distinct(want, all)
		if left += 12 - len(few); !reflect.DeepEqual(plans(few), each) {
			t.Fatalf("%d orders of 12 give %d plans, all %d", len(few), len(plans(few)), len(each))
		}
	})
	if left == 0 {
		t.Error("no order was ever left out")
	}
}

func has(plans []joint.Plan, p joint.Plan) bool {
	for _, have := range plans {
		if reflect.DeepEqual(have, p) {
			return true
		}
	}
	return false
}

func sharesOf(place []joint.Share) (n int) {
	for _, s := range place {
		n += s.GPUs
	}
	return n
}

// TestCeiling: no plan has a value above the ceiling, and on a single node, where only GPUs
// count, one reaches it.
func TestCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := problems(t, true)
		if most, ceiling := best(p), joint.NewSearch(p).Ceiling(); most > ceiling+1e-9 {
			t.Fatalf("a plan is worth %v, the ceiling is %v", most, ceiling)
		}
	})
	one := func(gpus int, value float64) joint.Size {
		return joint.Size{GPUs: gpus, Options: []joint.Option{{Split: []int{gpus}, Value: value}}}
	}
	group := [][]int{{0}}
	p := &joint.Problem{Nodes: []joint.Node{{Free: 4, CPUs: -1, MemoryMB: -1}}, Jobs: []joint.Job{
		{Groups: group, Must: true, Now: []joint.Share{{GPUs: 2}}, Stay: 1.5, Sizes: []joint.Size{one(1, 1), one(3, 2)}},
		{Groups: group, Sizes: []joint.Size{one(1, .25), one(2, .75), one(9, 5)}},
	}}
	if got := joint.NewSearch(p).Ceiling(); got != 2.25 {
		t.Errorf("the ceiling is %v, want 2.25", got)
	}
}
