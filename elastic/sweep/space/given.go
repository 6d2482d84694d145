package space

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"
)

// Given is a `--try`: values of some parameters. What is missing is drawn. The zero value gives
// nothing. It belongs to the space that read it, and is not changed.
type Given struct{ values map[string]Value }

// Given reads lr=1e-3,depth=4. The error is an *Error with index 0. The caller that reads several
// sets Index. Constraints are not asked here, since they may depend on what is drawn: Complete
// returns false if no point is left.
func (s *Space) Given(text string) (Given, error) {
	g, f := s.given(text)
	if f != nil {
		return Given{}, f.within(Try, 0, text)
	}
	return g, nil
}

// given is Given with a byte offset instead of a column.
func (s *Space) given(text string) (Given, *fault) {
	g := Given{map[string]Value{}}
	if len(text) > 64*MaxText || !utf8.ValidString(text) {
		return g, wrong(0, TooLarge, "want UTF-8 text of at most %d characters", 64*MaxText)
	}
	at := 0
	for _, part := range strings.Split(text, ",") {
		from := at + indent(part)
		at += len(part) + 1
		name, value, found := strings.Cut(strings.TrimSpace(part), "=")
		if !found {
			return g, wrong(from, Syntax, "want NAME=VALUE,NAME=VALUE")
		}
		i, known := s.at[name]
		if !known {
			return g, wrong(from, NoSuchName, "no parameter is called %s%s", name, s.called())
		}
		if _, twice := g.values[name]; twice {
			return g, wrong(from, Twice, "%s is given twice; leave one out", name)
		}
		p := s.params[i]
		v, f := p.read(value, from+len(name)+1)
		if f != nil {
			return g, f
		}
		g.values[name] = v
	}
	return g, s.reachable(g)
}

// read is the value with this text, printed as the parameter's values are. So lr=1e-3 is the same
// point as lr=0.001. A Choice and a Fixed keep the text, which MUST be one of theirs.
func (p Parameter) read(text string, at int) (Value, *fault) {
	v := spelled(text)
	if p.Numeric() {
		if !v.IsNumber {
			return v, wrong(at, BadNumber, "%q is not a number; want one of %s", text, p)
		}
		if v = exactly(v.Number); p.Whole() && v.Number != math.Trunc(v.Number) {
			return v, wrong(at, OutOfRange, "%s is not a whole number", text)
		}
	}
	if !p.has(v) {
		return v, wrong(at, OutOfRange, "%s is not a value of %s", text, p)
	}
	return v, nil
}

// reachable refuses a value of a parameter that does not exist because of another one given. A
// parameter whose ancestors are not given passes: they may be drawn so that it exists.
func (s *Space) reachable(g Given) *fault {
	for name := range g.values {
		for i := s.at[name]; s.parent[i] >= 0; i = s.parent[i] {
			above := s.params[s.parent[i]].Name
			if v, given := g.values[above]; given && !s.params[i].If.holds(v) {
				return wrong(0, OutOfRange, "%s does not exist where %s=%s", name, above, v)
			}
		}
	}
	return nil
}

// ReadPoint reads what Point.MarshalJSON wrote. It does not ask a space, so that trials of a sweep
// stay known after its space was edited; Space.Holds does. Users can write anything there, so it is
// as strict as a reader can be without a space: names and values as in a `--param`, each name once,
// at most MaxParameters, no null, nothing nested, nothing after the object. Numbers keep their text
// (UseNumber): 0.10 stays 0.10. {} is a point without parameters, and no error.
func ReadPoint(data []byte) (Point, error) {
	var p Point
	d := json.NewDecoder(strings.NewReader(string(data)))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return p, errors.New("parameters of a trial: want a JSON object")
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return Point{}, fmt.Errorf("parameters of a trial: %w", err)
		}
		value, err := d.Token()
		if err != nil {
			return Point{}, fmt.Errorf("parameters of a trial: %w", err)
		}
		if _, nested := value.(json.Delim); nested || value == nil || len(p.settings) == MaxParameters {
			return Point{}, fmt.Errorf("parameters of a trial: %s: want at most %d numbers, texts, true or false", name, MaxParameters)
		}
		if f := checkName(name.(string), 0); f != nil {
			return Point{}, fmt.Errorf("parameters of a trial: %q: %s", name, f.said)
		}
		// A json.Number prints as it was written, and true as true.
		text := fmt.Sprint(value)
		if _, twice := p.Get(name.(string)); twice {
			return Point{}, fmt.Errorf("parameters of a trial: %s is there twice", name)
		}
		if f := checkValue(text, 0); f != nil {
			return Point{}, fmt.Errorf("parameters of a trial: %s: %s", name, f.said)
		}
		p.settings = append(p.settings, Setting{name.(string), spelled(text)})
	}
	if _, err := d.Token(); err != nil {
		return Point{}, fmt.Errorf("parameters of a trial: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Point{}, errors.New("parameters of a trial: something follows the JSON object")
	}
	return p, nil
}

// Exact reads a point that another program chose: a JSON object with exactly the parameters that
// exist there, each with a value that it can have, and all constraints satisfied. The error names
// the first that is not.
func (s *Space) Exact(data []byte) (Point, error) {
	raw, err := ReadPoint(data)
	if err != nil {
		return Point{}, err
	}
	values, given := make([]Value, len(s.params)), make([]bool, len(s.params))
	for _, setting := range raw.settings {
		i, known := s.at[setting.Name]
		if !known {
			return Point{}, fmt.Errorf("no parameter is called %s", setting.Name)
		}
		v, f := s.params[i].read(setting.Value.Text, 0)
		if f != nil {
			return Point{}, fmt.Errorf("%s: %s", setting.Name, f.said)
		}
		values[i], given[i] = v, true
	}
	for i, parameter := range s.params {
		switch is := s.exists(i, values, given); {
		case is && !given[i]:
			return Point{}, fmt.Errorf("%s is missing", parameter.Name)
		case !is && given[i]:
			return Point{}, fmt.Errorf("%s does not exist there: %s", parameter.Name, parameter)
		}
	}
	p := s.collect(values, given)
	for _, c := range s.where {
		if !c.holds(p) {
			return Point{}, fmt.Errorf("%s is not satisfied", c.text)
		}
	}
	return p, nil
}
