package workload

import (
	"fmt"
	"math"
)

// Parametric is the speed of a job by a formula. Over g GPUs on n nodes a unit of
// work takes
//
//	One * ((1-Serial)/g + Serial + PerGPU*(g-1) + PerNode*(n-1))  seconds,
//
// or, when Power is set,
//
//	One * (g^-Power + PerGPU*(g-1) + PerNode*(n-1)).
//
// The first is Amdahl's law (1967) with a cost of communication that grows with
// the ring, the second the speed-up assumed by Berg, Vesilo and Harchol-Balter
// (heSRPT, Performance Evaluation 144, 2020).
type Parametric struct {
	One     float64 // seconds a unit on one GPU, above 0
	Serial  float64 // share of One that does not divide, 0..1
	PerGPU  float64 // share of One that each further GPU adds, at least 0
	PerNode float64 // share of One that each further node adds, at least 0
	Power   float64 // 0 = Amdahl's law; else above 0 and at most 1, with Serial 0
}

// Seconds returns the time of one unit on the split; it depends on the number of
// GPUs and of nodes only. An empty split cannot run: +Inf.
func (p Parametric) Seconds(split []int) float64 {
	gpus := 0
	for _, g := range split {
		gpus += g
	}
	return p.on(gpus, len(split))
}

func (p Parametric) on(gpus, nodes int) float64 {
	if gpus < 1 {
		return math.Inf(1)
	}
	g, n := float64(gpus), float64(nodes)
	compute := (1-p.Serial)/g + p.Serial
	if p.Power > 0 {
		compute = math.Pow(g, -p.Power)
	}
	return p.One * (compute + p.PerGPU*(g-1) + p.PerNode*(n-1))
}

// Check reports a parameter out of its range.
func (p Parametric) Check() error {
	for _, v := range []float64{p.One, p.Serial, p.PerGPU, p.PerNode, p.Power} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return fmt.Errorf("speed %+v: every parameter must be a number that is not negative", p)
		}
	}
	switch {
	case p.One < 1e-9 || p.One > 1e12:
		return fmt.Errorf("one %v: want the seconds of a unit on one GPU, 1e-9 to 1e12", p.One)
	case p.Serial > 1:
		return fmt.Errorf("serial %v: want a share, 0 to 1", p.Serial)
	case p.PerGPU > 1e6 || p.PerNode > 1e6:
		return fmt.Errorf("per_gpu %v, per_node %v: want shares of one, at most 1e6", p.PerGPU, p.PerNode)
	case p.Power > 1:
		return fmt.Errorf("power %v: want 0 to 1", p.Power)
	case p.Power > 0 && p.Serial > 0:
		return fmt.Errorf("power %v and serial %v exclude each other", p.Power, p.Serial)
	}
	return nil
}
