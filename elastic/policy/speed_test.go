package policy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
)

// large returns a cluster of 64 nodes with 8 GPUs each and 100 jobs, of which queued wait and
// the others run on a few GPUs.
func large(queued, perJob int) elastic.Snapshot {
	rng := rand.New(rand.NewPCG(1, 2))
	s := elastic.Snapshot{Now: now, Limits: elastic.Limits{Cooldown: time.Minute, Payback: 2, DeafAfter: 3}}
	for i := range 64 {
		s.Nodes = append(s.Nodes, nodes.Node{Name: fmt.Sprintf("n%02d", i), Partitions: []string{"gpu"}, GPUs: 8, Usable: true, CPUs: 64})
	}
	var requests []nodes.Request
	for i := range 100 {
		one := 10 + 90*rng.Float64()
		serial := 0.2 * rng.Float64()
		var samples []speed.Sample
		for _, g := range []int{1, 2, 4, 8} {
			samples = append(samples, speed.Sample{Shape: speed.Shape{GPUs: g, Nodes: 1}, Seconds: one * ((1-serial)/float64(g) + serial), Units: 1, At: now})
		}
		j := elastic.Job{
			ID: elastic.JobID(i + 1), Partition: "gpu", Spec: elastic.Spec{Min: 1, Total: 1000 * rng.Float64()}, Speaks: true,
			Curve: speed.Fit(samples, now), Price: elastic.Price{Start: 10 * time.Second}, Phase: elastic.Waiting,
		}
		if i < 100-queued {
			j.Phase = elastic.Running
			requests = append(requests, nodes.Request{ID: int64(j.ID), GPUs: perJob, Partition: "gpu"})
		}
		s.Jobs = append(s.Jobs, j)
	}
	for i, r := range nodes.Place(s.Nodes, requests) {
		s.Jobs[i].Place = r.Placement
		s.Nodes = nodes.With(s.Nodes, nodes.Load{Place: r.Placement})
	}
	return s
}

func BenchmarkKnapsack100x512(b *testing.B) {
	for _, c := range []struct {
		name           string
		queued, perJob int
	}{{"idle", 100, 0}, {"growing", 0, 2}, {"full-and-half-waiting", 50, 10}, {"steady", 0, 5}} {
		s := large(c.queued, c.perJob)
		knapsack, _ := policy.ByName("knapsack")
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				knapsack.Allocate(s)
			}
		})
	}
}

// running returns a cluster of 1,250 nodes with 8 GPUs each on which 9,980 jobs run on one GPU
// each, and 40 more wait.
func running() elastic.Snapshot {
	s := elastic.Snapshot{Now: now}
	for i := range 1250 {
		s.Nodes = append(s.Nodes, nodes.Node{Name: fmt.Sprintf("n%04d", i), Partitions: []string{"gpu"}, GPUs: 8, Usable: true})
	}
	for i := range 10_020 {
		j := elastic.Job{ID: elastic.JobID(i + 1), Partition: "gpu", Spec: elastic.Spec{Min: 1}, Speaks: true, Phase: elastic.Waiting}
		if i < 9980 {
			n := &s.Nodes[i/8]
			n.Used++
			j.Phase, j.Place = elastic.Running, nodes.Placement{{Node: n.Name, GPUs: 1}}
		}
		s.Jobs = append(s.Jobs, j)
	}
	return s
}

func BenchmarkFCFS10000x10000(b *testing.B) {
	s := running()
	fcfs, _ := policy.ByName("fcfs")
	for b.Loop() {
		fcfs.Allocate(s)
	}
}

func TestLargeQueuesAreServedInOrder(t *testing.T) {
	s := running()
	fcfs, _ := policy.ByName("fcfs")
	a := fcfs.Allocate(s)
	for i, j := range s.Jobs {
		d, named := a[j.ID]
		switch {
		case i < 9980 && named:
			t.Fatalf("job %d runs and is named: %+v", j.ID, d)
		case i >= 9980 && i < 10_000 && (d.GPUs != 1 || d.Place.GPUs() != 1):
			t.Fatalf("job %d is not started: %+v", j.ID, d)
		case i >= 10_000 && d.GPUs != 0:
			t.Fatalf("job %d finds GPUs that are not there: %+v", j.ID, d)
		}
	}
}
