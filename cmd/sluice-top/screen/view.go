package screen

import (
	"cmp"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// parts are the heights of the parts of a frame, in lines; what does not fit is left out, first the
// tabs, then the keys, then the title.
type parts struct {
	title, tabs, heads, body, foot int
}

func (m Model) parts() parts {
	p := parts{title: 1, tabs: 1, heads: 1, foot: 1}
	if m.height < 8 {
		p.tabs = 0
	}
	if m.height < 4 {
		p.heads = 0
	}
	if m.height < 3 {
		p.title = 0
	}
	if m.height < 2 {
		p.foot = 0
	}
	if m.job != nil || m.sweep != nil {
		p.heads = max(min(m.height-6, 4), 0)
	}
	p.foot = max(min(len(m.foot()), m.height-p.title-p.heads-1), p.foot)
	p.body = max(m.height-p.title-p.tabs-p.heads-p.foot, 0)
	return p
}

// listRoom is how many lines of a list are shown.
func (m Model) listRoom(tab) int {
	m.job, m.sweep = nil, nil
	return m.parts().body
}

// textRoom is how many lines of a job's text are shown.
func (m Model) textRoom() int { return m.parts().body }

// Frame returns the lines of the screen, without looks: exactly as many as it is high, none wider
// than it is.
func (m Model) Frame() []string {
	var out []string
	for _, l := range m.lines() {
		out = append(out, terminal.Cut(l.plainText(), m.width))
	}
	return out
}

// View returns the frame.
func (m Model) View() tea.View {
	var b strings.Builder
	for i, l := range m.lines() {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.render(m.width, m.looks))
	}
	v := tea.NewView(b.String())
	v.AltScreen, v.MouseMode = true, tea.MouseModeCellMotion
	v.WindowTitle = "sluice top"
	if m.prompt != nil {
		label := terminal.Escape(m.prompt.label)
		at := terminal.Width(label) + terminal.Width(terminal.Escape(string([]rune(m.prompt.input.Value())[:m.prompt.input.Position()])))
		v.Cursor = tea.NewCursor(min(at-m.promptCut(), m.width-1), m.height-1)
	}
	return v
}

// promptCut is how many columns of a long prompt are to the left of the screen.
func (m Model) promptCut() int {
	at := terminal.Width(m.prompt.label) + terminal.Width(terminal.Escape(m.prompt.input.Value()))
	return max(at-m.width+1, 0)
}

// lines composes the frame.
func (m Model) lines() []line {
	p := m.parts()
	var out []line
	if p.title > 0 {
		out = append(out, m.title())
	}
	if p.tabs > 0 {
		out = append(out, m.tabs())
	}
	switch {
	case m.helping:
		out = append(out, fill(m.help()[m.helpTop:], p.heads+p.body)...)
	case m.job != nil:
		out = append(out, fill(m.jobHead(), p.heads)...)
		out = append(out, fill(m.jobBody(p.body), p.body)...)
	case m.sweep != nil:
		out = append(out, fill(m.sweepHead(), p.heads)...)
		out = append(out, fill(m.sweepBody(p.body), p.body)...)
	default:
		heads, body := m.list(p.body)
		out = append(out, fill(heads, p.heads)...)
		out = append(out, fill(body, p.body)...)
	}
	out = append(out, fill(m.foot(), p.foot)...)
	return fill(out, m.height)
}

// fill is exactly n lines.
func fill(lines []line, n int) []line {
	for len(lines) < n {
		lines = append(lines, nil)
	}
	return lines[:max(n, 0)]
}

// title is the first line: the cluster in numbers, and the time.
func (m Model) title() line {
	r := m.report
	if m.received.IsZero() {
		return line{{"sluice top", title}, {"  " + cmp.Or(m.away, "asking sluiced"), warn}}
	}
	gpus, used, free, running, waiting, moving := 0, 0, 0, 0, 0, 0
	for _, n := range r.Nodes {
		gpus, used, free = gpus+n.GPUs, used+n.Used, free+n.Free
	}
	for _, j := range r.Jobs {
		switch {
		case j.Ended:
		case j.Move != nil:
			moving++
		case j.GPUs > 0:
			running++
		default:
			waiting++
		}
	}
	clock := piece{"  " + m.reportTime().Local().Format("15:04:05"), plain}
	if m.away != "" { // also while an answer or a question hides why
		clock = piece{"  no answer since " + m.since.Local().Format("15:04:05"), bad}
	}
	l := line{{"sluice top", title}, clock,
		{fmt.Sprintf("  %d/%d GPUs, %d free", used, gpus, free), plain}, {fmt.Sprintf("  %d run", running), good}}
	if moving > 0 {
		l = append(l, piece{fmt.Sprintf("  %d move", moving), warn})
	}
	l = append(l, piece{fmt.Sprintf("  %d wait", waiting), plain}, piece{"  " + terminal.Escape(r.Policy), faint})
	return l
}

