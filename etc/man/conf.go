package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

var (
	table = regexp.MustCompile(`^\[([a-z_]+)\]$`)
	key   = regexp.MustCompile(`^([a-z_]+) = (.*)$`)
)

// configuration writes sluice.toml(5) from the documented defaults: each section of the file
// is one of the page, each key an entry with its default and its comment.
func (w writer) configuration(path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var b strings.Builder
	header(&b, "sluice.toml", 5, w.foot)
	b.WriteString(".SH NAME\nsluice.toml \\- configuration of sluiced and sluice\n.SH DESCRIPTION\n")
	var comment, keys []string
	flush := func() {
		for i, k := range keys {
			b.WriteString(map[bool]string{true: ".TP\n", false: ".TQ\n"}[i == 0])
			b.WriteString(k)
		}
		explain(&b, comment, len(keys) > 0)
		comment, keys = nil, nil
	}
	for line := range strings.SplitSeq(string(raw), "\n") {
		m, t := key.FindStringSubmatch(line), table.FindStringSubmatch(line)
		switch {
		case t != nil:
			flush()
			fmt.Fprintf(&b, ".SH [%s]\n", t[1])
		case m != nil:
			keys = append(keys, fmt.Sprintf("\\fB%s\\fR = %s\n", escape(m[1]), escape(m[2])))
		case strings.HasPrefix(line, "#"):
			comment = append(comment, strings.TrimPrefix(strings.TrimPrefix(line, "#"), " "))
		default:
			flush()
		}
	}
	flush()
	b.WriteString(".SH FILES\n.TP\n.I /etc/sluice/sluice.toml\nThe configuration of the cluster.\n.TP\n.I ~/.config/sluice/sluice.toml\nThat of a user's own sluiced.\n" +
		".SH SEE ALSO\n.BR sluice (1),\n.BR sluice\\-doctor (1),\n.BR sluice\\-admin (7),\n.BR sluiced (8)\n")
	return w.write("sluice.toml", 5, b.String())
}

// explain writes a comment: paragraphs, and lines indented in it as they are.
func explain(b *strings.Builder, comment []string, inItem bool) {
	for i := 0; i < len(comment); {
		end, literal := i, strings.HasPrefix(comment[i], "  ")
		for end < len(comment) && comment[end] != "" && strings.HasPrefix(comment[end], "  ") == literal {
			end++
		}
		switch {
		case end == i: // an empty line
			end++
		case literal:
			verbatim(b, comment[i:end])
		default:
			if !inItem || i > 0 { // an entry's first paragraph stands below its name
				b.WriteString(map[bool]string{true: ".IP\n", false: ".PP\n"}[inItem])
			}
			fill(b, strings.Join(comment[i:end], " "))
		}
		i = end
	}
}
