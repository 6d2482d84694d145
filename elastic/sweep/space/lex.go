package space

import "strings"

// token is a word of a constraint. kind is 'n' for a number, 'w' for a word, 't' for quoted text,
// 'o' for an operator, 0 at the end. at is a byte offset; within makes it a column of characters.
type token struct {
	kind byte
	text string
	at   int
}

// operators has the longer ones first, so that <= is not read as < and =.
var operators = []string{"<=", ">=", "==", "!=", "&&", "||", "<", ">", "=", "!", "(", ")", "+", "-", "*", "/", "%"}

// tokens splits a constraint, and ends the list with a token of kind 0. at is the offset in bytes
// of the token's first character. Quoted text loses its quotes; it has no escapes, and may contain
// the other kind of quote.
func tokens(text string) ([]token, *fault) {
	var list []token
	for at := 0; at < len(text); {
		c := text[at]
		if c == ' ' || c == '\t' {
			at++
			continue
		}
		t, f := next(text, at)
		if f != nil {
			return nil, f
		}
		list, at = append(list, t), at+len(t.text)
		if t.kind == 't' {
			list[len(list)-1].text = t.text[1 : len(t.text)-1]
		}
	}
	return append(list, token{0, "", len(text)}), nil
}

// next is the token at the offset, which is no blank, with its quotes. Numbers have no sign: - is
// an operator, except after the e of an exponent. So depth-1 is three tokens, and 1e-3 one.
func next(text string, at int) (token, *fault) {
	rest := text[at:]
	switch c := rest[0]; {
	case c >= '0' && c <= '9' || c == '.':
		n := 1
		for n < len(rest) && (strings.IndexByte("0123456789.eE", rest[n]) >= 0 ||
			(rest[n] == '-' || rest[n] == '+') && (rest[n-1] == 'e' || rest[n-1] == 'E')) {
			n++
		}
		if _, ok := decimal(rest[:n]); !ok {
			return token{}, wrong(at, BadNumber, "%q is not a number", rest[:n])
		}
		return token{'n', rest[:n], at}, nil
	case letter(rune(c)):
		n := 1
		for n < len(rest) && (letter(rune(rest[n])) || rest[n] >= '0' && rest[n] <= '9' || rest[n] == '.') {
			n++
		}
		return token{'w', rest[:n], at}, nil
	case c == '\'' || c == '"':
		n := strings.IndexByte(rest[1:], c)
		if n < 0 {
			return token{}, wrong(at, Syntax, "the quote is not closed")
		}
		return token{'t', rest[:n+2], at}, nil
	}
	for _, o := range operators {
		if strings.HasPrefix(rest, o) {
			return token{'o', o, at}, nil
		}
	}
	return token{}, wrong(at, Syntax, "%q has no meaning here; want numbers, names, + - * / %%, comparisons, and, or, not, parentheses", []rune(rest)[0])
}