// tabs is the line that names the screens.
func (m Model) tabs() line {
	names, at := tabNames, int(m.tab)
	var l line
	if m.sweep != nil {
		names, at = sweepTabNames, int(m.sweep.tab)
	}
	if m.job != nil {
		names, at = textNames, int(m.job.tab)
	}
	open := m.job != nil || m.sweep != nil
	if open {
		l = line{{"‹ esc ", faint}}
		if !m.o.Unicode {
			l = line{{"< esc ", faint}}
		}
	}
	for i, name := range names {
		look := faint
		if i == at {
			look = chosen
		}
		l = append(l, piece{" " + name + " ", look}, piece{" ", plain})
	}
	if !open && m.o.Filter != "" {
		l = append(l, piece{" filter: " + terminal.Escape(m.o.Filter), warn})
	}
	if !open && m.o.Sort != "" {
		l = append(l, piece{" sort: " + terminal.Escape(m.o.Sort), faint})
	}
	return l
}

// foot is the last lines: a question, an answer, why nothing is new, or the keys.
func (m Model) foot() []line {
	switch {
	case m.prompt != nil:
		var out []line
		if m.prompt.err != "" {
			out = append(out, text(bad, m.prompt.err))
		}
		all := terminal.Escape(m.prompt.label) + terminal.Escape(m.prompt.input.Value())
		for cut := m.promptCut(); cut > 0 && terminal.Width(all) > m.width-1; {
			all = string([]rune(all)[1:])
		}
		return append(out, text(plain, all))
	case m.confirm != nil:
		return []line{{{shown(m.confirm), title}, {"   run it? y: yes, any other key: no", warn}}}
	case m.answer != nil:
		return m.answerLines()
	case m.away != "" && !m.received.IsZero():
		return m.wrapped(bad, fmt.Sprintf("sluiced has not answered since %s: %s; asking again", m.since.Local().Format("15:04:05"), m.away))
	case m.report.Blind != "":
		return m.wrapped(bad, fmt.Sprintf("sluiced has had no answer from Slurm for %s: %s", present.Span(m.report.BlindFor), terminal.Escape(m.report.Blind)))
	}
	return append(m.detail(), m.keyLine())
}

// detail is the whole reason of the chosen job, where the list has room for a part only.
func (m Model) detail() []line {
	if m.job != nil || m.sweep != nil || m.tab != jobsTab || m.width >= 2*present.Wide || m.height < 12 || m.helping {
		return nil
	}
	out := []line{nil}
	if r, is := m.current(); is {
		out = m.wrapped(plain, terminal.Escape(present.Reason(&r.job)))
	}
	return fill(out, 2) // as many for each job, so that the list stays
}

func (m Model) wrapped(look tone, s string) (out []line) {
	for _, l := range wrap(s, m.width) {
		out = append(out, text(look, l))
	}
	return out
}

// keyLine names the keys, the most needed first, and the newest event where there is room.
func (m Model) keyLine() line {
	keys := []string{"? help", "q quit", "/ filter", "enter job", "g size", "h hold", "u release", "c cancel", "d deadline", "s sort"}
	if m.job != nil {
		keys = []string{"? help", "esc back", "q quit", "g size", "h hold", "u release", "c cancel", "d deadline"}
	}
	switch {
	case m.job != nil:
	case m.sweep != nil:
		keys = []string{"? help", "esc back", "q quit", "enter lane", "p pause", "u resume", "x stop"}
	case m.tab == sweepsTab:
		keys = []string{"? help", "q quit", "/ filter", "enter sweep", "p pause", "u resume", "x stop"}
	}
	shown := keys[0]
	for _, k := range keys[1:] {
		if terminal.Width(shown)+2+len(k) > m.width {
			break
		}
		shown += "  " + k
	}
	l := line{{shown, faint}}
	if m.event != "" && m.width > terminal.Width(shown)+20 {
		l = append(l, piece{"   " + m.event, plain})
	}
	return l
}

// mostAnswer bounds the lines of an answer that are shown.
const mostAnswer = 12

func (m Model) answerLines() []line {
	look := good
	if m.answer.failed {
		look = bad
	}
	out := []line{}
	if len(m.answer.lines) == 1 && terminal.Width(m.answer.command)+terminal.Width(m.answer.lines[0])+2 <= m.width {
		return []line{{{m.answer.command + ": ", title}, {m.answer.lines[0], look}}}
	}
	out = append(out, text(title, m.answer.command+":"))
	for _, l := range m.answer.lines {
		for _, part := range wrap(l, m.width) {
			out = append(out, text(look, part))
		}
	}
	return out[:min(len(out), mostAnswer)]
}
