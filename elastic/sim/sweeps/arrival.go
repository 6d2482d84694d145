package sweeps

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
)

// Arrival is a sweep that comes to a simulated cluster: what its user submits, and what its trials
// would report. It is not changed by a simulation.
type Arrival struct {
	Task    *Task
	Trials  int     // 1 to the task's configurations
	Lanes   int     // at most, at least 1
	Goal    float64 // it is over once a trial's metric is as good; +Inf = no goal
	Halving bool    // trials that lose at a rung are paused, as --sweep=asha does
	Start   float64 // s from a trial's start to its first epoch
	Seed    uint64  // of the order in which configurations are tried
}

// LoadPath reads the tasks of a folder, as Load, or of one file of its format.
func LoadPath(path string) ([]*Task, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return Load(path)
	}
	t, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return []*Task{t}, nil
}

// What Generated draws.
const (
	generatedEpochs = 52
	generatedNoise  = .5 // standard deviation of a reported metric, percent
)

// Generated draws a task with so many configurations; the same seed gives the same task. Of each
// configuration the last metric is 55 + 40 u^2 percent with u uniform, so few are good. Epoch e of
// 52 reports the last metric times (1-exp(-r e)) / (1-exp(-52 r)), with normal noise of 0.5
// percent; r is log-uniform from 0.03 to 0.5. An epoch takes 1 to 10 s, log-uniform for the task,
// times a lognormal factor of the configuration.
func Generated(seed uint64, configs int) *Task {
	rng := rand.New(rand.NewPCG(seed, 0x7a5c))
	logUniform := func(low, high float64) float64 { return low * math.Pow(high/low, rng.Float64()) }
	t := &Task{Name: fmt.Sprintf("generated-%d", seed)}
	pace := logUniform(1, 10)
	for range configs {
		u := rng.Float64()
		last, rate, epoch := 55+40*u*u, logUniform(.03, .5), pace*math.Exp(.5*rng.NormFloat64())
		metric, seconds := make([]float64, generatedEpochs), make([]float64, generatedEpochs)
		for e := range metric {
			n := float64(e + 1)
			metric[e] = last*(1-math.Exp(-rate*n))/(1-math.Exp(-rate*generatedEpochs)) + generatedNoise*rng.NormFloat64()
			seconds[e] = epoch * n
		}
		t.Configs, t.Metric, t.Seconds = append(t.Configs, nil), append(t.Metric, metric), append(t.Seconds, seconds)
	}
	return t
}
