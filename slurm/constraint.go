package slurm

import (
	"fmt"
	"slices"
	"strings"
)

// maxConstraint is the longest constraint, in bytes, that is read.
const maxConstraint = 4096

// Constraint says which nodes a job accepts, by their features: sbatch's --constraint.
// Slurm joins features from left to right; "&" does not bind closer than "|": a|b&c is
// (a|b)&c.
//
// Brackets hold alternatives, one of which all nodes of the job must have: [rack1|rack2].
// Slurm enforces that only if it chooses the nodes itself; a caller that names nodes, as
// sluice does, MUST enforce it.
type Constraint struct {
	alternatives []chain // at least one; exactly one if there are no brackets
}

// ConstraintError is a constraint that cannot be read, or that is ambiguous for a job
// whose nodes change.
type ConstraintError struct {
	Text   string // the constraint, shortened for display
	Column int    // where the error is, in bytes from 1
	Reason string // what the error is
}

// Error returns the constraint, the position of the error and its reason.
func (e *ConstraintError) Error() string {
	return fmt.Sprintf("constraint %q: column %d: %s", e.Text, e.Column, e.Reason)
}

// ParseConstraint reads a constraint in the syntax that sbatch accepts and squeue prints:
// names of features joined by "&" (or ",") or "|", in parentheses that contain names
// only, and at most one pair of brackets with alternatives. A count after a feature (a*2)
// is refused: releases differ in its meaning, and sluice changes the number of nodes. The
// error is a *ConstraintError.
func ParseConstraint(text string) (Constraint, error) {
	p := constraintParser{text: text}
	if len(text) > maxConstraint {
		return Constraint{}, p.fail(maxConstraint, fmt.Sprintf("longer than %d bytes", maxConstraint))
	}
	before, within, after, err := p.whole()
	if err != nil {
		return Constraint{}, err
	}
	if len(within) == 0 {
		return Constraint{[]chain{before}}, nil
	}
	var c Constraint
	for _, w := range within {
		c.alternatives = append(c.alternatives, slices.Concat(before, chain{link{group: w}}, after))
	}
	return c, nil
}

// Alternatives returns the number of alternatives, at least 1. All nodes of a job must be
// accepted by the same alternative.
func (c Constraint) Alternatives() int { return len(c.alternatives) }

// Accepts reports whether a node with these features is accepted by the alternative,
// counted from 0.
func (c Constraint) Accepts(alternative int, features []string) bool {
	return c.alternatives[alternative].holds(features)
}

// chain is a list of links, evaluated from left to right.
type chain []link

// link is one feature or a group of features in parentheses, and the operator that joins
// it to the links before it.
type link struct {
	or    bool
	name  string
	group chain // set if name is ""
}

func (c chain) holds(features []string) bool {
	so := true
	for i, l := range c {
		has := l.name != "" && slices.Contains(features, l.name) || l.name == "" && l.group.holds(features)
		switch {
		case i > 0 && l.or:
			so = so || has
		default:
			so = so && has
		}
	}
	return so
}

// constraintParser walks one constraint from left to right.
type constraintParser struct {
	text string
	pos  int
}

func (p *constraintParser) fail(at int, reason string) error {
	shown := p.text
	if len(shown) > 80 {
		shown = shown[:80] + "..."
	}
	return &ConstraintError{Text: shown, Column: at + 1, Reason: reason}
}

// whole reads a constraint: the part before the brackets, the alternatives in them, and
// the part after. Without brackets there is only the first part.
func (p *constraintParser) whole() (before chain, within []chain, after chain, err error) {
	rest := &before
	for {
		or := p.pos > 0 && p.text[p.pos-1] == '|'
		if at := p.pos; p.at('[') {
			if len(within) > 0 {
				return nil, nil, nil, p.fail(at, "only one pair of brackets is allowed")
			}
			if or {
				return nil, nil, nil, p.fail(at, `brackets can only be joined by "&"`)
			}
			if within, err = p.brackets(); err != nil {
				return nil, nil, nil, err
			}
			rest = &after
		} else {
			l, err := p.link(true)
			if err != nil {
				return nil, nil, nil, err
			}
			l.or = or
			*rest = append(*rest, l)
		}
		switch at := p.pos; {
		case at == len(p.text):
			return before, within, after, nil
		case !p.joined():
			return nil, nil, nil, p.fail(at, p.unexpected())
		case p.text[at] == '|' && len(within) > 0:
			return nil, nil, nil, p.fail(at, `brackets can only be joined by "&"`)
		}
	}
}

// brackets reads alternatives after "[" up to and including "]".
func (p *constraintParser) brackets() (alternatives []chain, err error) {
	open := p.pos - 1
	for {
		l, err := p.link(true)
		if err != nil {
			return nil, err
		}
		alternatives = append(alternatives, chain{l})
		switch at := p.pos; {
		case p.at(']'):
			return alternatives, nil
		case at == len(p.text):
			return nil, p.fail(open, "'[' without ']'")
		case p.text[at] == '&' || p.text[at] == ',':
			return nil, p.fail(at, `alternatives in brackets can only be joined by "|"; group features with parentheses: [(a&b)|c]`)
		case !p.at('|'):
			return nil, p.fail(at, p.unexpected())
		}
	}
}

// link reads a name, or parentheses where they are allowed.
func (p *constraintParser) link(parentheses bool) (link, error) {
	open := p.pos
	if !p.at('(') {
		name, err := p.name()
		return link{name: name}, err
	}
	if !parentheses {
		return link{}, p.fail(open, "parentheses within parentheses")
	}
	var l link
	for or := false; ; {
		inner, err := p.link(false)
		if err != nil {
			return link{}, err
		}
		inner.or = or
		l.group = append(l.group, inner)
		switch at := p.pos; {
		case p.at(')'):
			return l, nil
		case at == len(p.text):
			return link{}, p.fail(open, "'(' without ')'")
		case !p.joined():
			return link{}, p.fail(at, p.unexpected())
		default:
			or = p.text[at] == '|'
		}
	}
}

func (p *constraintParser) name() (string, error) {
	start := p.pos
	for p.pos < len(p.text) && isFeature(p.text[p.pos]) {
		p.pos++
	}
	if p.pos == start {
		if start == len(p.text) {
			return "", p.fail(start, "a feature is missing at the end")
		}
		return "", p.fail(start, "a feature is missing before "+fmt.Sprintf("%q", p.text[start]))
	}
	if p.pos < len(p.text) && p.text[p.pos] == '*' {
		return "", p.fail(p.pos, "a node count is not supported: sluice chooses the number of nodes, and changes it")
	}
	return p.text[start:p.pos], nil
}

// isFeature reports whether the byte is allowed in the name of a feature.
func isFeature(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-+=:/@%#", c) >= 0
}

// at skips the byte if it is the next one.
func (p *constraintParser) at(c byte) bool {
	if p.pos < len(p.text) && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

// joined skips an operator between two features.
func (p *constraintParser) joined() bool { return p.at('&') || p.at(',') || p.at('|') }

// unexpected describes what stands where an operator should be.
func (p *constraintParser) unexpected() string {
	switch c := p.text[p.pos]; c {
	case ')', ']':
		return fmt.Sprintf("%q without its beginning", c)
	default:
		return fmt.Sprintf(`%q where "&" or "|" should join two features`, c)
	}
}
