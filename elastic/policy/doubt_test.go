package policy_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestUncertainJobsNeedALargerMargin: a job whose throughput varies from epoch to epoch is admitted
// with a larger margin than a steady one as fast; an admission that was given is kept.
func TestUncertainJobsNeedALargerMargin(t *testing.T) {
	now := time.Unix(1e9, 0)
	curve := func(scatter float64) *speed.Curve {
		var samples []speed.Sample
		for i := range 21 {
			seconds := 100 * (1 + scatter*float64(i%3-1))
			samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: 1, Nodes: 1}, Seconds: seconds, Units: 1, At: now})
		}
		return speed.Fit(samples, now)
	}
	for _, c := range []struct {
		scatter        float64
		promised, want bool
	}{{0, false, true}, {0.4, false, false}, {0.4, true, true}} {
		s := elastic.Snapshot{
			Now:   now,
			Nodes: []nodes.Node{{Name: "n1", GPUs: 1, Usable: true, Partitions: []string{"gpu"}}},
			Jobs: []elastic.Job{{ID: 1, Phase: elastic.Waiting, Partition: "gpu", Speaks: true, Promised: c.promised, Curve: curve(c.scatter),
				Spec: elastic.Spec{Min: 1, Max: 1, Total: 10, Deadline: now.Add(1100 * time.Second)}}},
		}
		for _, name := range []string{"deadline", "lookahead"} {
			p, err := policy.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			if d := p.Decide(s)[1]; d.Promised != c.want || (d.GPUs == 1) != c.want {
				t.Errorf("%s, samples that differ by %v: %+v", name, c.scatter, d)
			}
		}
	}
}
