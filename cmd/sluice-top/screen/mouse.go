package screen

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
)

// click handles a click: on the name of a screen, on the head of a column, on a line. A second click
// on a line opens it. Orders are given by keys only.
func (m Model) click(msg tea.MouseClickMsg) (Model, []Effect) {
	if msg.Button != tea.MouseLeft || m.prompt != nil || m.confirm != nil {
		return m, nil
	}
	m.answer = nil
	if m.helping {
		m.helping = false
		return m, nil
	}
	p := m.parts()
	y := msg.Y - p.title
	switch {
	case y < 0 || y >= p.tabs+p.heads+p.body:
		return m, nil
	case y < p.tabs:
		return m.clickTab(msg.X)
	case m.job != nil || m.sweep != nil:
		return m, nil
	case y < p.tabs+p.heads:
		return m.clickHead(msg.X), nil
	}
	at := m.cursors[m.tab].top + y - p.tabs - p.heads
	if at >= m.length(m.tab) {
		return m, nil
	}
	if at == m.cursors[m.tab].at {
		return m.open(explainText)
	}
	return m.move(at - m.cursors[m.tab].at), nil
}

// clickTab turns to the screen whose name is at the column.
func (m Model) clickTab(x int) (Model, []Effect) {
	at := 0
	for i, p := range m.tabs() {
		width := terminal.Width(p.text)
		if x < at || x >= at+width {
			at += width
			continue
		}
		if m.job != nil {
			if i == 0 {
				return m.jobKey("esc")
			}
			if k := (i - 1) / 2; k < len(textNames) {
				return m.turnText(textTab(k))
			}
			break
		}
		if m.sweep != nil {
			if i == 0 {
				return m.sweepKey("esc")
			}
			if k := (i - 1) / 2; k < len(sweepTabNames) {
				return m.turnSweep(sweepTab(k))
			}
			break
		}
		if k := i / 2; k < len(tabNames) {
			return m.turn(tab(k))
		}
		break
	}
	return m, nil
}

// clickHead sorts the jobs by the column, and on a second click the other way round.
func (m Model) clickHead(x int) Model {
	heads, _ := m.list(1)
	if m.tab != jobsTab || len(heads) == 0 {
		return m
	}
	word := wordAt(heads[0].plainText(), x)
	for _, f := range present.Jobs.Fields {
		if f.Head != word || word == "" {
			continue
		}
		by := f.Name
		if m.o.Sort == by {
			by = "-" + by
		}
		m.o.Sort = by
		return m.rebuild()
	}
	return m
}

// wordAt is the word at a column of a line, or the one after it: heads of numbers are on the right.
func wordAt(line string, x int) string {
	if x < 0 || x >= len(line) {
		return ""
	}
	for x < len(line) && line[x] == ' ' {
		x++
	}
	from := strings.LastIndexByte(line[:x], ' ') + 1
	word, _, _ := strings.Cut(line[from:], " ")
	return word
}

// wheel moves the list or the text.
func (m Model) wheel(msg tea.MouseWheelMsg) (Model, []Effect) {
	by := 3
	switch msg.Button {
	case tea.MouseWheelUp:
		by = -3
	case tea.MouseWheelDown:
	default:
		return m, nil
	}
	switch {
	case m.prompt != nil || m.confirm != nil:
	case m.helping:
		m.helpTop += by
	case m.job != nil:
		return m.scroll(by), nil
	case m.sweep != nil:
		return m.scrollSweep(by), nil
	default:
		return m.move(by), nil
	}
	return m, nil
}
