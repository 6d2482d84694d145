package replay_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/share"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

func of(account string, j workload.Job) workload.Job {
	j.Account, j.User = account, "u"
	return j
}

// shared returns a configuration of one node with 8 GPUs, on which restarts cost nothing.
func shared(t *testing.T, name, shares string) replay.Config {
	t.Helper()
	cfg := config(t, name)
	tree, err := share.Parse(shares)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Nodes, cfg.Shares, cfg.Restart = cluster(1, 8), tree, 0
	return cfg
}

// TestBorrowedAndReclaimed: phys has all 8 GPUs for 10 minutes and trains 80 GPU-minutes of 200.
// Then bio comes, which deserves 2 of them: 60 GPU-minutes take it 30 minutes. phys has 6 until
// its 120 left are done in 20 minutes; bio does its last 20 GPU-minutes on all 8, in 2.5 minutes.
func TestBorrowedAndReclaimed(t *testing.T) {
	got, err := replay.Run(context.Background(), shared(t, "lookahead", "phys=3,bio=1"),
		workloadOf(of("phys", job("a", 0, 200)), of("bio", job("b", 10*time.Minute, 60))))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := got.Jobs[0], got.Jobs[1]; a.End != 30*time.Minute || b.Start != 10*time.Minute || b.End != 32*time.Minute+30*time.Second {
		t.Errorf("phys ends at %v, bio is there from %v to %v", a.End, b.Start, b.End)
	}
	phys, bio := got.Accounts[0], got.Accounts[1]
	hours := func(name string, got, want float64) {
		if math.Abs(got/3600-want) > 1e-6 {
			t.Errorf("%s: %v GPU-hours, want %v", name, got/3600, want)
		}
	}
	hours("phys had", phys.Used, 2)
	hours("phys deserved", phys.Deserved, 2)
	hours("bio had", bio.Used, 2./3)
	hours("phys borrowed", phys.Borrowed, 2./6) // 2 of 8 GPUs for 10 minutes
	hours("bio lent", bio.Lent, 2./6)
	hours("bio borrowed", bio.Borrowed, 6*3./60) // 6 GPUs for three rounds, in the last of which it ends
	if phys.Jobs != 1 || phys.JCT != 30*time.Minute || phys.Own != .75 {
		t.Errorf("%+v", phys)
	}
}

// TestSharesHoldUnderEveryPolicy: with work for both all the time, each account has its part
// under every policy that resizes; the GPU that has to go by turns does.
func TestSharesHoldUnderEveryPolicy(t *testing.T) {
	for _, p := range policy.All {
		if p.Rigid || p.Name == "srpt" || p.Name == "edf" {
			continue // they use no more than users ask for, or all GPUs for one job
		}
		var jobs []workload.Job
		for i := range 4 { // so few that no minimum is above a share
			jobs = append(jobs, of([]string{"phys", "bio"}[i%2], job(string(rune('a'+i)), 0, 2400)))
		}
		cfg := shared(t, p.Name, "phys=2,bio=1")
		cfg.Interval = 5 * time.Minute
		got, err := replay.Run(context.Background(), cfg, workloadOf(jobs...))
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range got.Accounts {
			if ratio := a.Used / a.Deserved; math.Abs(ratio-1) > .03 {
				t.Errorf("%s: %s has %.3f of what it deserves", p.Name, a.Name, ratio)
			}
		}
	}
}

func TestJobsWithoutSharesAreRefused(t *testing.T) {
	for account, want := range map[string]string{"old": "job a: shares: account old has none", "": "job a: shares: a job has no account"} {
		_, err := replay.Run(context.Background(), shared(t, "fcfs", "phys=1"), workloadOf(of(account, job("a", 0, 1))))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
