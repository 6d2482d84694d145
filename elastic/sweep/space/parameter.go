package space

import (
	"math"
	"slices"
	"strings"
)

// Kind is how a parameter's values are spread.
type Kind string

const (
	Float  Kind = "float"  // evenly from Low to High, in steps if Step is above 0
	Log    Kind = "log"    // evenly by the logarithm
	Int    Kind = "int"    // whole numbers from Low to High, in steps of Step
	LogInt Kind = "logint" // whole numbers, evenly by the logarithm
	Choice Kind = "choice" // one of Choices, without an order
	Fixed  Kind = "fixed"  // always Choices[0]
)

// Limits of one space. They bound what a submission costs the daemon.
const (
	MaxParameters = 64
	MaxChoices    = 1000
	MaxText       = 1000 // characters of a constraint; of a parameter and a --try 64 times as many bytes
	MaxName       = 64
	MaxValue      = 256
	MaxNumber     = 1e15 // whole numbers up to this are exact in a float64
)

// Parameter is one dimension of a space. One that Parse or ParseParameter returned has these
// invariants; a caller that makes its own passes it through New:
//
//   - Numeric: Low <= High, both within MaxNumber, Choices empty; above 0 if Logarithmic; whole if Whole.
//   - Choice: 1 to MaxChoices different Choices. Fixed: exactly one.
//   - Step is 0 for Log, and 0 or at most High-Low for Float.
type Parameter struct {
	Name      string
	Kind      Kind
	Low, High float64 // inclusive; unset for Choice and Fixed
	Step      float64 // 0: none; of Int at least 1, of LogInt always 1
	Choices   []string
	If        *Condition // nil: every point has the parameter
}

// Condition is "if Name=Values[0],Values[1]": the parameter exists in points where Name exists and
// has one of Values. Values are compared as the parent's values are (holds). A condition on a
// parameter that has a condition itself is a chain: without the grandparent's value neither exists.
type Condition struct {
	Name   string
	Values []string
}

// Numeric says that values are numbers with an order. A choice of numbers is not: nothing says that
// 32 lies between 16 and 64 for the training.
func (p Parameter) Numeric() bool { return p.Kind != Choice && p.Kind != Fixed }

// Whole says that values are whole numbers.
func (p Parameter) Whole() bool { return p.Kind == Int || p.Kind == LogInt }

// Logarithmic says that values are spread by their logarithm.
func (p Parameter) Logarithmic() bool { return p.Kind == Log || p.Kind == LogInt }

// Count is how many values the parameter has; +Inf for a range without steps. (A value is
// rounded to Digits digits, but no use of Count depends on that.)
func (p Parameter) Count() float64 {
	switch {
	case !p.Numeric():
		return float64(len(p.Choices))
	case p.Low == p.High:
		return 1
	case p.Whole():
		return math.Floor((p.High-p.Low)/max(p.Step, 1)) + 1
	case p.Step > 0:
		return math.Floor((p.High-p.Low)/p.Step+1e-9) + 1
	}
	return math.Inf(1)
}

// String is the text that ParseParameter reads as this parameter. It is canonical: a step of 1 of
// whole numbers is left out, numbers are in their shortest form, and NAME=VALUE becomes
// NAME=fixed:VALUE.
func (p Parameter) String() string {
	var b strings.Builder
	b.WriteString(p.Name + "=" + string(p.Kind) + ":")
	if p.Numeric() {
		b.WriteString(number(p.Low) + ":" + number(p.High))
		if p.Step > 0 && !(p.Whole() && p.Step == 1) {
			b.WriteString(":" + number(p.Step))
		}
	} else {
		b.WriteString(strings.Join(p.Choices, ","))
	}
	if p.If != nil {
		b.WriteString(" if " + p.If.Name + "=" + strings.Join(p.If.Values, ","))
	}
	return b.String()
}

// Variable is the parameter's name in the environment of a trial: SLUICE_PARAM_LR for lr,
// SLUICE_PARAM_MODEL_LR for model.lr. It is unique in a space; New refuses two names that share
// one.
func (p Parameter) Variable() string { return Variable(p.Name) }

// Variable is the environment's name of a parameter named so.
func Variable(name string) string {
	return "SLUICE_PARAM_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
}

// has says that the parameter can have a value with this text. A value between two steps counts as
// one it can have: a user may `--try` it, and Unit rounds it.
func (p Parameter) has(v Value) bool {
	if !p.Numeric() {
		return slices.Contains(p.Choices, v.Text)
	}
	return v.IsNumber && v.Number >= p.Low && v.Number <= p.High && (!p.Whole() || v.Number == math.Trunc(v.Number))
}
