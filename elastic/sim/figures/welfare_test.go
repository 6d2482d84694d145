package figures

import (
	"math"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/solve/welfare"
)

// TestTwoTypesHaveTheirSpeeds: half the nodes are of the faster type, on which models are
// as much faster as is said, and of one type nothing is said.
func TestTwoTypesHaveTheirSpeeds(t *testing.T) {
	on := trial{"workload-1" + onTwoTypes, 0, 1, "welfare", weighed, replay.Oracle, everyB, restartB}
	count := map[string]int{}
	for _, n := range on.inventory() {
		count[n.Type]++
	}
	by := on.faster()
	if count[fasterType] != 8 || count[measuredType] != 8 || by("imagenet-3200", fasterType) != 2.2 || by("imagenet-3200", measuredType) != 1 {
		t.Errorf("%v %v", count, by("imagenet-3200", fasterType))
	}
	one := trial{"workload-1", 0, 1, "welfare", weighed, replay.Oracle, everyB, restartB}
	if one.faster() != nil || one.inventory()[0].Type != "" {
		t.Error("of one type something is said")
	}
}

// TestCasesHaveABest: the made-up decisions are ones that the exact solver solves, and
// what greedy choices make of them is not above it.
func TestCasesHaveABest(t *testing.T) {
	c := case11{2, 4, 4, 5, true}
	for seed := range uint64(5) {
		p := c.draw(seed + 1)
		from := welfare.Greedy(p, c.nothing(), false)
		best, proven := welfare.Exact(p, from, 3_000_000)
		if err := p.Check(best); err != nil || !proven || best.Welfare < from.Welfare || best.Welfare <= 0 {
			t.Errorf("seed %d: %v from %v, proven %v: %v", seed+1, best.Welfare, from.Welfare, proven, err)
		}
		if high := welfare.Bound(p, best.Welfare, 200); high < best.Welfare-1e-9 {
			t.Errorf("seed %d: bound %v below %v", seed+1, high, best.Welfare)
		}
	}
}

// TestRegretFlattens: with a bonus hardly anything is lost any more once every pair was
// tried; without one, where what was never tried counts nought, it never ends.
func TestRegretFlattens(t *testing.T) {
	late := func(o optimist) float64 {
		lost := o.learn(1, 120)
		sum := 0.0
		for _, x := range lost {
			if math.IsNaN(x) || x < -1e-9 {
				t.Fatalf("%s: regret %v", o.name, x)
			}
		}
		for _, x := range lost[60:] {
			sum += x
		}
		return sum / 60
	}
	for _, o := range optimists {
		switch x := late(o); {
		case strings.HasPrefix(o.name, "ln ln t, scatter") && x > .02:
			t.Errorf("%s: still loses %v a slot", o.name, x)
		case strings.Contains(o.name, "nought") && x < .05:
			t.Errorf("%s: loses only %v a slot", o.name, x)
		}
	}
}
