package space

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// forms ends the errors about a text that has no form at all: what to type instead.
const forms = "want NAME=log:LOW:HIGH, float:LOW:HIGH[:STEP], int:LOW:HIGH[:STEP], logint:LOW:HIGH, choice:A,B,... or fixed:VALUE"

// ParseParameter reads one `--param`. The error is an *Error. It checks the parameter alone:
// whether its condition names a parameter is for Parse. Index is 0.
func ParseParameter(text string) (Parameter, error) {
	p, f := parameter(text)
	if f != nil {
		return Parameter{}, f.within(Param, 0, text)
	}
	return p, nil
}

// parameter is ParseParameter with a byte offset instead of a column. Values have no blanks, so the
// first " if " begins the condition. Whether the condition's parameter exists is checked by link.
func parameter(text string) (p Parameter, f *fault) {
	if len(text) > 64*MaxText || !utf8.ValidString(text) {
		return p, wrong(0, TooLarge, "a parameter is UTF-8 text of at most %d characters", 64*MaxText)
	}
	body, condition, conditional := strings.Cut(text, " if ")
	name, rest, found := strings.Cut(body, "=")
	if !found {
		return p, wrong(len(body), Syntax, "no '=' after the name; %s", forms)
	}
	at := indent(name)
	p.Name = strings.TrimSpace(name)
	if f := checkName(p.Name, at); f != nil {
		return p, f
	}
	at = len(name) + 1 + indent(rest)
	if f := p.domain(strings.TrimSpace(rest), at); f != nil {
		return p, f
	}
	if conditional {
		p.If, f = parseCondition(condition, len(body)+len(" if "))
	}
	return p, f
}

// indent is the number of bytes of blanks before the text. Columns of errors then point at the text
// and not at the blanks before it.
func indent(text string) int { return len(text) - len(strings.TrimLeft(text, " \t")) }

// domain reads what follows '='; at is its offset. A word before ':' that is no kind makes the
// whole text a fixed value, as in url=http://host. One that looks like a kind is refused, since a
// misspelled kind would silently be a single value:
//
//	lr=log:1e-5:1e-1   Log
//	lr=loguniform:...  refused
//	url=http://host    Fixed
//	lr=log             refused: a kind without a range
func (p *Parameter) domain(text string, at int) *fault {
	kind, rest, typed := strings.Cut(text, ":")
	if typed {
		from := at + len(kind) + 1
		switch p.Kind = Kind(kind); p.Kind {
		case Float, Log, Int, LogInt:
			return p.bounds(rest, from)
		case Choice:
			return p.choices(rest, from)
		case Fixed:
			text, at = rest, from
		default:
			if looksLikeKind(kind) || looksLikeRange(kind, rest) {
				return wrong(at, Syntax, "no kind of parameter is called %q; %s; for the text itself write fixed:%s", kind, forms, text)
			}
		}
	} else if slices.Contains([]Kind{Float, Log, Int, LogInt, Choice}, Kind(text)) {
		return wrong(at+len(text), Syntax, "%s has no range; %s", text, forms)
	}
	p.Kind, p.Choices = Fixed, []string{text}
	return checkValue(text, at)
}

// looksLikeKind says that a word before ':' is probably a misspelled kind, and not the start of a
// fixed value such as a URL. The words are common names of the same kinds, and the kinds themselves
// in capitals.
func looksLikeKind(word string) bool {
	return slices.Contains([]string{"loguniform", "uniform", "lin", "linear", "double", "integer", "range", "cat", "categorical", "enum", "choices", "const", "logfloat", "intlog", "floatlog"}, strings.ToLower(word)) ||
		slices.Contains([]Kind{Float, Log, Int, LogInt, Choice, Fixed}, Kind(strings.ToLower(word)))
}

// looksLikeRange says that a word stands before what is two or more numbers, as in lgo:1e-5:1e-1, or before several
// choices: the word is a misspelled kind. One number, as in host:8080, may be part of a fixed value.
func looksLikeRange(word, rest string) bool {
	for _, c := range word {
		if !letter(c) {
			return false
		}
	}
	if strings.Contains(rest, ",") {
		return word != ""
	}
	parts := strings.Split(rest, ":")
	for _, part := range parts {
		if _, is := decimal(part); !is {
			return false
		}
	}
	return word != "" && len(parts) > 1
}

// instead is what to type for a logarithmic range that starts at or below 0.
func (p *Parameter) instead(parts []string) string {
	if p.Kind == LogInt {
		return fmt.Sprintf("logint:1:%s, or int:%s:%s", parts[1], parts[0], parts[1])
	}
	return fmt.Sprintf("log with a small number, such as 1e-6, or float:%s:%s", parts[0], parts[1])
}

