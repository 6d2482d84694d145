package screen

import "github.com/sluice-hpc/sluice/cmd/terminal"

// keyHelp is the list of keys, with titles.
var keyHelp = [][2]string{
	{"", "Screens"},
	{"1 2 3 4, tab", "jobs, nodes, lanes of time, sweeps"},
	{"enter, e", "open a job, a sweep; of a node: its jobs"},
	{"l", "open a job's log"},
	{"esc", "back; in a list: no filter"},
	{"up down pgup pgdn", "move; also k, j, home, end"},
	{"+ -", "lanes: less or more time"},
	{"mouse", "choose, open, sort by a head"},
	{"?", "this help"},
	{"q, ctrl-c", "quit"},
	{"", "Lists"},
	{"/", "filter, as after sluice queue"},
	{"s", "sort, as sluice queue --sort"},
	{"a, m", "ended jobs too; own jobs only"},
	{"r", "ask sluiced now"},
	{"", "A job's screen"},
	{"e r l, tab", "explain, runs, log"},
	{"left right", "scroll a table"},
	{"end, G", "follow the log"},
	{"", "A sweep's screen"},
	{"s t e, tab", "summary, trials, explain"},
	{"enter", "open the chosen lane's job"},
	{"", "Orders, each asked for before it is run"},
	{"g", "sluice resize JOB --gpus N"},
	{"h, u", "sluice hold, sluice release"},
	{"c", "sluice cancel"},
	{"d", "sluice deadline JOB --at TIME"},
	{"p, u, x", "sluice sweep pause, resume, stop"},
	{"", "Lanes"},
	{"4====", "4 GPUs, as it was"},
	{"8----", "8 GPUs, as expected"},
	{".  ~  |", "waits; is being resized; now"},
}

// help is the list, in two columns where they fit.
func (m Model) help() []line {
	var out []line
	for _, k := range keyHelp {
		if k[0] == "" {
			out = append(out, text(head, k[1]))
			continue
		}
		out = append(out, line{{pad("  "+k[0], 21), title}, {k[1], plain}})
	}
	if half := (len(out) + 1) / 2; m.width >= 110 {
		for i := range half {
			left := append(line{}, out[i]...)
			if i+half < len(out) {
				left = append(left, piece{pad("", 58-terminal.Width(left.plainText())), plain})
				left = append(left, out[i+half]...)
			}
			out[i] = left
		}
		out = out[:half]
	}
	return out
}

// helpRoom is how many lines of the help are shown.
func (m Model) helpRoom() int {
	p := m.parts()
	return p.heads + p.body
}

func pad(s string, width int) string {
	for terminal.Width(s) < width {
		s += " "
	}
	return s
}

// helpKey scrolls the help or closes it.
func (m Model) helpKey(k string) Model {
	page := max(m.helpRoom()-1, 1)
	switch k {
	case "down", "j":
		m.helpTop++
	case "up", "k":
		m.helpTop--
	case "pgdown", "ctrl+f", "space":
		m.helpTop += page
	case "pgup", "ctrl+b":
		m.helpTop -= page
	case "home":
		m.helpTop = 0
	case "end", "G":
		m.helpTop += len(keyHelp)
	default:
		m.helping = false
	}
	return m
}
