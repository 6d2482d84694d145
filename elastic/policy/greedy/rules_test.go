package greedy

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy/roles"
	"github.com/sluice-hpc/sluice/nodes"
)

// drawParts draws jobs to divide GPUs among, and enough GPUs for the smallest size of each.
func drawParts(t *rapid.T) (parts []part, gpus int) {
	for i := range rapid.IntRange(1, 4).Draw(t, "jobs") {
		var samples []speed.Sample
		one := rapid.Float64Range(1, 100).Draw(t, "one")
		for g := 1; g <= 6; g++ {
			samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: g, Nodes: 1}, Seconds: one * rapid.Float64Range(1/float64(g), 1.1).Draw(t, "relative"), Units: 1})
		}
		j := &job{Subject: roles.Subject{Work: rapid.Float64Range(0, 100).Draw(t, "work")}, pool: &pool{spread: []int{0, 1, 1, 1, 1, 1, 1}}}
		j.Curve, j.Asked = speed.Fit(samples, time.Time{}), rapid.IntRange(0, 6).Draw(t, "asked")
		j.Attained = rapid.SampledFrom([]float64{0, demotion}).Draw(t, "attained")
		j.Spec.Min, j.sizes = 1, []int{1, 2, 3, 4, 5, 6}
		p := part{job: j, index: i, sizes: j.sizes}
		if rapid.Bool().Draw(t, "may go without") {
			p.sizes = []int{0, 1, 2, 3, 4, 5, 6}
		}
		parts, gpus = append(parts, p), gpus+p.size()
	}
	return parts, gpus + rapid.IntRange(0, 10).Draw(t, "more")
}

func given(parts []part) (sum int) {
	for i := range parts {
		sum += parts[i].size()
	}
	return sum
}

func TestRulesGiveWhatThereIs(t *testing.T) {
	rules := []struct {
		name string
		rule rule
	}{{"optimus", greatestSaving}, {"afs", futureShare}, {"tiresias", leastAttained}, {"srpt", shortestRest}, {"maxspeedup", greatestSpeedup}, {"edf", nextDeadline}}
	for _, r := range rules {
		t.Run(r.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				parts, gpus := drawParts(t)
				r.rule(parts, gpus)
				if sum := given(parts); sum > gpus {
					t.Fatalf("gives %d of %d", sum, gpus)
				}
			})
		})
	}
}

// Optimus and AFS-L leave no GPU idle that would make a running job faster.
func TestGreedyRulesLeaveNoUsefulGPU(t *testing.T) {
	for name, rule := range map[string]rule{"optimus": greatestSaving, "afs": futureShare} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				parts, gpus := drawParts(t)
				rule(parts, gpus)
				for i := range parts {
					if p := &parts[i]; given(parts) < gpus && p.size() > 0 && p.saving(1) > 0 {
						t.Fatalf("job %d has %d, one more would save %g s, and %d of %d are given", i, p.size(), p.saving(1), given(parts), gpus)
					}
				}
			})
		})
	}
}

// No other division has a larger sum of speed-ups.
func TestMaxspeedupIsGreatest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts, gpus := drawParts(t)
		for i := range parts { // its jobs always have GPUs
			parts[i].sizes = parts[i].job.sizes
		}
		gpus = max(gpus, given(parts))
		sum := func() (s float64) {
			for i := range parts {
				s += parts[i].unit(0) / parts[i].unit(parts[i].at)
			}
			return s
		}
		greatestSpeedup(parts, gpus)
		got, best := sum(), 0.0
		var try func(i, left int)
		try = func(i, left int) {
			if i == len(parts) {
				best = max(best, sum())
				return
			}
			for at, n := range parts[i].sizes {
				if n <= left {
					parts[i].at = at
					try(i+1, left-n)
				}
			}
		}
		try(0, gpus)
		if got < best-1e-9 {
			t.Fatalf("sum %g, and %g is possible", got, best)
		}
	})
}

// AFS-L by hand: if both jobs scale alike, the shorter gets the next GPU; a long job that
// scales well gets it before a short one that does not.
func TestFutureShareByHand(t *testing.T) {
	at := func(work float64, seconds ...float64) part {
		var samples []speed.Sample
		for g, s := range seconds {
			samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: g + 1, Nodes: 1}, Seconds: s, Units: 1})
		}
		return part{job: &job{Subject: roles.Subject{Job: elastic.Job{Curve: speed.Fit(samples, time.Time{})}, Work: work}, pool: &pool{spread: []int{0, 1, 1}}}, sizes: []int{1, 2}}
	}
	for _, c := range []struct {
		name  string
		parts []part
		want  int
	}{
		{"the shorter of equals", []part{at(100, 10, 5), at(10, 10, 5)}, 1},
		{"the one that scales", []part{at(100, 10, 5), at(10, 10, 9)}, 0},
		{"the shorter though it scales less well", []part{at(100, 10, 6), at(10, 10, 7)}, 1},
	} {
		futureShare(c.parts, 3)
		if c.parts[c.want].size() != 2 {
			t.Errorf("%s: %d and %d", c.name, c.parts[0].size(), c.parts[1].size())
		}
	}
}

// freeNodes finds the same places as nodes.Place, request by request.
func TestFreeNodesPlaceAsNodesDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s elastic.Snapshot
		for i := range rapid.IntRange(1, 70).Draw(t, "nodes") {
			n := nodes.Node{Name: fmt.Sprintf("n%d", i), GPUs: rapid.SampledFrom([]int{2, 4, 8}).Draw(t, "gpus"), Usable: rapid.IntRange(0, 5).Draw(t, "usable") > 0}
			n.Used = rapid.IntRange(0, n.GPUs).Draw(t, "used")
			n.Partitions = rapid.SampledFrom([][]string{{"a"}, {"b"}, {"a", "b"}}).Draw(t, "partitions")
			s.Nodes = append(s.Nodes, n)
		}
		k, plain := newFreeNodes(s), nodes.With(s.Nodes)
		for range rapid.IntRange(1, 20).Draw(t, "requests") {
			r := nodes.Request{GPUs: rapid.IntRange(1, 12).Draw(t, "wanted"), Partition: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "partition")}
			got, want := k.place(r), nodes.Place(plain, []nodes.Request{r})[0].Placement
			if !got.Equal(want) {
				t.Fatalf("%+v: %v, want %v", r, got, want)
			}
			k.take(r.Load(got))
			nodes.Charge(plain, r.Load(want))
		}
	})
}
