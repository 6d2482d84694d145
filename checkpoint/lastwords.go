package checkpoint

import "fmt"

// LastWords are the reason for which a script failed, and the last lines it printed.
type LastWords struct {
	Why   string   `json:"why"`             // one sentence, for people
	Lines []string `json:"lines,omitempty"` // the end of its error output, or of its output
	// Memory: it ran out of memory, of the node's or of a GPU's, as far as can be told.
	Memory bool `json:"memory,omitempty"`
}

// Limits of LastWords: lines, bytes per line, and bytes in all.
const (
	maxLastLines = 20
	maxLastLine  = 400
	maxLastWords = 2 << 10
)

// NewLastWords returns LastWords of bounded size, safe to display: the last lines are
// kept.
func NewLastWords(why string, lines []string) *LastWords {
	w := &LastWords{Why: clean(why, maxText)}
	room, first := maxLastWords-len(w.Why), len(lines)
	for first > 0 && len(lines)-first < maxLastLines {
		line := clean(lines[first-1], maxLastLine)
		if room -= len(line); room < 0 {
			break
		}
		first--
		w.Lines = append([]string{line}, w.Lines...)
	}
	return w
}

// lastWords refuses more than NewLastWords would return.
func (c *checker) lastWords(w *LastWords) {
	if w == nil {
		return
	}
	c.want(len(w.Lines) <= maxLastLines, "lines", fmt.Sprintf("%d: at most %d", len(w.Lines), maxLastLines))
}
