package figures

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"

	"github.com/sluice-hpc/sluice/elastic/learn/predict"
	"github.com/sluice-hpc/sluice/elastic/sim/workload"
)

// profiled are the applications of testbench A.
var profiled = []string{"bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"}

// parting says which measurements a form learns from; the others it is asked for.
type parting struct {
	name   string
	learns func(c predict.Configuration, drawn float64) bool // drawn is uniform from 0 to 1
}

// partings: of "random 20%" it is not stated whether a fifth is learned or held back, so
// both are shown.
var partings = []parting{
	{"one node", func(c predict.Configuration, _ float64) bool { return len(c.Split) == 1 && c.GPUs() <= 4 }},
	{"20% held back", func(_ predict.Configuration, drawn float64) bool { return drawn >= .2 }},
	{"20% learned", func(_ predict.Configuration, drawn float64) bool { return drawn < .2 }},
}

// contenders are what sluice chooses from; rivals are shown beside them.
var (
	contenders = []predict.Form{predict.LeastSquares, predict.Network}
	rivals     = []predict.Form{predict.Pollux, predict.NetworkAlone}
)

// foretold is the result for one application.
type foretold struct {
	learned, asked int
	errors         []float64 // percent, by form: contenders, then rivals
	chosen         float64   // percent, of the predictor that cross-validation chose
	formUsed       string
}

// partSeed draws the random partings.
const partSeed = 1

// predictions shows the errors of the forms in configurations from which they did not learn.
func predictions(b *bench) func(*sheet) {
	results := make([][]foretold, len(partings))
	var runs batch
	runs.b = b
	for i, part := range partings {
		results[i] = make([]foretold, len(profiled))
		for k, name := range profiled {
			runs.tasks = append(runs.tasks, b.enqueue(func(*task) (err error) {
				results[i][k], err = foretell(b.Testbench, name, part)
				return err
			}))
		}
	}
	return func(s *sheet) {
		if !runs.wait() {
			return
		}
		s.say("mean absolute percentage error; split: one node = learned on 1-4 GPUs of one node, 20%% = drawn with seed %d; every form knows the batch", partSeed)
		s.heads("split", "profile", "learned", "asked", "least squares", "network", "chosen", "pollux", "network alone", "believed")
		for i, part := range partings {
			for k, f := range results[i] {
				s.line(part.name, profiled[k], fmt.Sprint(f.learned), fmt.Sprint(f.asked),
					tenth(f.errors[0]), tenth(f.errors[1]), tenth(f.chosen), tenth(f.errors[2]), tenth(f.errors[3]), f.formUsed)
			}
			m := average(results[i])
			s.line(part.name, "MEAN", "", "", tenth(m.errors[0]), tenth(m.errors[1]), tenth(m.chosen), tenth(m.errors[2]), tenth(m.errors[3]))
		}
		for i, part := range partings {
			m := average(results[i])
			s.goal(fmt.Sprintf("%s, mean of %d profiles, chosen below the seven parameters' error", part.name, len(profiled)), m.chosen, m.errors[2], "%")
		}
	}
}

func tenth(v float64) string { return fmt.Sprintf("%.1f", v) }

// foretell learns from a part of a profile, and asks for the rest.
func foretell(testbench, name string, part parting) (foretold, error) {
	profiles, err := workload.OpenProfiles(filepath.Join(testbench, "profiles"))
	if err != nil {
		return foretold{}, err
	}
	p, err := profiles.Application(name)
	if err != nil {
		return foretold{}, err
	}
	known, asked := part.of(p.Measured())
	out := foretold{learned: len(known), asked: len(asked)}
	for _, form := range append(contenders[:len(contenders):len(contenders)], rivals...) {
		fit, err := form.Fit(known)
		if err != nil {
			return foretold{}, fmt.Errorf("%s of %s: %w", form.Name, name, err)
		}
		out.errors = append(out.errors, off(asked, fit))
	}
	choice, err := predict.Choose(contenders, known, nil)
	if err != nil {
		return foretold{}, fmt.Errorf("%s: %w", name, err)
	}
	out.chosen = off(asked, func(c predict.Configuration) float64 { seconds, _ := choice.Seconds(c); return seconds })
	out.formUsed = formUsed(choice)
	return out, nil
}

func formUsed(c *predict.Choice) string {
	return fmt.Sprintf("within %s, beyond %s", c.Forms[c.Within.Best].Name, c.Forms[c.Beyond.Best].Name)
}

// of parts measurements.
func (p parting) of(all []workload.Measurement) (known, asked []predict.Observation) {
	rng := rand.New(rand.NewPCG(partSeed, 0))
	for _, m := range all {
		o := predict.Observation{
			Configuration: predict.Configuration{Split: m.Split, Batch: float64(m.Local)},
			Seconds:       m.Step, Compute: m.Step - m.Sync,
		}
		if p.learns(o.Configuration, rng.Float64()) {
			known = append(known, o)
		} else {
			asked = append(asked, o)
		}
	}
	return known, asked
}

// off is the mean absolute percentage error.
func off(asked []predict.Observation, p predict.Predictor) float64 {
	sum := 0.0
	for _, o := range asked {
		sum += math.Abs(p(o.Configuration)/o.Seconds - 1)
	}
	return 100 * sum / float64(max(1, len(asked)))
}

// average is the mean over the applications.
func average(of []foretold) foretold {
	m := foretold{errors: make([]float64, len(contenders)+len(rivals))}
	for _, f := range of {
		for i, e := range f.errors {
			m.errors[i] += e / float64(len(of))
		}
		m.chosen += f.chosen / float64(len(of))
	}
	return m
}
