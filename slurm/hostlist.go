package slurm

import (
	"fmt"
	"strconv"
	"strings"
)

// Limits of Expand. They are far above any real cluster and low enough that a hostile
// text of a few bytes cannot exhaust memory.
const (
	// MaxHosts is the most names one host list may expand to.
	MaxHosts = 100_000
	// maxHostName is the longest name, in bytes, Expand makes.
	maxHostName = 255
	// maxHostlist is the longest text, in bytes, Expand reads.
	maxHostlist = 4 << 20
	// maxDigits is the maximum length of a number in brackets; longer ones overflow.
	maxDigits = 18
)

// HostlistError is a host list that cannot be read.
type HostlistError struct {
	List   string // the text, shortened for display
	Column int    // where the error is, in bytes from 1
	Reason string // what the error is
}

// Error returns the text, the position of the error and its reason.
func (e *HostlistError) Error() string {
	return fmt.Sprintf("host list %q: column %d: %s", e.List, e.Column, e.Reason)
}

// Expand turns a host list as Slurm writes it, such as
// "gpu[1-3,07],login1,rack[1-2]n[01-04]", into its names. Zero padding is kept: [08-11]
// is 08 09 10 11. Names are in the order of the list. If a name has several brackets they
// are expanded in Slurm's order: the last bracket varies fastest, then the first, then
// the second. Empty elements are skipped; an empty list has no names. The error is a
// *HostlistError.
func Expand(list string) ([]string, error) {
	p := hostParser{text: list}
	if len(list) > maxHostlist {
		return nil, p.fail(maxHostlist, fmt.Sprintf("longer than %d bytes", maxHostlist))
	}
	for p.pos < len(list) {
		if isHostSeparator(list[p.pos]) {
			p.pos++
			continue
		}
		if err := p.element(); err != nil {
			return nil, err
		}
	}
	return p.out, nil
}

func isHostSeparator(c byte) bool { return c == ',' || c == ' ' || c == '\t' || c == '\n' }

// hostParser walks one host list from left to right.
type hostParser struct {
	text string
	pos  int
	out  []string
}

func (p *hostParser) fail(at int, reason string) error {
	shown := p.text
	if len(shown) > 80 {
		shown = shown[:80] + "..."
	}
	return &HostlistError{List: shown, Column: at + 1, Reason: reason}
}

// element reads one name with its brackets and appends the names it stands for.
func (p *hostParser) element() error {
	start := p.pos
	literals := []string{""} // literals[i] precedes brackets[i]; one more at the end
	var brackets [][]string
	total := 1
	for p.pos < len(p.text) && !isHostSeparator(p.text[p.pos]) {
		switch c := p.text[p.pos]; {
		case c == '[':
			values, err := p.bracket(MaxHosts - len(p.out))
			if err != nil {
				return err
			}
			if total *= len(values); total > MaxHosts {
				return p.fail(start, fmt.Sprintf("more than %d names", MaxHosts))
			}
			brackets = append(brackets, values)
			literals = append(literals, "")
		case c == ']':
			return p.fail(p.pos, "']' without '['")
		case c < ' ' || c == 0x7f:
			return p.fail(p.pos, "control character in a name")
		default:
			literals[len(literals)-1] += p.literal()
		}
	}
	if len(p.out)+total > MaxHosts {
		return p.fail(start, fmt.Sprintf("more than %d names", MaxHosts))
	}
	if longest(literals, brackets) > maxHostName {
		return p.fail(start, fmt.Sprintf("a name longer than %d bytes", maxHostName))
	}
	p.combine(literals, brackets, total)
	return nil
}

// literal takes the plain characters up to the next bracket or separator.
func (p *hostParser) literal() string {
	start := p.pos
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		if c == '[' || c == ']' || c < ' ' || c == 0x7f || isHostSeparator(c) {
			break
		}
		p.pos++
	}
	return p.text[start:p.pos]
}

// bracket reads "[1-3,07]" at pos and returns its numbers as written, at most
// room of them.
func (p *hostParser) bracket(room int) ([]string, error) {
	open := p.pos
	length := strings.IndexByte(p.text[open:], ']')
	if length < 0 {
		return nil, p.fail(open, "'[' without ']'")
	}
	p.pos = open + length + 1
	var out []string
	at := open + 1
	for _, part := range strings.Split(p.text[at:open+length], ",") {
		var err error
		if out, err = p.numbers(out, part, at, room); err != nil {
			return nil, err
		}
		at += len(part) + 1
	}
	return out, nil
}

// numbers appends the numbers of "7" or "1-3", zero-padded to the width of the first.
func (p *hostParser) numbers(out []string, part string, at, room int) ([]string, error) {
	lowText, highText, isRange := strings.Cut(part, "-")
	low, ok := hostNumber(lowText)
	if !ok {
		return nil, p.fail(at, fmt.Sprintf("%q is not a number or a range", part))
	}
	high := low
	if isRange {
		if high, ok = hostNumber(highText); !ok {
			return nil, p.fail(at, fmt.Sprintf("%q is not a number or a range", part))
		}
	}
	if high < low {
		return nil, p.fail(at, fmt.Sprintf("range %q is descending", part))
	}
	if high-low >= int64(room-len(out)) {
		return nil, p.fail(at, fmt.Sprintf("more than %d names", MaxHosts))
	}
	for n := low; n <= high; n++ {
		out = append(out, padNumber(n, len(lowText)))
	}
	return out, nil
}

// hostNumber reads decimal digits, and nothing else.
func hostNumber(s string) (int64, bool) {
	if s == "" || len(s) > maxDigits {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func padNumber(n int64, width int) string {
	s := strconv.FormatInt(n, 10)
	if len(s) >= width {
		return s
	}
	return strings.Repeat("0", width-len(s)) + s
}

// longest returns the length of the longest name the parts can make.
func longest(literals []string, brackets [][]string) int {
	n := 0
	for _, l := range literals {
		n += len(l)
	}
	for _, values := range brackets {
		widest := 0
		for _, v := range values {
			widest = max(widest, len(v))
		}
		n += widest
	}
	return n
}

// combine appends all total names the parts make, in Slurm's order.
func (p *hostParser) combine(literals []string, brackets [][]string, total int) {
	at := make([]int, len(brackets))
	order := countingOrder(len(brackets))
	var name strings.Builder
	for range total {
		name.Reset()
		name.WriteString(literals[0])
		for b, values := range brackets {
			name.WriteString(values[at[b]])
			name.WriteString(literals[b+1])
		}
		p.out = append(p.out, name.String())
		for _, b := range order {
			if at[b]++; at[b] < len(brackets[b]) {
				break
			}
			at[b] = 0
		}
	}
}

// countingOrder lists the brackets from the one that varies fastest: Slurm
// expands the last one, then all before it from the left.
func countingOrder(brackets int) []int {
	if brackets == 0 {
		return nil
	}
	order := []int{brackets - 1}
	for b := range brackets - 1 {
		order = append(order, b)
	}
	return order
}
