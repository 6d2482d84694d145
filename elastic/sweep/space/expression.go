package space

import (
	"math"
	"slices"
)

// or reads a whole expression. The grammar has one method for each line:
//
//	or         = and { ("or" | "||") and }
//	and        = not { ("and" | "&&") not }
//	not        = ("not" | "!") not | comparison
//	comparison = sum [ ("<=" | ">=" | "==" | "!=" | "<" | ">" | "=") sum ]
//	sum        = product { ("+" | "-") product }
//	product    = factor { ("*" | "/" | "%") factor }
//	factor     = "-" factor | "(" or ")" | number | quoted text | word
//
// Each returns a node that computes its part. The offset of a fault is that of the word at fault.
//
// A side that failed does not count where the other one is true, so `d==0 or n/d>2` holds at d=0.
// Both sides are always computed: there is nothing that a computation could change.
func (r *reader) or() (node, *fault) {
	return r.joined(r.and, func(a, b operand) operand {
		return operand{truth: a.truth || b.truth, failed: a.failed && !b.truth || b.failed && !a.truth}
	}, "or", "||")
}

// and reads what binds closer than or. A side that failed makes the whole failed, even beside a
// false one: that would become true under a not.
func (r *reader) and() (node, *fault) {
	return r.joined(r.not, func(a, b operand) operand {
		return operand{truth: a.truth && b.truth, failed: a.failed || b.failed}
	}, "and", "&&")
}

// joined reads part { word part }, left to right. A single part is passed on with its own type, so
// a number in parentheses stays a number; only with a word between them must both sides be truths.
func (r *reader) joined(part func() (node, *fault), join func(a, b operand) operand, words ...string) (node, *fault) {
	left, f := part()
	for f == nil {
		if _, more := r.take(words...); !more {
			return left, nil
		}
		var right node
		if right, f = part(); f != nil {
			break
		}
		if f = want(left, 'b'); f == nil {
			f = want(right, 'b')
		}
		a, b := left.eval, right.eval
		left = node{typ: 'b', at: left.at, eval: func(p Point) operand { return join(a(p), b(p)) }}
	}
	return left, f
}

func (r *reader) not() (node, *fault) {
	t, negated := r.take("not", "!")
	if !negated {
		return r.comparison()
	}
	if f := r.enter(t.at); f != nil {
		return node{}, f
	}
	n, f := r.not()
	r.depth--
	if f == nil {
		f = want(n, 'b')
	}
	inner := n.eval
	return node{typ: 'b', at: t.at, eval: func(p Point) operand {
		v := inner(p)
		return operand{truth: !v.truth, failed: v.failed}
	}}, f
}

// comparison returns a truth, or what sum returned if no operator follows. Which side is a word and
// which a parameter does not matter: sgd == opt is opt == sgd. A choice that is spelled as a
// number, of a parameter that has other texts too, needs quotes: mode == '1'.
func (r *reader) comparison() (node, *fault) {
	left, f := r.sum()
	if f != nil {
		return left, f
	}
	t, found := r.take("<=", ">=", "==", "!=", "<", ">", "=")
	if !found {
		return left, nil
	}
	right, f := r.sum()
	if f != nil {
		return right, f
	}
	if again, chained := r.take("<=", ">=", "==", "!=", "<", ">", "="); chained {
		return left, wrong(again.at, Syntax, "two comparisons in a row; want a < b and b < c")
	}
	r.choice(&left, right)
	r.choice(&right, left)
	typ := byte('n')
	if left.typ == 't' || right.typ == 't' {
		typ = 't'
	}
	if f := want(left, typ); f != nil {
		return left, f
	}
	if f := want(right, typ); f != nil {
		return right, f
	}
	if typ == 't' && !slices.Contains([]string{"==", "!=", "="}, t.text) {
		return left, wrong(t.at, WrongType, "texts are compared with == and !=")
	}
	return compared(left, right, t.text, typ), nil
}

// choice makes an unknown word a text if the other side is a parameter that has it as a choice.
// Everywhere else an unknown word is an error (want), so a misspelled name is never taken for a
// text.
func (r *reader) choice(n *node, other node) {
	if n.word == "" || other.name == "" {
		return
	}
	if i := r.space.at[other.name]; slices.Contains(r.space.params[i].Choices, n.word) {
		n.word = ""
	}
}

