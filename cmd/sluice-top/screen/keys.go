package screen

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/sluice-hpc/sluice/cmd/present"
)

// key handles a key: of a question, of the help, of all screens, of the job's, of the lists.
func (m Model) key(msg tea.KeyPressMsg) (Model, []Effect) {
	k := msg.String()
	switch {
	case k == "ctrl+c":
		return m, []Effect{Quit{}}
	case m.prompt != nil:
		return m.typed(msg)
	case m.confirm != nil:
		return m.confirmed(k)
	}
	m.answer = nil
	switch {
	case k == "q":
		return m, []Effect{Quit{}}
	case m.helping:
		return m.helpKey(k), nil
	case k == "?" || k == "f1":
		m.helping, m.helpTop = true, 0
		return m, nil
	}
	if next, known := m.sweepOrder(k); known {
		return next, nil
	}
	if next, effects, known := m.orderKey(k); known {
		return next, effects
	}
	switch {
	case m.job != nil:
		return m.jobKey(k)
	case m.sweep != nil:
		return m.sweepKey(k)
	}
	return m.listKey(k)
}

// orderKey handles the keys of orders, which are the same for the list and the job's screen.
func (m Model) orderKey(k string) (Model, []Effect, bool) {
	r, is := m.current()
	if !is || !strings.Contains("g h u c d", k) || len(k) != 1 || k == " " {
		return m, nil, false
	}
	if r.job.Ended {
		m.answer = &answer{command: "job " + r.word, lines: []string{"it has ended"}, failed: true}
		return m, nil, true
	}
	switch k {
	case "g":
		return m.ask(askSize, "GPUs of job "+r.word+", or auto: ", r.word, ""), nil, true
	case "d":
		return m.ask(askDeadline, "deadline of job "+r.word+", or none: ", r.word, ""), nil, true
	case "h":
		return m.order("hold", r.word), nil, true
	case "u":
		return m.order("release", r.word), nil, true
	}
	return m.order("cancel", r.word), nil, true
}

// listKey handles the other keys of the three lists.
func (m Model) listKey(k string) (Model, []Effect) {
	page := max(m.listRoom(m.tab)-1, 1)
	switch k {
	case "1", "2", "3", "4":
		return m.turn(tab(k[0] - '1'))
	case "tab", "right":
		return m.turn((m.tab + 1) % tabCount)
	case "shift+tab", "left":
		return m.turn((m.tab + tabCount - 1) % tabCount)
	case "up", "k":
		return m.move(-1), nil
	case "down", "j":
		return m.move(1), nil
	case "pgup", "ctrl+b":
		return m.move(-page), nil
	case "pgdown", "ctrl+f", "space":
		return m.move(page), nil
	case "home":
		return m.move(-m.length(m.tab)), nil
	case "end", "G":
		return m.move(m.length(m.tab)), nil
	case "enter", "e":
		return m.open(explainText)
	case "l":
		return m.open(logsText)
	case "/":
		return m.ask(askFilter, "filter: sluice queue ", "", m.o.Filter), nil
	case "s":
		return m.ask(askSort, "sort by: ", "", m.o.Sort), nil
	case "a":
		f := m.filter
		f.All = !f.All
		return m.filtered(f.String(), f)
	case "m":
		f := m.filter
		f.Me = !f.Me
		return m.filtered(f.String(), f)
	case "r":
		return m.fetch()
	case "+", "=", "-":
		if m.tab == timeTab {
			return m.zoom(k == "-")
		}
	case "esc":
		if m.o.Filter != "" {
			return m.filtered("", present.Filter{})
		}
	}
	return m, nil
}

// turn shows another list.
func (m Model) turn(t tab) (Model, []Effect) {
	m.tab = t
	if t == timeTab && m.now.Sub(m.lanesAsked) >= time.Second {
		m.lanesAsked = m.now
		return m, []Effect{FetchPast{From: m.now.Add(-m.span / 2)}, FetchForecast{}}
	}
	if t == sweepsTab && m.now.Sub(m.sweepsAsked) >= time.Second {
		m.sweepsAsked = m.now
		return m, []Effect{FetchSweeps{}}
	}
	return m, nil
}

// zoom shows more or less time.
func (m Model) zoom(out bool) (Model, []Effect) {
	for i, s := range spans {
		if s != m.span {
			continue
		}
		if out {
			m.span = spans[min(i+1, len(spans)-1)]
		} else {
			m.span = spans[max(i-1, 0)]
		}
		break
	}
	m.lanesAsked = m.now
	return m, []Effect{FetchPast{From: m.now.Add(-m.span / 2)}}
}

// open opens the job of the cursor, or the jobs of its node.
func (m Model) open(t textTab) (Model, []Effect) {
	if m.tab == sweepsTab {
		return m.openSweep()
	}
	if m.tab == nodesTab {
		if len(m.nodes) == 0 {
			return m, nil
		}
		f := present.Filter{Nodes: []string{m.nodes[m.cursors[nodesTab].at].Name}}
		m.tab = jobsTab
		return m.filtered(f.String(), f)
	}
	r, is := m.current()
	if !is {
		return m, nil
	}
	m.seq++
	m.job = &jobScreen{row: r, seq: m.seq, tab: t}
	return m.askText()
}
