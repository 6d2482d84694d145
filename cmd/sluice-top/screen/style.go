package screen

import (
	"strings"

	"charm.land/lipgloss/v2"

	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// tone is what a piece of text is, whatever colour that has.
type tone int

const (
	plain tone = iota
	head
	chosen // the line of the cursor
	good
	warn
	bad
	faint
	title
)

// styles are the looks of tones; without colours bold, reverse and faint are left.
func styles(colour bool) map[tone]lipgloss.Style {
	s := map[tone]lipgloss.Style{
		plain: lipgloss.NewStyle(), head: lipgloss.NewStyle().Bold(true), chosen: lipgloss.NewStyle().Reverse(true), good: lipgloss.NewStyle(),
		warn: lipgloss.NewStyle(), bad: lipgloss.NewStyle().Bold(true), faint: lipgloss.NewStyle().Faint(true), title: lipgloss.NewStyle().Bold(true),
	}
	if colour {
		s[good] = s[good].Foreground(lipgloss.Green)
		s[warn] = s[warn].Foreground(lipgloss.Yellow)
		s[bad] = s[bad].Foreground(lipgloss.Red)
		s[title] = s[title].Foreground(lipgloss.Cyan)
	}
	return s
}

// piece is text of one tone.
type piece struct {
	text string
	tone tone
}

// line is one line of a frame.
type line []piece

// text is a line of one piece.
func text(t tone, s string) line { return line{{s, t}} }

// render is the line on exactly width columns.
func (l line) render(width int, looks map[tone]lipgloss.Style) string {
	var b strings.Builder
	left := width
	last := plain
	for _, p := range l {
		s := terminal.Cut(p.text, left)
		left -= terminal.Width(s)
		if last = p.tone; s != "" {
			b.WriteString(looks[p.tone].Render(s))
		}
	}
	if left > 0 && last == chosen {
		b.WriteString(looks[chosen].Render(strings.Repeat(" ", left)))
	}
	return b.String()
}

// plainText is the line without its looks.
func (l line) plainText() string {
	var b strings.Builder
	for _, p := range l {
		b.WriteString(p.text)
	}
	return b.String()
}

// wrap breaks text into lines of at most width columns.
func wrap(s string, width int) []string {
	if width < 1 {
		return nil
	}
	var out []string
	for terminal.Width(s) > width {
		first := terminal.Cut(s, width)
		if first == "" { // a character wider than the screen
			return append(out, "?")
		}
		if i := strings.LastIndexByte(first, ' '); i > width/2 && s[len(first)] != ' ' {
			first = first[:i+1]
		}
		out = append(out, strings.TrimRight(first, " "))
		s = strings.TrimLeft(s[len(first):], " ")
	}
	return append(out, s)
}
