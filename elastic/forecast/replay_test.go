package forecast_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// amdahl has a serial part: seconds on one GPU, of which serial cannot be divided.
type amdahl struct{ seconds, serial float64 }

func (a amdahl) Seconds(split []int) float64 {
	n := 0
	for _, g := range split {
		n += g
	}
	return a.seconds * (a.serial + (1-a.serial)/float64(n))
}

// The forecast of a queue of jobs whose speeds are known is near what the simulator makes of it, which
// decides every 30 s rather than at ever longer intervals.
func TestForecastIsNearTheReplay(t *testing.T) {
	const count, restart = 24, 20 * time.Second
	limits := elastic.Limits{DeafAfter: 3, Payback: 2, Cooldown: time.Minute}
	for _, name := range []string{"lookahead", "knapsack", "fcfs"} {
		rng := rand.New(rand.NewPCG(11, 7))
		s := elastic.Snapshot{Now: now, Nodes: cluster(4), Limits: limits}
		var jobs []workload.Job
		for i := range count {
			speeds := amdahl{60, 0.02 + 0.2*rng.Float64()}
			spec := elastic.Spec{Min: 1, Max: []int{1, 4, 8}[rng.IntN(3)], Total: 10 + math.Floor(100*rng.Float64())}
			jobs = append(jobs, workload.Job{Name: fmt.Sprint(i), Spec: spec, Speeds: speeds})
			s.Jobs = append(s.Jobs, elastic.Job{ID: elastic.JobID(i + 1), Partition: "gpu", Phase: elastic.Waiting, Speaks: true, Submitted: now,
				Spec: spec, Curve: speed.Known(speeds.Seconds), Price: elastic.Price{Start: restart, Measured: 1}})
		}
		p, err := policy.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := replay.Run(context.Background(), replay.Config{Nodes: cluster(4), Policy: p, Interval: 30 * time.Second, Restart: restart, Info: replay.Oracle, Limits: limits},
			workload.Workload{Name: "queue", Count: count, Jobs: slices.Values(jobs)})
		if err != nil {
			t.Fatal(err)
		}
		told := project(s, name)
		sum, within := 0.0, 0
		for i, j := range told.Jobs {
			truth := got.Jobs[i].End
			sum += math.Abs(j.Ends.Sub(now).Seconds()-truth.Seconds()) / truth.Seconds()
			if end := now.Add(truth); !end.Before(j.Low) && !end.After(j.High) {
				within++
			}
		}
		if mean := sum / count; mean > 0.10 || within < count/2 {
			t.Errorf("%s: the ends are wrong by %.0f %% on average, and %d of %d are between low and high", name, 100*mean, within, count)
		} else {
			t.Logf("%s: wrong by %.1f %% on average, %d of %d between low and high, %d decisions", name, 100*mean, within, count, told.Steps)
		}
	}
}
