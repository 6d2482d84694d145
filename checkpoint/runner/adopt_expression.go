package runner

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// words are the values found in one line of a program's output.
type words struct {
	epoch, step, total, seconds, speed float64 // negative = not found
}

// expression finds words in lines. Go's regular expressions take time linear in the line,
// whatever they are.
type expression struct {
	re    *regexp.Regexp
	names []string
}

// newExpression parses the expression; nil if there is none, or if it is invalid, which
// submit would have refused.
func newExpression(text string) *expression {
	if text == "" {
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil
	}
	return &expression{re, re.SubexpNames()}
}

// read searches one line.
func (e *expression) read(line string) (words, bool) {
	m := e.re.FindStringSubmatch(line)
	if m == nil {
		return words{}, false
	}
	w := words{-1, -1, -1, -1, -1}
	fields := map[string]*float64{"epoch": &w.epoch, "step": &w.step, "total": &w.total, "seconds": &w.seconds, "speed": &w.speed}
	for i, name := range e.names {
		if field := fields[name]; field != nil && m[i] != "" { // one of several groups of the same name
			*field = number(m[i])
		}
	}
	return w, w.epoch >= 0 || w.step >= 0
}

// number parses a count or a time; -1 if it is not a number. Thousands may be separated
// by commas.
func number(text string) float64 {
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(text), ",", ""), 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > maxNumber {
		return -1
	}
	return v
}