// bounds reads LOW:HIGH[:STEP] and sets Low, High and Step. LOW = HIGH is a range of one value. A
// step need not divide the range: values are Low, Low+Step, ..., and High only if a step ends
// there.
func (p *Parameter) bounds(text string, at int) *fault {
	parts := strings.Split(text, ":")
	stepped := p.Kind == Float || p.Kind == Int
	if len(parts) < 2 || len(parts) > 3 || len(parts) == 3 && !stepped {
		step := ""
		if stepped {
			step = "[:STEP]"
		}
		return wrong(at, Syntax, "want %s:LOW:HIGH%s", p.Kind, step)
	}
	var numbers [3]float64
	var starts [3]int
	for i, part := range parts {
		x, ok := decimal(part)
		switch {
		case !ok:
			return wrong(at, BadNumber, "%q is not a number; want one such as 0.1 or 1e-5", part)
		case math.Abs(x) > MaxNumber:
			return wrong(at, BadNumber, "%s is too large: want at most %g", part, MaxNumber)
		case p.Whole() && x != math.Trunc(x):
			return wrong(at, BadNumber, "%s is not a whole number; for fractions write float or log", part)
		}
		// x+0 is 0 where x is -0.
		numbers[i], starts[i] = x+0, at
		at += len(part) + 1
	}
	p.Low, p.High, p.Step = numbers[0], numbers[1], numbers[2]
	switch {
	case p.Logarithmic() && p.Low <= 0:
		return wrong(starts[0], LogOfZero, "a logarithmic range starts above 0, not at %s; write %s", parts[0], p.instead(parts))
	case p.Low > p.High:
		return wrong(starts[0], EmptyRange, "the range from %s to %s is empty; want the smaller number first: %s:%s:%s", parts[0], parts[1], p.Kind, parts[1], parts[0])
	case len(parts) == 3 && p.Step <= 0:
		return wrong(starts[2], BadStep, "a step is above 0; for any number between leave it out: %s:%s:%s", p.Kind, parts[0], parts[1])
	case len(parts) == 3 && p.Step > p.High-p.Low:
		return wrong(starts[2], BadStep, "a step of %s is larger than the range from %s to %s; want a smaller one", parts[2], parts[0], parts[1])
	case p.Whole() && p.Step == 0:
		p.Step = 1
	}
	return nil
}

// choices reads A,B,... and appends them to Choices. They are compared as texts: 1 and 1.0 are two.
func (p *Parameter) choices(text string, at int) *fault {
	for _, word := range strings.Split(text, ",") {
		if word == "" {
			return wrong(at, EmptyRange, "a choice without a value; want choice:A,B,...")
		}
		if f := checkValue(word, at); f != nil {
			return f
		}
		if slices.Contains(p.Choices, word) {
			return wrong(at, Twice, "the choice %q is given twice; leave one out", word)
		}
		if len(p.Choices) == MaxChoices {
			return wrong(at, TooLarge, "more than %d choices; for numbers write int or float", MaxChoices)
		}
		p.Choices = append(p.Choices, word)
		at += len(word) + 1
	}
	return nil
}

// parseCondition reads NAME=VALUE,VALUE, whose offset is at. It knows no other parameter: that NAME
// exists and can have each VALUE is checked by link.
func parseCondition(text string, at int) (*Condition, *fault) {
	at += indent(text)
	name, rest, found := strings.Cut(strings.TrimSpace(text), "=")
	if !found {
		return nil, wrong(at, Syntax, "want \"if NAME=VALUE\" or \"if NAME=VALUE,VALUE\"")
	}
	if f := checkName(name, at); f != nil {
		return nil, f
	}
	c := &Condition{Name: name}
	at += len(name) + 1
	for _, word := range strings.Split(rest, ",") {
		if f := checkValue(word, at); f != nil {
			return nil, f
		}
		c.Values = append(c.Values, word)
		at += len(word) + 1
	}
	return c, nil
}

// reserved are the words of a constraint. In any case of letters: a parameter called AND would be
// confused with and.
var reserved = []string{"and", "or", "not", "if", "true", "false"}

// checkName lets through what is one word of a constraint and, with dots replaced, a variable's
// name in the environment.
func checkName(name string, at int) *fault {
	if name == "" || len(name) > MaxName {
		return wrong(at, BadName, "a parameter's name has 1 to %d characters", MaxName)
	}
	for i, c := range name {
		if !letter(c) && (i == 0 || !(c >= '0' && c <= '9' || c == '.')) {
			return wrong(at+i, BadName, "a parameter's name has letters, digits, '_' and '.' and starts with a letter or '_', not %q", c)
		}
	}
	if slices.Contains(reserved, strings.ToLower(name)) {
		return wrong(at, BadName, "%q is a word of --where and cannot be a parameter's name", name)
	}
	return nil
}

func letter(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// checkValue refuses what has a meaning in one of the places where values stand: a comma separates
// values, braces enclose a name on a command line, quotes enclose a text of a constraint. So a
// point is read from its text without any escapes.
func checkValue(text string, at int) *fault {
	if text == "" || len(text) > MaxValue {
		return wrong(at, Syntax, "a value has 1 to %d characters", MaxValue)
	}
	for i, c := range text {
		if !unicode.IsGraphic(c) || unicode.IsSpace(c) || strings.ContainsRune(",{}'\"`\\", c) {
			return wrong(at+i, Syntax, "a value is without blanks, commas, quotes, braces and backslashes, not with %q", c)
		}
	}
	return nil
}
