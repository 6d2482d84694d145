package forecast_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/forecast"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/sweeps"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
	"github.com/sluice-hpc/sluice/nodes"
)

const token = "55555555555555555555555555555555"

// lane is a lane of the sweep; it runs on a GPU of n1, or waits.
func lane(id int, runs bool) elastic.Job {
	j := waiting(id, 1, 0)
	j.Spec.Sweep, j.Spec.Total, j.Curve, j.UID = token, 0, nil, 1000
	if runs {
		j.Phase, j.Place, j.Started = elastic.Running, nodes.Placement{{Node: "n1", GPUs: 1}}, now.Add(-time.Hour)
	}
	return j
}

// Lanes leave when their sweep's trials run out, the job behind them starts then, and a lane that never
// got a GPU ends with its sweep. Without a trial that has ended nothing is known of their ends.
func TestLanesLeave(t *testing.T) {
	s := elastic.Snapshot{Now: now, Nodes: cluster(1), Jobs: []elastic.Job{lane(1, true), lane(2, true), lane(3, true)}, Limits: elastic.Limits{DeafAfter: 3, Payback: 2}}
	s.Nodes[0].Used = 3
	rigid := waiting(4, 4, 40)
	rigid.Spec.Min, rigid.Spec.Sizes = 4, []int{4}
	s.Jobs = append(s.Jobs, rigid, lane(5, false))
	s.Sweeps = map[string]elastic.Sweep{token: {Number: 1, Wants: 4, Bid: 1, Ended: 5, Left: 9, Each: 200}}
	p := project(s, "fcfs")
	if len(s.Sweeps) != 1 || s.Sweeps[token].Left != 9 {
		t.Errorf("the snapshot was changed: %+v", s.Sweeps)
	}
	over := p.Jobs[0].Ends
	if left := over.Sub(now); left < 600*time.Second || left > 900*time.Second {
		t.Errorf("9 trials of 200 s in 3 lanes, of which one is the last to go on, end after %v", left)
	}
	for i, j := range p.Jobs {
		if j.Unknown != forecast.Known || j.Ends.IsZero() {
			t.Errorf("job %d: %+v", j.ID, j)
		}
		if i > 0 && i < 3 && j.Ends.After(over) {
			t.Errorf("lane %d ends %v, after the first one, %v", j.ID, j.Ends, over)
		}
	}
	if starts := p.Jobs[3].Starts; starts.Before(over) || starts.After(over.Add(2*time.Minute)) {
		t.Errorf("the job for all GPUs starts %v, the sweep is over %v", starts, over)
	}
	if p.Jobs[0].Sure > .5 || p.Jobs[4].Ends.Before(over) {
		t.Errorf("%+v", p.Jobs)
	}
	s.Sweeps[token] = elastic.Sweep{Number: 1, Wants: 4, Bid: 1, Left: 14}
	if j := project(s, "fcfs").Jobs[0]; j.Unknown != forecast.NoTotal {
		t.Errorf("no trial has ended: %+v", j)
	}
}

// A job of another user that names a sweep's token does none of its trials, and they say nothing of its end.
func TestLanesOfAnotherUser(t *testing.T) {
	s := elastic.Snapshot{Now: now, Nodes: cluster(1), Jobs: []elastic.Job{lane(1, true), lane(2, true)}, Limits: elastic.Limits{DeafAfter: 3, Payback: 2}}
	s.Nodes[0].Used = 2
	s.Sweeps = map[string]elastic.Sweep{token: {Number: 1, Wants: 2, Bid: 1, Ended: 5, Left: 9, Each: 200}}
	alone := project(s, "fcfs")
	foreign := lane(3, true)
	foreign.UID = 1001
	s.Jobs, s.Nodes[0].Used = append(s.Jobs, foreign), 3
	beside := project(s, "fcfs")
	for i := range alone.Jobs {
		if !alone.Jobs[i].Ends.Equal(beside.Jobs[i].Ends) {
			t.Errorf("lane %d ends %v, beside a job of another user %v", i+1, alone.Jobs[i].Ends, beside.Jobs[i].Ends)
		}
	}
	if j := beside.Jobs[2]; j.Unknown != forecast.NoTotal {
		t.Errorf("the job of another user: %+v", j)
	}
}

