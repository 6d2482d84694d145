package replay_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// fixed is a job of one size.
func fixed(name string, submit time.Duration, gpus int) workload.Job {
	j := job(name, submit, 100)
	j.Spec.Min, j.Spec.Sizes = gpus, []int{gpus}
	return j
}

// TestStagesOfADecision: a replay asks for the daemon's whole decision. Here the policy
// itself has a job wait behind the first that does not fit, and backfill starts it on GPUs
// that the first has no use for.
func TestStagesOfADecision(t *testing.T) {
	for _, c := range []struct {
		name    string
		limits  elastic.Limits
		started bool // at once, in front of the job that does not fit
	}{
		{"as the daemon", elastic.Limits{}, true},
		{"as published", elastic.Limits{Placement: replay.AnySplit}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := config(t, "fcfs")
			cfg.Nodes = append(cluster(1, 4), nodes.Node{Name: "z", GPUs: 2, Usable: true})
			cfg.Limits = c.limits
			got, err := replay.Run(context.Background(), cfg, workloadOf(fixed("first", 0, 3), fixed("head", 0, 4), fixed("small", 0, 2)))
			if err != nil {
				t.Fatal(err)
			}
			if at := got.Jobs[2].Start == 0; got.Jobs[0].Start != 0 || got.Jobs[1].Start == 0 || at != c.started {
				t.Errorf("jobs start at %v, %v and %v", got.Jobs[0].Start, got.Jobs[1].Start, got.Jobs[2].Start)
			}
		})
	}
}

// TestBeside: what is started beside sluice is started, and sluice decides about the rest.
func TestBeside(t *testing.T) {
	cfg := config(t, "fcfs")
	cfg.Nodes = cluster(1, 4)
	saw := map[string]bool{}
	allocate := cfg.Policy.Allocate
	cfg.Policy.Allocate = func(s elastic.Snapshot) elastic.Allocation {
		for i := range s.Jobs {
			saw[s.Jobs[i].Name] = true
		}
		return allocate(s)
	}
	cfg.Beside = func(s elastic.Snapshot) (elastic.Allocation, elastic.Snapshot) {
		started := elastic.Allocation{}
		var rest []elastic.Job
		for _, j := range s.Jobs {
			if j.Name == "plain" {
				started[j.ID] = elastic.Decision{GPUs: 2, Place: nodes.Placement{{Node: "a", GPUs: 2}}}
				continue
			}
			rest = append(rest, j)
		}
		s.Jobs = rest
		return started, s
	}
	got, err := replay.Run(context.Background(), cfg, workloadOf(fixed("plain", 0, 2), fixed("ours", 0, 2)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Jobs[0].Start != 0 || got.Jobs[1].Start != 0 || saw["plain"] || !saw["ours"] {
		t.Errorf("start at %v and %v; the policy saw %v", got.Jobs[0].Start, got.Jobs[1].Start, saw)
	}
}
