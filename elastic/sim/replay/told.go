package replay

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// told is what a policy knows of speeds: the true ones, or samples of past runs.
type told struct {
	info   Info
	noise  float64                  // of samples
	rng    *rand.Rand               // draws it
	known  map[knownOf]*speed.Curve // oracle: one curve for all jobs of equal speeds
	kinds  *kinds
	models map[string]*model // learned
}

// knownOf is what a curve that is known depends on: of the model, where types of GPU are
// told apart.
type knownOf struct {
	speeds workload.Speeds
	model  string
}

// model is what was learned under one name.
type model struct {
	samples []speed.Sample
	seen    map[shapeOn]int // samples by shape and type
	curve   *speed.Curve
	stale   bool
}

// shapeOn is a shape on a type of GPU.
type shapeOn struct {
	speed.Shape
	kind string
}

const (
	// most is how many curves are remembered before all are forgotten; a job keeps
	// its own.
	most = 4096
	// enough is how many samples of one shape are kept: true speeds do not change
	// within a replay.
	enough = 8
	// noiseStream keeps the scatter of samples apart from what else a seed draws.
	noiseStream = 1
)

func newTold(cfg Config) *told {
	return &told{
		info: cfg.Info, noise: cfg.Noise, rng: rand.New(rand.NewPCG(cfg.Seed, noiseStream)),
		known: map[knownOf]*speed.Curve{}, kinds: newKinds(cfg), models: map[string]*model{},
	}
}

// curve is what is known about the speed of a job that has just come.
func (t *told) curve(j workload.Job, m *model) *speed.Curve {
	if t.info == Learned {
		return m.curve
	}
	of := knownOf{speeds: j.Speeds}
	if t.kinds.differ() {
		of.model = j.Spec.Model
	}
	c, ok := t.known[of]
	if !ok {
		if len(t.known) >= most {
			clear(t.known)
		}
		c = t.kinds.known(j)
		t.known[of] = c
	}
	return c
}

// model is where a job's samples go: with those of its model, or, as in the daemon,
// its own alone when its user named none. An oracle needs none.
func (t *told) model(j workload.Job) *model {
	switch {
	case t.info != Learned:
		return nil
	case j.Spec.Model == "":
		return newModel()
	}
	m, ok := t.models[j.Spec.Model]
	if !ok {
		m = newModel()
		t.models[j.Spec.Model] = m
	}
	return m
}

func newModel() *model { return &model{seen: map[shapeOn]int{}} }

// sample is what a job's progress shows: the time of a unit in its shape.
func (t *told) sample(m *model, split []int, kind string, pace, units float64, at time.Time) {
	if m == nil {
		return
	}
	s := speed.Shape{Nodes: len(split)}
	for _, g := range split {
		s.GPUs += g
	}
	if m.seen[shapeOn{s, kind}] >= enough {
		return
	}
	m.seen[shapeOn{s, kind}]++
	if t.noise > 0 {
		pace *= math.Exp(t.noise * t.rng.NormFloat64())
	}
	m.samples = append(m.samples, speed.Sample{Shape: s, Seconds: pace, Units: units, At: at, Kind: kind})
	m.stale = true
}

// refresh gives the jobs of a learned model the curve its samples make.
func (t *told) refresh(r *round) {
	for i := range r.live {
		m := r.live[i].model
		if r.live[i].lane != nil {
			continue // its speed is not learned
		}
		if m == nil {
			return // an oracle has no models
		}
		if m.stale {
			m.curve, m.stale = speed.Fit(m.samples, r.snap.Now).On(t.kinds.all), false
		}
		r.snap.Jobs[i].Curve = m.curve
	}
}
