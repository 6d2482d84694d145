package command

import (
	"slices"
	"strings"
	"unicode"
)

// maxWords bounds the part of Slurm's text that goes into an error, in bytes.
const maxWords = 500

// clean makes one printable line of a program's output: the program's name and "error:"
// before each line are removed, repeated lines are dropped, the rest is joined, and
// control and formatting characters, which could move a terminal's cursor or reverse
// text, are removed. Bytes that are not UTF-8 become "?".
func clean(printed string) string {
	var lines []string
	for line := range strings.Lines(strings.ToValidUTF8(printed, "?")) {
		line = strings.Join(strings.Fields(strings.Map(printable, line)), " ")
		line = withoutPrefix(line)
		said := func(earlier string) bool { return strings.Contains(earlier, line) }
		if !noise().MatchString(line) && !slices.ContainsFunc(lines, said) {
			lines = append(lines, line)
		}
	}
	out := strings.Join(lines, "; ")
	if len(out) > maxWords {
		out = strings.ToValidUTF8(out[:maxWords], "") + "..."
	}
	return out
}

// noise are lines that every program adds to a failure of munge.
var noise = lazily(`^$|^If munged is up, restart with|has authentication error`)

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
	return calls().ReplaceAllString(line, "")
}

// calls are the level and the library call with which some lines begin; 26.05 omits the
// blank.
var calls = lazily(`^(?:error: |fatal: )?(?:slurm_[a-z_]+(?: error)?: ?)?`)
