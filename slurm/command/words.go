package command

import (
	"strings"
	"unicode"
)

// maxWords bounds what of Slurm's words goes into an error, in bytes.
const maxWords = 500

// clean makes one presentable line of what a program printed: its name and
// "error:" before each line are dropped, lines are joined, and control and
// formatting characters, which could move a terminal's cursor or turn text
// around, are removed. Bytes that are no UTF-8 become "?".
func clean(printed string) string {
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(printed, "?")) {
		line = strings.Join(strings.Fields(strings.Map(printable, line)), " ")
		line = withoutPrefix(line)
		if line != "" && (len(lines) == 0 || lines[len(lines)-1] != line) {
			lines = append(lines, line)
		}
	}
	out := strings.Join(lines, "; ")
	if len(out) > maxWords {
		out = strings.ToValidUTF8(out[:maxWords], "") + "..."
	}
	return out
}

func printable(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
		return -1
	}
	return r
}

// withoutPrefix drops "sbatch: error: " and the like.
func withoutPrefix(line string) string {
	for _, program := range programs {
		if rest, ok := strings.CutPrefix(line, program+": "); ok {
			line = rest
		}
	}
	for _, level := range []string{"error: ", "fatal: "} {
		line = strings.TrimPrefix(line, level)
	}
	return line
}
