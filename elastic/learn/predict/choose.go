package predict

import (
	"fmt"
	"math"
)

// Choice is which form is believed for one model, and why.
type Choice struct {
	Forms []Form
	// Within is what cross-validation says of questions within what was measured, Beyond
	// of those for more GPUs or nodes than were.
	Within, Beyond Trial
	fitted         []Predictor // by form; nil where it cannot be fitted
	seen           extent
}

// Trial is what came of holding observations back and asking for them.
type Trial struct {
	Held int // observations asked for, each as often as it was held back
	// Errors is the mean relative error of each form, without sign: 0.1 is 10% off. +Inf
	// of a form that could not be fitted; empty where there was too little to hold back.
	Errors []float64
	Best   int // the form believed
}

// Choose fits the forms, of which the first is the simplest, and says which to believe:
// the first, unless cross-validation on the observations finds another better by more
// than one standard error of the difference (the rule of Breiman et al., Classification
// and Regression Trees, 1984, section 3.4.3, for few observations). Observations for which
// together says the same are held back together; nil holds back each by itself. The errors
// are those of Check, and what kept a form that is believed from being fitted.
func Choose(forms []Form, observations []Observation, together func(Configuration) string) (*Choice, error) {
	if err := Check(observations); err != nil {
		return nil, err
	}
	observations = ordered(observations)
	c := &Choice{Forms: forms, seen: extentOf(observations), fitted: make([]Predictor, len(forms))}
	c.Within = try(forms, observations, folds(observations, together))
	c.Beyond = try(forms, observations, cuts(observations))
	for i, f := range forms {
		var err error
		if c.fitted[i], err = f.Fit(observations); err != nil && (i == c.Within.Best || i == c.Beyond.Best) {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return c, nil
}

// Believed is the form that answers for a configuration.
func (c *Choice) Believed(q Configuration) int {
	if c.seen.holds(q) {
		return c.Within.Best
	}
	return c.Beyond.Best
}

// Seconds answers for a configuration by the form believed there.
func (c *Choice) Seconds(q Configuration) (seconds float64, err error) {
	if why := q.wrong(); why != "" {
		return 0, fmt.Errorf("a configuration that cannot be: %s", why)
	}
	return c.fitted[c.Believed(q)](q), nil
}

// Says is what one form answers for a configuration that can be; 0 of a form that could
// not be fitted.
func (c *Choice) Says(form int, q Configuration) float64 {
	if c.fitted[form] == nil || q.wrong() != "" {
		return 0
	}
	return c.fitted[form](q)
}

// try holds back what each split says, and asks every form for it.
func try(forms []Form, observations []Observation, splits [][]bool) Trial {
	var off [][]float64 // by form, then by what was held back
	for _, f := range forms {
		var errs []float64
		for _, held := range splits {
			errs = append(errs, ask(f, observations, held)...)
		}
		off = append(off, errs)
	}
	if len(splits) == 0 {
		return Trial{}
	}
	t := Trial{Held: len(off[0])}
	for i := range forms {
		t.Errors = append(t.Errors, mean(off[i]))
		if i > 0 && clearly(off[t.Best], off[i]) {
			t.Best = i
		}
	}
	return t
}

// ask fits a form to what is not held back, and returns its relative errors on what is.
func ask(f Form, observations []Observation, held []bool) []float64 {
	var known, asked []Observation
	for i, o := range observations {
		if held[i] {
			asked = append(asked, o)
		} else {
			known = append(known, o)
		}
	}
	p, err := f.Fit(known)
	out := make([]float64, len(asked))
	for i, o := range asked {
		if out[i] = math.Inf(1); err == nil {
			out[i] = math.Abs(p(o.Configuration)/o.Seconds - 1)
		}
	}
	return out
}

// notable is the least gain in relative error for which a form is preferred to a simpler
// one: no decision turns on less.
const notable = 0.002

// clearly reports whether errors b are smaller than a by more than a standard error of
// their difference.
func clearly(a, b []float64) bool {
	by := make([]float64, len(a))
	for i := range a {
		if by[i] = a[i] - b[i]; math.IsNaN(by[i]) || math.IsInf(by[i], 0) {
			return math.IsInf(mean(a), 1) && !math.IsInf(mean(b), 1)
		}
	}
	gain, squares := mean(by), 0.0
	for _, d := range by {
		squares += (d - gain) * (d - gain)
	}
	n := float64(len(by))
	return n > 1 && gain > notable && gain > math.Sqrt(squares/(n-1)/n)
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
