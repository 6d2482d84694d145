package sweep

import (
	"bytes"
	"fmt"
	"strings"
)

// A Use is a place in a script where a parameter's value is to be written.
type Use struct {
	Name         string
	Line, Column int // from 1; columns count bytes
	at, end      int // offsets of {name}
}

// TrialName is the name that every script may use for the trial's number, and SeedName that for its
// seed (SeedOf), unless a parameter is called so.
const (
	TrialName = "trial"
	SeedName  = "seed"
)

// SeedOf is the seed of a repeat of a point: the same for that repeat of every point, so that points
// are compared under the same luck.
func (s Sweep) SeedOf(repeat int) uint64 { return s.Seed + uint64(repeat) }

// Uses returns the uses of parameters in the command lines of a script: {name}, where name is a
// name of a parameter's form. ${name} is the shell's, and {{name}} stands for {name} itself. They
// are in the order of the script. Lines that begin with '#' are left alone: comments, #SBATCH and
// #SLUICE. A use with an empty Name is a doubled brace, which Render makes single.
//
//	python train.py --lr {lr}         a use of lr
//	echo ${HOME} {{lr}}               no use; {lr} is printed
//	awk '{print $1}'                  no use: a blank is no part of a name
func Uses(script []byte) (uses []Use) {
	offset := 0
	for number, line := range bytes.SplitAfter(script, []byte("\n")) {
		if !bytes.HasPrefix(bytes.TrimLeft(line, " \t"), []byte("#")) {
			for _, u := range usesIn(string(line)) {
				u.Line, u.Column = number+1, u.at+1
				u.at, u.end = u.at+offset, u.end+offset
				uses = append(uses, u)
			}
		}
		offset += len(line)
	}
	return uses
}

// usesIn are the uses in one line, with offsets from its begin.
func usesIn(line string) (uses []Use) {
	for i := 0; i < len(line); i++ {
		if line[i] != '{' {
			continue
		}
		if doubled := strings.HasPrefix(line[i:], "{{"); doubled {
			if end := nameEnd(line, i+2); end > 0 && strings.HasPrefix(line[end:], "}}") {
				uses = append(uses, Use{at: i, end: end + 2}) // no name: a brace
				i = end + 1
				continue
			}
		}
		end := nameEnd(line, i+1)
		if end > 0 && line[end] == '}' && (i == 0 || line[i-1] != '$') {
			uses = append(uses, Use{Name: line[i+1 : end], at: i, end: end + 1})
			i = end
		}
	}
	return uses
}

// nameEnd returns the end of the name that begins at i and that a byte follows; 0 if there is none.
func nameEnd(line string, i int) int {
	end := i
	for end < len(line) {
		c := line[end]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (end == i || !(c >= '0' && c <= '9' || c == '.')) {
			break
		}
		end++
	}
	if end == i || end >= len(line) {
		return 0
	}
	return end
}

// Render returns the script of a trial. value returns the value of a parameter, and false if the
// trial does not have it: then nothing is written. value is called once for each use, in order.
// What it returns is written without quotes, so it MUST be Plain; a submission checks that of
// choices, and numbers are. script is not changed.
func Render(script []byte, value func(name string) (string, bool)) []byte {
	var out bytes.Buffer
	at := 0
	for _, u := range Uses(script) {
		out.Write(script[at:u.at])
		switch text, ok := value(u.Name); {
		case u.Name == "":
			out.Write(script[u.at+1 : u.end-1])
		case ok:
			out.WriteString(text)
		}
		at = u.end
	}
	out.Write(script[at:])
	return out.Bytes()
}

// Plain reports whether a value can be written on a shell's command line as it is. nil if so.
// Blanks, quotes, *, $, ~ and the like are refused rather than quoted: the use may stand within
// quotes already.
func Plain(value string) error {
	for i, c := range value {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune("_@%+=:,./-", c)) {
			return fmt.Errorf("column %d: %q has a meaning to the shell", i+1, c)
		}
	}
	return nil
}