// compared computes the comparison of two nodes of the type typ. Numbers are equal if they are the
// same float64, without a tolerance: 0.1+0.2 == 0.3 is false. An infinity, as after an overflow, is
// a number; NaN fails the comparison, != too.
func compared(left, right node, operator string, typ byte) node {
	a, b := left.eval, right.eval
	return node{typ: 'b', at: left.at, eval: func(p Point) operand {
		x, y := a(p), b(p)
		if typ == 't' {
			return operand{truth: (x.text == y.text) == (operator != "!=")}
		}
		v := operand{failed: x.failed || y.failed || math.IsNaN(x.number) || math.IsNaN(y.number)}
		switch operator {
		case "<":
			v.truth = x.number < y.number
		case "<=":
			v.truth = x.number <= y.number
		case ">":
			v.truth = x.number > y.number
		case ">=":
			v.truth = x.number >= y.number
		case "!=":
			v.truth = x.number != y.number
		default:
			v.truth = x.number == y.number
		}
		return v
	}}
}

func (r *reader) sum() (node, *fault) { return r.chain(r.product, "+", "-") }

func (r *reader) product() (node, *fault) { return r.chain(r.factor, "*", "/", "%") }

// chain reads numbers with operators of one precedence between them, from left to right: 8/4/2 is
// 1.
func (r *reader) chain(part func() (node, *fault), operators ...string) (node, *fault) {
	left, f := part()
	for f == nil {
		t, more := r.take(operators...)
		if !more {
			return left, nil
		}
		var right node
		if right, f = part(); f != nil {
			break
		}
		if f = want(left, 'n'); f == nil {
			f = want(right, 'n')
		}
		a, b := left.eval, right.eval
		left = node{typ: 'n', at: left.at, eval: func(p Point) operand {
			x, y := a(p), b(p)
			return operand{number: arithmetic(t.text, x.number, y.number), failed: x.failed || y.failed}
		}}
	}
	return left, f
}

// arithmetic is NaN for a division or a remainder by 0. x % y has the sign of x.
func arithmetic(operator string, x, y float64) float64 {
	switch {
	case operator == "+":
		return x + y
	case operator == "-":
		return x - y
	case operator == "*":
		return x * y
	case y == 0:
		return math.NaN()
	case operator == "/":
		return x / y
	}
	return math.Mod(x, y)
}

// factor and not are where the reader calls itself, so they count the depth.
func (r *reader) factor() (node, *fault) {
	t := r.peek()
	if f := r.enter(t.at); f != nil {
		return node{}, f
	}
	defer func() { r.depth-- }()
	if _, minus := r.take("-"); minus {
		n, f := r.factor()
		if f == nil {
			f = want(n, 'n')
		}
		inner := n.eval
		return node{typ: 'n', at: t.at, eval: func(p Point) operand {
			v := inner(p)
			v.number = -v.number
			return v
		}}, f
	}
	if _, open := r.take("("); open {
		n, f := r.or()
		if _, closed := r.take(")"); f == nil && !closed {
			f = wrong(r.peek().at, Syntax, "want ')' for the '(' in column %d", t.at+1)
		}
		n.name = "" // (opt) is no place for a bare choice
		return n, f
	}
	return r.atom(t)
}

// atom reads t, the next token, as a number, a quoted text, or a word: a parameter or a choice.
func (r *reader) atom(t token) (node, *fault) {
	switch {
	case t.kind == 'n':
		x, _ := decimal(t.text)
		r.rest = r.rest[1:]
		return node{typ: 'n', at: t.at, eval: func(Point) operand { return operand{number: x, text: t.text} }}, nil
	case t.kind == 't':
		r.rest = r.rest[1:]
		return node{typ: 't', at: t.at, eval: func(Point) operand { return operand{text: t.text} }}, nil
	case t.kind == 'w' && !slices.Contains([]string{"and", "or", "not"}, t.text):
		r.rest = r.rest[1:]
		return r.name(t), nil
	case t.kind == 0:
		return node{}, wrong(t.at, Syntax, "the constraint ends where a number or a name is wanted, as in depth*width<4096")
	}
	return node{}, wrong(t.at, Syntax, "want a number or a name, not %q", t.text)
}
