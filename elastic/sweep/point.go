package sweep

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Setting is a parameter's value in a point. It is the vocabulary of lanes, which link no search:
// package space has the same with numbers.
type Setting struct{ Name, Text string }

// Variable is the setting's name in the environment of a trial.
func (s Setting) Variable() string {
	return "SLUICE_PARAM_" + strings.ToUpper(strings.ReplaceAll(s.Name, ".", "_"))
}

// ParsePoint splits lr=0.001,depth=4. Values have no commas. A part without '=' is left out, and ""
// is nil. Names are not checked: sluiced wrote the text.
func ParsePoint(text string) (point []Setting) {
	for part := range strings.SplitSeq(text, ",") {
		if name, value, ok := strings.Cut(part, "="); ok {
			point = append(point, Setting{name, value})
		}
	}
	return point
}

// PointJSON is the point as an object: numbers, true and false as such, all else as texts. It ends
// with a newline. space.ReadPoint reads it, and every value has the same text there.
func PointJSON(point []Setting) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, s := range point {
		if i > 0 {
			b.WriteString(", ")
		}
		name, _ := json.Marshal(s.Name) // a string: cannot fail
		b.Write(name)
		b.WriteString(": ")
		if value := []byte(s.Text); s.Text != "null" && json.Valid(value) && s.Text[0] != '{' && s.Text[0] != '[' && s.Text[0] != '"' {
			b.Write(value)
		} else {
			value, _ = json.Marshal(s.Text)
			b.Write(value)
		}
	}
	b.WriteString("}\n")
	return b.Bytes()
}
