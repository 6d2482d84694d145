package space

import (
	"encoding/json"
	"math"
	"strconv"
)

// Digits are the significant decimal digits of a value that a searcher draws. More would say
// nothing to a training, and would not be read by people.
const Digits = 6

// Value is what one parameter has at one point. Two values are equal if their texts are. Number is
// 0 where IsNumber is false. A Value is made by Drawn, by a parameter, or by reading a point, never
// from its fields: Text and Number have to agree.
type Value struct {
	Text     string
	Number   float64 // what Text says, if IsNumber
	IsNumber bool
}

// Drawn is the value of the number x: rounded to Digits digits if it is not whole. x is finite.
// Whole numbers keep all their digits, so a range of Int is not thinned out.
func Drawn(x float64) Value {
	if x != math.Trunc(x) {
		x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', Digits, 64), 64)
	}
	return exactly(x)
}

// exactly is the value of the number x, not rounded. It is for the ends of ranges and for what a
// user wrote, which MUST stay what they are.
func exactly(x float64) Value {
	x += 0 // no "-0"
	return Value{number(x), x, true}
}

// spelled is the value with this text. The text stays as it is: 1e-3 and 0.001 are two values with
// one number. Parameter.read makes them one where the parameter is numeric.
func spelled(text string) Value {
	if x, ok := decimal(text); ok {
		return Value{text, x, true}
	}
	return Value{Text: text}
}

// decimal reads a number as JSON and people write it: no hexadecimal, no underscores, not "inf".
// The letters are checked first, since strconv.ParseFloat also accepts 0x1p-2, nan and inf. A
// number too large for a float64 is none.
func decimal(text string) (float64, bool) {
	for _, c := range text {
		if !(c >= '0' && c <= '9') && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-' {
			return 0, false
		}
	}
	x, err := strconv.ParseFloat(text, 64)
	return x, err == nil && !math.IsInf(x, 0)
}

// number prints without loss, and whole numbers without an exponent. The shortest text that is read
// as the same float64.
func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) <= MaxNumber {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// String is Text.
func (v Value) String() string { return v.Text }

// MarshalJSON writes numbers, true and false as JSON's own, with the same text, and everything else
// as a string. The text is not normalised, so what is read back is the same Value.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.Text == "true" || v.Text == "false" || v.IsNumber && json.Valid([]byte(v.Text)) {
		return []byte(v.Text), nil
	}
	return json.Marshal(v.Text)
}
