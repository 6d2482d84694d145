package predict

import (
	"fmt"
	"math"
)

// Choice is the result of model selection for one model: which form predicts, and the evidence.
// Within.Best and Beyond.Best are indices into Forms, and their forms could be fitted.
type Choice struct {
	Forms []Form
	// Within is the cross-validation for configurations inside the measured range, Beyond for
	// more GPUs or nodes than were measured.
	Within, Beyond Trial
	fitted         []Predictor // by form; nil if it cannot be fitted
	seen           extent
}

// Trial is the result of one kind of cross-validation.
type Trial struct {
	Held int // number of predictions made, each observation as often as it was held back
	// Errors is the mean absolute relative error of each form: 0.1 is 10%. +Inf for a form that
	// could not be fitted; empty if there was too little to hold back.
	// The entries are in the order of the forms.
	Errors []float64
	// 0, the simplest form, if nothing was held back.
	Best int // index of the selected form
}

// Choose fits the forms, the first of which is the simplest, and selects one. It selects the
// first, unless cross-validation finds another better by more than one standard error of the
// difference (the rule of Breiman et al., Classification and Regression Trees, 1984, section
// 3.4.3, for few observations). Observations with the same value of together are held back
// together; nil holds each back alone. It returns the errors of Check, or why a selected form
// could not be fitted.
//
// The observations are not changed, and their order has no effect. Errors of Within and Beyond are
// measured on observations that the form had not seen; the predictors themselves are fitted to all.
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

// FormOf returns the index of the form that predicts a configuration.
// The configuration MUST be valid.
func (c *Choice) FormOf(q Configuration) int {
	if c.seen.holds(q) {
		return c.Within.Best
	}
	return c.Beyond.Best
}

// Seconds predicts a configuration by the form selected for it, in seconds above 0.
func (c *Choice) Seconds(q Configuration) (seconds float64, err error) {
	if why := q.wrong(); why != "" {
		return 0, fmt.Errorf("an invalid configuration: %s", why)
	}
	return c.fitted[c.FormOf(q)](q), nil
}

// Says returns the prediction of one form for a valid configuration, in seconds; 0 for a form
// that could not be fitted.
// It is for comparison; decisions use Seconds.
func (c *Choice) Says(form int, q Configuration) float64 {
	if c.fitted[form] == nil || q.wrong() != "" {
		return 0
	}
	return c.fitted[form](q)
}

// try holds back the observations of each split and has every form predict them.
func try(forms []Form, observations []Observation, splits [][]bool) Trial {
	var off [][]float64 // by form, then by split
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
// A form that cannot be fitted has the error +Inf for each.
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

// notable is the smallest gain in relative error for which a form is preferred to a simpler
// one; smaller gains change no decision.
const notable = 0.002

// clearly reports whether errors b are smaller than a by more than one standard error of their
// difference.
// Both are errors on the same observations in the same order, so that differences are taken one by
// one. If a form failed, the other wins only by not failing.
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

// mean returns NaN without numbers.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
