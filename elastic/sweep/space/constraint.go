package space

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// maxDepth bounds the nesting of a constraint. Each level is some ten calls of Go, so a hostile
// text cannot use up the stack.
const maxDepth = 64

// Constraint is a `--where`: numbers, names of parameters, texts in quotes, + - * / %, comparisons,
// and, or, not, parentheses; "=", "&&", "||" and "!" are other forms of "==", "and", "or", "not".
// Comparisons bind closer than not, not than and, and than or. A word that is no parameter but a
// choice of the parameter it is compared with is that choice: opt == sgd.
//
// A point that lacks a parameter which the constraint names satisfies it. One for which a term is
// not a number, as after a division by 0, does not.
type Constraint struct {
	text  string
	uses  []string
	value node
}

// node computes a part of a constraint: a number, a text or a truth, as its type says. eval is
// pure: a constraint is read once and then asked about thousands of points, maybe by several
// goroutines. word and name are set for bare words only, and at most one of them.
type node struct {
	typ  byte // 'n' number, 't' text, 'b' truth
	at   int
	word string // of an unknown name, which may be a choice of its neighbour
	name string // of a parameter
	eval func(Point) operand
}

// operand is what a node is at one point. The field of the node's type is set; a parameter and a
// number literal have text beside number.
type operand struct {
	number float64
	text   string
	truth  bool
	failed bool // a term was not a number
}

// Satisfies says that the point satisfies every constraint. The point MUST be one of this space;
// true if there are no constraints.
func (s *Space) Satisfies(p Point) bool {
	for _, c := range s.where {
		if !c.holds(p) {
			return false
		}
	}
	return true
}

// holds is true where a parameter that the constraint names is absent, whatever the rest says:
// `momentum < .9 or lr < 1` does not reject points without momentum and a large lr.
func (c *Constraint) holds(p Point) bool {
	for _, name := range c.uses {
		if _, has := p.Get(name); !has {
			return true
		}
	}
	v := c.value.eval(p)
	return v.truth && !v.failed
}

// constraint reads one `--where`. s.at and s.params MUST be complete: the types of names come from
// them. A constraint without names is allowed, and the same at every point.
func (s *Space) constraint(text string) (*Constraint, *fault) {
	if utf8.RuneCountInString(text) > MaxText || !utf8.ValidString(text) {
		return nil, wrong(0, TooLarge, "a constraint is UTF-8 text of at most %d characters", MaxText)
	}
	list, f := tokens(text)
	if f != nil {
		return nil, f
	}
	r := &reader{space: s, rest: list, constraint: &Constraint{text: text}}
	n, f := r.or()
	if f == nil && r.peek().kind != 0 {
		f = wrong(r.peek().at, Syntax, "%q is not expected here", r.peek().text)
	}
	if f == nil {
		f = want(n, 'b')
	}
	if f != nil {
		return nil, f
	}
	r.constraint.value = n
	return r.constraint, nil
}

// reader is a recursive descent over the tokens. The last of rest is always the end, which no
// method takes, so rest[0] exists.
type reader struct {
	space      *Space
	rest       []token
	depth      int
	constraint *Constraint
}

func (r *reader) peek() token { return r.rest[0] }

// take reads the next token if it is one of these operators or words.
func (r *reader) take(texts ...string) (token, bool) {
	t := r.rest[0]
	if (t.kind == 'o' || t.kind == 'w') && slices.Contains(texts, t.text) {
		r.rest = r.rest[1:]
		return t, true
	}
	return t, false
}

// want refuses a node of another type. An unknown word is reported as such first: it counts as a
// text, and the user did not mean one.
func want(n node, typ byte) *fault {
	kinds := map[byte]string{'n': "a number", 't': "a text", 'b': "a comparison"}
	switch {
	case n.word != "":
		return wrong(n.at, NoSuchName, "no parameter is called %s", n.word)
	case n.typ != typ:
		return wrong(n.at, WrongType, "want %s here, this is %s", kinds[typ], kinds[n.typ])
	}
	return nil
}

// name is the node of a word, and notes a parameter in uses. A choice whose values are all numbers
// is a number: layers > 2 with layers=choice:2,4,8. A fixed value likewise.
func (r *reader) name(t token) node {
	i, found := r.space.at[t.text]
	if !found {
		return node{typ: 't', at: t.at, word: t.text, eval: func(Point) operand { return operand{text: t.text} }}
	}
	if !slices.Contains(r.constraint.uses, t.text) {
		r.constraint.uses = append(r.constraint.uses, t.text)
	}
	p := r.space.params[i]
	typ := byte('n')
	if !p.Numeric() {
		for _, choice := range p.Choices {
			if !spelled(choice).IsNumber {
				typ = 't'
			}
		}
	}
	return node{typ: typ, at: t.at, name: t.text, eval: func(at Point) operand {
		v, _ := at.Get(t.text)
		return operand{number: v.Number, text: v.Text}
	}}
}

// enter goes one level deeper. The caller MUST lower depth again when it returns without a fault;
// after a fault the reader is not used any more.
func (r *reader) enter(at int) *fault {
	if r.depth++; r.depth > maxDepth {
		return wrong(at, TooLarge, "more than %d parentheses or signs within one another", maxDepth)
	}
	return nil
}

// String is the text as the user wrote it.
func (c *Constraint) String() string { return fmt.Sprint(c.text) }
