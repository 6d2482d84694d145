package sweeps

import (
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/sweep/level"
	"github.com/sluice-hpc/sluice/elastic/sweep/rung"
)

// synthetic has n tasks whose configurations reach a level at a speed, one epoch in the given
// number of seconds.
func synthetic(n int) []*Task {
	rng := rand.New(rand.NewPCG(3, 3))
	var tasks []*Task
	for k := range n {
		t := &Task{Name: fmt.Sprint(k)}
		for range 60 {
			top, rate, pace := 50+50*rng.Float64(), .1+.3*rng.Float64(), 1+9*rng.Float64()
			var metric, seconds []float64
			for e := 1; e <= 12; e++ {
				metric = append(metric, top*(1-math.Exp(-rate*float64(e))))
				seconds = append(seconds, pace*float64(e))
			}
			t.Configs, t.Metric, t.Seconds = append(t.Configs, []float64{0}), append(t.Metric, metric), append(t.Seconds, seconds)
		}
		tasks = append(tasks, t)
	}
	return tasks
}

// TestByHand: two configurations of 2 epochs, 10 s and 20 s long, on one GPU, with 2 s to start.
func TestByHand(t *testing.T) {
	task := &Task{Name: "a", Configs: [][]float64{{0}, {0}}, Metric: [][]float64{{1, 2}, {3, 4}}, Seconds: [][]float64{{10, 20}, {20, 40}}}
	c := Config{Tasks: []*Task{task}, Sweeps: 1, GPUs: 1, Trials: 2, Start: 2, Goal: 1, Policy: FIFO()}
	seen := map[float64]bool{}
	for seed := range uint64(20) {
		c.Seed = seed
		seen[Run(c).All] = true
	}
	if len(seen) != 2 || !seen[2+40] || !seen[2+20+2+40] {
		t.Errorf("the goal is reached after %v s, want 42 and 64", seen)
	}
	c.GPUs = 2
	if all := Run(c).All; all != 42 {
		t.Errorf("%g s with two GPUs, want 42", all)
	}
}

// TestEveryContender: with each policy every sweep reaches its goal, twice at the same times, no
// more GPUs are used than there are, and a sweep alone takes as long as under equal shares.
func TestEveryContender(t *testing.T) {
	tasks := synthetic(6)
	for _, contender := range Contenders() {
		name := fmt.Sprint(contender.Name, contender.Asha)
		most := 0
		c := Config{Tasks: tasks, Sweeps: 6, Gap: 20, GPUs: 4, Trials: 50, Start: 2, Goal: .9, Seed: 1, Rungs: contender.Rule}
		watched := func() Policy {
			p := contender.New()
			divide := p.Divide
			p.Divide = func(sweeps []*Sweep, wants []int, gpus int) []int {
				lanes := divide(sweeps, wants, gpus)
				sum := 0
				for i, n := range lanes {
					if n > wants[i] {
						t.Fatalf("%s: %d lanes, wanted %d", name, n, wants[i])
					}
					sum += n
				}
				most = max(most, sum)
				return lanes
			}
			return p
		}
		c.Policy = watched()
		first := Run(c)
		c.Policy = watched()
		if again := Run(c); fmt.Sprint(again) != fmt.Sprint(first) {
			t.Errorf("%s: %v, and then %v", name, first, again)
		}
		if most != 4 {
			t.Errorf("%s used %d of 4 GPUs", name, most)
		}
		for _, s := range first.Times {
			if !(s > 0) {
				t.Errorf("%s: %v", name, first.Times)
			}
		}
		c.Sweeps, c.Policy = 1, contender.New()
		alone := Run(c).All
		c.Policy.Divide = Equal().Divide
		if equal := Run(c).All; alone != equal {
			t.Errorf("%s: a sweep alone takes %g s, under equal shares %g s", name, alone, equal)
		}
	}
}

// TestSweepsWithAGoalThatIsNear: bids bring sweeps to their goals sooner than FIFO does.
func TestBidsAreSoonerThanFIFO(t *testing.T) {
	c := Config{Tasks: synthetic(6), Sweeps: 6, Gap: 20, GPUs: 4, Trials: 50, Start: 2, Goal: .9, Seed: 1, Policy: FIFO()}
	fifo := Run(c)
	c.Policy = Bid(false)
	bid := Run(c)
	c.Policy.Rejudge, c.Policy.Return, c.Rungs = true, true, &rung.Rule{}
	rungs := Run(c)
	if !(bid.Mean() < .8*fifo.Mean()) || !(rungs.Mean() < bid.Mean()) {
		t.Errorf("mean times to goal: FIFO %g s, bids %g s, with rungs %g s", fifo.Mean(), bid.Mean(), rungs.Mean())
	}
}

// TestLanesThatAreTakenGoOn: a trial whose lane is taken away is finished later, and none is run
// twice.
func TestLanesThatAreTakenGoOn(t *testing.T) {
	r := &run{Config: Config{GPUs: 1, Start: 1, Policy: divided(level.Rules{Strict: true, ByBid: 1}, func(s *Sweep, at *level.Standing) { at.Bid = float64(1 + s.Order) })}, rule: level.DefaultRule()}
	tasks := synthetic(2)
	for i, t := range tasks {
		r.later = append(r.later, newSweep(i, float64(i)*5, t, 3, 1e9, rand.New(rand.NewPCG(1, 1))))
	}
	for r.step() {
	}
	for _, s := range r.sweeps {
		if s.Stopped != 3 || s.Done != 3*12 || len(s.ahead) > 0 {
			t.Errorf("sweep %d: %d trials ended after %d epochs, %d are left", s.Order, s.Stopped, s.Done, len(s.ahead))
		}
	}
	if r.sweeps[0].Spent[0] <= r.sweeps[0].task.Seconds[r.sweeps[0].configs[0]][11]+1 {
		t.Error("the later sweep had the higher bid and took no lane")
	}
}

func TestLoad(t *testing.T) {
	folder := t.TempDir()
	if _, err := Load(folder); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("%v", err)
	}
	write := func(text string) {
		f, err := os.Create(filepath.Join(folder, "task-7.csv.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z := gzip.NewWriter(f)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	write("lr,acc_1,acc_2,sec_1,sec_2\n.1,50,60,1,3\n.2,40,70,2,4\n")
	tasks, err := Load(folder)
	if err != nil || tasks[0].Name != "7" || tasks[0].Epochs() != 2 || tasks[0].Goal(.5) != 65 || tasks[0].Seconds[1][1] != 4 {
		t.Errorf("%+v %v", tasks, err)
	}
	write("lr,acc_1,sec_1\n.1,x,1\n")
	if _, err := Load(folder); err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("%v", err)
	}
}
