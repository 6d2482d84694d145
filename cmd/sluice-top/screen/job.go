package screen

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// textTab is one of the texts about a job.
type textTab int

const (
	explainText textTab = iota
	runsText
	logsText
)

var textNames = []string{"e explain", "r runs", "l logs"}

// mostLines bounds the lines of a log that are kept.
const mostLines = 5000

// jobScreen is an open job.
type jobScreen struct {
	row   row
	gone  bool // the report has it no more
	tab   textTab
	seq   int // of its text: others are late
	asked time.Time
	lines []string // the text, harmless
	top   int      // the first line that is shown, of the wrapped text
	held  bool     // it was scrolled up: new lines do not move it
	over  bool     // of a log: nothing more will come
	right int      // columns that are scrolled to the right
}

// askText asks for the text that is shown.
func (m Model) askText() (Model, []Effect) {
	next := *m.job
	next.asked = m.now
	m.job = &next
	id := present.Numbers([]int64{next.row.job.JobID})
	args := func(words ...string) []string { return append(append([]string{}, m.o.Prefix...), words...) }
	switch next.tab {
	case runsText:
		return m, []Effect{Run{Args: args("history", id), For: "text", Seq: next.seq}}
	case logsText:
		return m, []Effect{Follow{Args: args("logs", "--follow", "--lines", "1000", id), Seq: next.seq}}
	}
	return m, []Effect{Run{Args: args("explain", id), For: "text", Seq: next.seq}}
}

// jobKey handles the other keys of a job's screen.
func (m Model) jobKey(k string) (Model, []Effect) {
	page := max(m.textRoom()-1, 1)
	switch k {
	case "esc", "backspace":
		m.job = nil
		return m.rebuild(), []Effect{Unfollow{}}
	case "e":
		return m.turnText(explainText)
	case "r":
		return m.turnText(runsText)
	case "l":
		return m.turnText(logsText)
	case "tab":
		return m.turnText((m.job.tab + 1) % 3)
	case "shift+tab":
		return m.turnText((m.job.tab + 2) % 3)
	case "up", "k":
		return m.scroll(-1), nil
	case "down", "j":
		return m.scroll(1), nil
	case "pgup", "ctrl+b":
		return m.scroll(-page), nil
	case "pgdown", "ctrl+f", "space":
		return m.scroll(page), nil
	case "home":
		return m.scroll(-1 << 30), nil
	case "end", "G":
		return m.scroll(1 << 30), nil
	case "left", "right":
		next := *m.job
		next.right = max(next.right-8, 0)
		if k == "right" {
			next.right = min(next.right+16, 400)
		}
		m.job = &next
	}
	return m, nil
}

func (m Model) turnText(t textTab) (Model, []Effect) {
	next := *m.job
	m.seq++
	next.tab, next.seq, next.lines, next.top, next.held, next.over, next.right = t, m.seq, nil, 0, false, false, 0
	m.job = &next
	m, effects := m.askText()
	return m, append([]Effect{Unfollow{}}, effects...)
}

// scroll moves the text.
func (m Model) scroll(by int) Model {
	next := *m.job
	last := max(len(next.wrapped(m.width))-m.textRoom(), 0)
	next.top = max(min(next.top+by, last), 0)
	next.held = next.top < last
	m.job = &next
	return m
}

// explained takes a text; the screen stays where it was scrolled to.
func (j jobScreen) explained(msg RanMsg) *jobScreen {
	j.lines = outputLines(msg.Output)
	return &j
}

// settled puts an open text where it has lines: a log is at its end unless it was scrolled up, also after a
// change of the terminal's size.
func (m Model) settled() Model {
	last := max(len(m.job.wrapped(m.width))-m.textRoom(), 0)
	top := max(min(m.job.top, last), 0)
	if m.job.tab == logsText && !m.job.held {
		top = last
	}
	if top != m.job.top {
		next := *m.job
		next.top = top
		m.job = &next
	}
	return m
}

// logged takes more of the log.
func (j jobScreen) logged(msg LogMsg) *jobScreen {
	if msg.Seq != j.seq || j.tab != logsText {
		return &j
	}
	lines := append(make([]string, 0, len(j.lines)+len(msg.Lines)), j.lines...)
	for _, l := range msg.Lines {
		lines = append(lines, harmless(l))
	}
	j.lines = lines[max(len(lines)-mostLines, 0):]
	j.over = j.over || msg.Over
	return &j
}

// wrapped is the text as it is shown: tables are scrolled, other texts wrapped.
func (j jobScreen) wrapped(width int) []string {
	var out []string
	for _, l := range j.lines {
		if j.tab == runsText {
			out = append(out, l)
			continue
		}
		out = append(out, wrap(l, width)...)
	}
	return out
}

// outputLines are the lines of a command's output, harmless, without empty ones at its end.
func outputLines(output string) []string {
	var lines []string
	for l := range strings.SplitSeq(strings.TrimRight(output, "\n \t"), "\n") {
		lines = append(lines, harmless(l))
	}
	if len(lines) == 1 && lines[0] == "" {
		return nil
	}
	return lines
}

// harmless is one line of a program's output: what a progress bar wrote last, without colours, with
// spaces for tabs.
func harmless(l string) string {
	l = strings.TrimRight(l, "\r")
	if i := strings.LastIndexByte(l, '\r'); i >= 0 {
		l = l[i+1:]
	}
	var b strings.Builder
	for i, cell := range strings.Split(ansi.Strip(l), "\t") {
		if i > 0 {
			b.WriteString(strings.Repeat(" ", 8-terminal.Width(b.String())%8))
		}
		b.WriteString(terminal.Escape(cell))
	}
	return b.String()
}