// The forecast of sweeps with trials of equal length, beside jobs, is near what the simulator makes of
// them, which runs each trial.
func TestForecastOfSweepsIsNearTheReplay(t *testing.T) {
	const each = 100.0
	task := &sweeps.Task{Name: "even"}
	for range 60 {
		task.Configs, task.Metric, task.Seconds = append(task.Configs, nil), append(task.Metric, []float64{1}), append(task.Seconds, []float64{each})
	}
	limits := elastic.Limits{DeafAfter: 3, Payback: 2}
	for _, name := range []string{"lookahead", "knapsack"} {
		s := elastic.Snapshot{Now: now, Nodes: cluster(2), Limits: limits, Sweeps: map[string]elastic.Sweep{}}
		var jobs []workload.Job
		for k := range 2 {
			a := &sweeps.Arrival{Task: task, Trials: 40 + 20*k, Lanes: 6, Goal: math.Inf(1), Seed: 1}
			jobs = append(jobs, workload.Job{Name: fmt.Sprint(k), User: "ann", Sweep: a, Spec: elastic.Spec{Min: 1, Max: 1}, Speeds: amdahl{1, 1}})
			of := fmt.Sprintf("%032d", k)
			s.Sweeps[of] = elastic.Sweep{Number: elastic.JobID(100*k + 1), Wants: 6, Bid: 1, Left: a.Trials, Each: each}
			for i := range 6 {
				j := lane(100*k+i+1, false)
				j.Spec.Sweep = of
				s.Jobs = append(s.Jobs, j)
			}
		}
		p, err := policy.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := replay.Run(context.Background(), replay.Config{Nodes: cluster(2), Policy: p, Interval: 20 * time.Second, Info: replay.Oracle, Limits: limits},
			workload.Workload{Name: "sweeps", Count: 2, Jobs: slices.Values(jobs)})
		if err != nil {
			t.Fatal(err)
		}
		told := project(s, name)
		for k := range 2 {
			ends := 0.0
			for i := range 6 {
				ends = max(ends, told.Jobs[6*k+i].Ends.Sub(now).Seconds())
			}
			if truth := got.Sweeps[k].Over.Seconds(); math.Abs(ends-truth) > .2*truth {
				t.Errorf("%s: sweep %d is expected to be over after %.0f s, and was after %.0f s", name, k, ends, truth)
			}
		}
	}
}

// A sweep that is tried as if it were submitted now stands behind all that is there; its lanes give way
// as those of other sweeps do, and the snapshot is not changed.
func TestSubmission(t *testing.T) {
	s := elastic.Snapshot{Now: now, Nodes: cluster(1), Jobs: []elastic.Job{lane(1, true), lane(2, true), waiting(7, 2, 40)}, Limits: elastic.Limits{DeafAfter: 3, Payback: 2}}
	s.Nodes[0].Used = 2
	s.Sweeps = map[string]elastic.Sweep{token: {Number: 1, Wants: 2, Bid: 1, Ended: 5, Left: 20, Each: 200}}
	with, numbers := forecast.Submission{Name: "new", User: "bob", UID: 1001, Min: 1, Max: 1, Lanes: 3, Trials: 12, Each: 100}.In(s)
	if len(s.Jobs) != 3 || len(s.Sweeps) != 1 || len(with.Jobs) != 6 || fmt.Sprint(numbers) != "[8 9 10]" {
		t.Fatalf("%d and %d jobs, numbers %v", len(s.Jobs), len(with.Jobs), numbers)
	}
	before, after := project(s, "lookahead"), project(with, "lookahead")
	first := after.Jobs[3]
	if first.Starts.IsZero() || first.Ends.IsZero() || first.Ends.Sub(first.Starts) < 400*time.Second {
		t.Errorf("12 trials of 100 s in 3 lanes: %+v", first)
	}
	for i := range 2 {
		if b, a := before.Jobs[i], after.Jobs[i]; a.Ends.Before(b.Ends.Add(-time.Minute)) {
			t.Errorf("lane %d ends earlier, %v, beside a new sweep than without, %v", a.ID, a.Ends, b.Ends)
		}
	}
	few, numbers := forecast.Submission{Min: 1, Max: 1, Lanes: 9, Trials: 2, Each: 1}.In(elastic.Snapshot{Now: now})
	if len(few.Jobs) != 2 || len(numbers) != 2 || few.Jobs[0].ID != 1 {
		t.Errorf("%+v", few.Jobs)
	}
}
