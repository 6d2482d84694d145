package replay_test

import (
	"context"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// TestRestartOf: each job has its own price, which its policy knows, asked for once
// in the order of the workload.
func TestRestartOf(t *testing.T) {
	cfg := config(t, "fcfs")
	var asked []string
	cfg.RestartOf = func(j workload.Job) time.Duration {
		asked = append(asked, j.Name)
		return map[string]time.Duration{"cheap": time.Second, "dear": 50 * time.Second}[j.Name]
	}
	told := map[string]time.Duration{}
	allocate := cfg.Policy.Allocate
	cfg.Policy.Allocate = func(s elastic.Snapshot) elastic.Allocation {
		for _, j := range s.Jobs {
			told[j.Name] = j.Price.Total()
		}
		return allocate(s)
	}
	var submits []time.Duration
	cfg.Events = func(e replay.Event) {
		if e.Kind == "submit" {
			submits = append(submits, e.At)
		}
	}
	got, err := replay.Run(context.Background(), cfg, workloadOf(job("cheap", 0, 10), job("dear", 7*time.Second, 10)))
	if err != nil {
		t.Fatal(err)
	}
	if got.Jobs[0].Restarting != 1 || got.Jobs[1].Restarting != 50 {
		t.Errorf("restarting for %v and %v GPU-seconds", got.Jobs[0].Restarting, got.Jobs[1].Restarting)
	}
	if len(asked) != 2 || asked[0] != "cheap" || told["cheap"] != time.Second || told["dear"] != 50*time.Second {
		t.Errorf("asked for %v, told %v", asked, told)
	}
	if len(submits) != 2 || submits[1] != 7*time.Second {
		t.Errorf("submits logged at %v", submits)
	}
}
