package policy_test

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/policy"
)

// measured draws clusters on which some jobs are to be measured.
func measured(t *rapid.T) elastic.Snapshot {
	s := snapshots(t)
	s.Edges = nil // a job that leaves an edge node is moved, not measured
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if rapid.IntRange(0, 3).Draw(t, "profiled") == 0 {
			continue
		}
		for _, n := range j.Spec.Options(16) {
			if rapid.Bool().Draw(t, "a size") {
				j.Spec.Profile = append(j.Spec.Profile, n)
			}
		}
		if j.Phase != elastic.Waiting {
			j.Begun = now.Add(-time.Duration(rapid.IntRange(0, 1500).Draw(t, "began")) * time.Second)
			j.Started = now.Add(-time.Duration(rapid.IntRange(0, 120).Draw(t, "ran")) * time.Second)
			j.Incarnation = rapid.IntRange(0, 6).Draw(t, "moves")
		}
		if rapid.Bool().Draw(t, "unknown") {
			j.Curve = nil
		}
	}
	return s
}

// Measuring requests nothing that cannot be placed, moves no job that may not be moved, gives
// no other job less than the policy does, and happens only while no job waits.
func TestProfileIsSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := measured(t)
		for _, p := range policy.All {
			plain, a := policy.Word(p, s), p.Decide(s)
			if !reflect.DeepEqual(a, p.Decide(s)) {
				t.Fatalf("%s answers otherwise when asked again", p.Name)
			}
			before, where := plan.Arrange(s, plain), plan.Arrange(s, a)
			for _, j := range s.Jobs {
				sound(t, p.Name, s, j, a, where)
				d := a[j.ID]
				changed := !reflect.DeepEqual(d, plain[j.ID])
				switch {
				case changed && !slices.Contains(j.Spec.Profile, d.GPUs):
					t.Fatalf("%s: job %d is measured at %d, which is not among %v", p.Name, j.ID, d.GPUs, j.Spec.Profile)
				case changed && plain[j.ID].GPUs < max(1, s.Committed(j).GPUs()):
					t.Fatalf("%s: job %d is measured, though the policy has it give GPUs back", p.Name, j.ID)
				case changed && d.GPUs < s.Committed(j).GPUs():
					t.Fatalf("%s: job %d shrinks to be measured", p.Name, j.ID)
				case changed && p.Rigid:
					t.Fatalf("%s measures job %d", p.Name, j.ID)
				case !changed && where.Target[j.ID].GPUs() != before.Target[j.ID].GPUs():
					t.Fatalf("%s: job %d has %d of %d, so that another is measured", p.Name, j.ID, where.Target[j.ID].GPUs(), before.Target[j.ID].GPUs())
				}
			}
			within(t, p.Name, s, apply(s, a))
		}
	})
}

// Measuring ends: whether or not samples arrive, after some time the policy's decision counts,
// and the number of moves is bounded.
func TestProfileEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := plain(t)
		first.Intents, first.Demands = nil, nil
		for i := range first.Jobs {
			j := &first.Jobs[i]
			j.Spec.Profile = j.Spec.Options(16)[:min(len(j.Spec.Options(16)), 5)]
			j.Curve, j.Begun, j.Started, j.Incarnation = nil, time.Time{}, time.Time{}, 0
		}
		tells := rapid.Bool().Draw(t, "programs tell their pace")
		p := rapid.SampledFrom(policy.All).Draw(t, "policy")
		s, visits := first, map[elastic.JobID]int{}
		for range 70 { // 20 s each: longer than any job is measured
			a, plain := p.Decide(s), policy.Word(p, s)
			for _, j := range s.Jobs {
				if d := a[j.ID]; d.GPUs != j.GPUs() && !reflect.DeepEqual(d, plain[j.ID]) {
					visits[j.ID]++
				}
			}
			next := apply(s, a)
			for i := range next.Jobs {
				live(&next.Jobs[i], s.Jobs[i], s.Now, tells)
			}
			s = next
			s.Now = s.Now.Add(20 * time.Second)
		}
		if p.Measures(s) {
			t.Fatalf("%s: still measuring after %v", p.Name, s.Now.Sub(first.Now))
		}
		for _, j := range s.Jobs {
			if visits[j.ID] > 1+2*len(j.Spec.Profile) {
				t.Fatalf("%s: job %d was moved %d times for %v", p.Name, j.ID, visits[j.ID], j.Spec.Profile)
			}
		}
	})
}

// live advances the time of a job.
func live(j *elastic.Job, was elastic.Job, now time.Time, tells bool) {
	if len(j.Place) == 0 {
		return
	}
	if j.Begun.IsZero() {
		j.Begun = now
	}
	if !j.Place.Equal(was.Place) {
		j.Started, j.Incarnation = now, j.Incarnation+1
	}
	if tells {
		var samples []speed.Sample
		for _, n := range append(known(was.Curve), j.GPUs(), j.GPUs()) {
			samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: n, Nodes: 1}, Seconds: 10 / float64(n), Units: 1, At: now})
		}
		j.Curve = speed.FitWith(nil, samples, now)
	}
}

// known lists each number of GPUs of the curve twice: as many samples as are enough.
func known(c *speed.Curve) (out []int) {
	for _, s := range c.Shapes() {
		out = append(out, s.GPUs, s.GPUs)
	}
	return out
}
