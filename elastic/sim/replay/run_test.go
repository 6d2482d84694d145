package replay_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

// perfect scales perfectly from seconds on one GPU.
type perfect float64

func (p perfect) Seconds(split []int) float64 {
	n := 0
	for _, g := range split {
		n += g
	}
	return float64(p) / float64(n)
}

func cluster(count, gpus int) []nodes.Node {
	out := make([]nodes.Node, count)
	for i := range out {
		out[i] = nodes.Node{Name: string(rune('a' + i)), GPUs: gpus, Usable: true}
	}
	return out
}

func workloadOf(jobs ...workload.Job) workload.Workload {
	return workload.Workload{Name: "made-up", Count: len(jobs), Jobs: slices.Values(jobs)}
}

func job(name string, submit time.Duration, units float64) workload.Job {
	return workload.Job{
		Name: name, Submit: submit, Speeds: perfect(60),
		Spec: elastic.Spec{Min: 1, Total: units, Model: name, AllowUneven: true},
	}
}

func config(t *testing.T, name string) replay.Config {
	t.Helper()
	p, err := policy.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return replay.Config{
		Nodes: cluster(3, 4), Policy: p, Interval: time.Minute, Restart: 30 * time.Second, Info: replay.Oracle,
	}
}

// TestOneJobByHand: a job that comes at 10 s is seen at 60 s, restarts for 30 s and
// trains ten units of a minute on one GPU.
func TestOneJobByHand(t *testing.T) {
	got, err := replay.Run(context.Background(), config(t, "fcfs"), workloadOf(job("a", 10*time.Second, 10)))
	if err != nil {
		t.Fatal(err)
	}
	j := got.Jobs[0]
	if j.Start != time.Minute || j.End != 60*time.Second+30*time.Second+10*time.Minute {
		t.Errorf("started at %v, ended at %v", j.Start, j.End)
	}
	if j.Wait() != 50*time.Second || got.Makespan != j.JCT() || got.Useful != 600 || got.Restarting != 30 {
		t.Errorf("wait %v, makespan %v, useful %v, restarting %v", j.Wait(), got.Makespan, got.Useful, got.Restarting)
	}
	if want := 12*got.Makespan.Seconds() - 630; got.Idle != want {
		t.Errorf("idle %v, want %v", got.Idle, want)
	}
}
