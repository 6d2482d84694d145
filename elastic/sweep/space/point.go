package space

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Setting is one parameter's value.
type Setting struct {
	Name  string
	Value Value
}

// Point is a value for every parameter that exists there, in the order of the space. It is made by
// a Space and not changed.
type Point struct{ settings []Setting }

// Settings lists what the point has. The caller must not change it. Settings of parameters that a
// condition excludes are not there; the zero Point has none.
func (p Point) Settings() []Setting { return p.settings }

// Get is the value of a parameter; false if the point does not have it. It goes through the list: a
// point has at most MaxParameters settings, mostly fewer than 10.
func (p Point) Get(name string) (Value, bool) {
	for _, s := range p.settings {
		if s.Name == name {
			return s.Value, true
		}
	}
	return Value{}, false
}

// String is the point's canonical text, lr=0.001,depth=4,opt=sgd: `--try` reads it, and two points
// are equal if and only if it is. Values have no commas, so nothing is escaped. The order is that
// of the space: a space whose parameters were reordered gives the same values another text, and
// counts them as another point.
func (p Point) String() string {
	var b strings.Builder
	for i, s := range p.settings {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(s.Name + "=" + s.Value.Text)
	}
	return b.String()
}

// Environment is SLUICE_PARAM_<NAME>=<value> for each parameter. A parameter that the point does
// not have has no variable, rather than an empty one.
func (p Point) Environment() []string {
	var list []string
	for _, s := range p.settings {
		list = append(list, Variable(s.Name)+"="+s.Value.Text)
	}
	return list
}

// MarshalJSON is an object with the parameters in the space's order. ReadPoint reads it. A number
// whose text is not one of JSON, such as .5 or 007, is a string there, and a number again after
// reading.
func (p Point) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, s := range p.settings {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(s.Name)
		if err != nil {
			return nil, err
		}
		value, err := s.Value.MarshalJSON()
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
