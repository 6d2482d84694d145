package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// sweepTab is what is shown of an open sweep.
type sweepTab int

const (
	summaryText sweepTab = iota
	trialsText
	whyText
)

var sweepTabNames = []string{"s summary", "t trials", "e explain"}

// sweepTextEvery is how often a text about a sweep is asked for: it is read from the lanes' files, which
// may have the reports of thousands of trials. mostTrials bounds the trials that are listed.
const (
	sweepTextEvery = 15 * time.Second
	mostTrials     = 500
)

// sweepScreen is an open sweep.
type sweepScreen struct {
	of    wire.Sweep
	gone  bool // sluiced knows it no more
	tab   sweepTab
	seq   int // of its text: others are late
	asked time.Time
	lines []string // the text, harmless
	top   int      // the first line that is shown
	at    int      // the lane that is chosen, on the summary
}

// openSweep opens the sweep of the cursor.
func (m Model) openSweep() (Model, []Effect) {
	s, is := m.chosenSweep()
	if !is {
		return m, nil
	}
	m.seq++
	m.sweep = &sweepScreen{of: s, seq: m.seq}
	return m, nil
}

// askSweepText asks for the text that is shown. Trials and reasons are in the folders of the sweep's
// user, and only that user is shown them.
func (m Model) askSweepText() (Model, []Effect) {
	next := *m.sweep
	next.asked = m.now
	m.sweep = &next
	if next.of.UID != m.o.Me {
		next.lines = []string{"its trials are in the folders of its user, " + terminal.Escape(next.of.User)}
		return m, nil
	}
	words := []string{"sweep", "explain", numberOf(next.of)}
	if next.tab == trialsText {
		words = []string{"sweep", "trials", "--best", fmt.Sprint(mostTrials), "--curves", numberOf(next.of)}
	}
	return m, []Effect{Run{Args: append(append([]string{}, m.o.Prefix...), words...), For: "sweep", Seq: next.seq}}
}

// sweepKey handles the other keys of an open sweep.
func (m Model) sweepKey(k string) (Model, []Effect) {
	page := max(m.parts().body-1, 1)
	switch k {
	case "esc", "backspace":
		m.sweep = nil
		return m.relist(), nil
	case "s", "t", "e":
		return m.turnSweep(sweepTab(strings.Index("ste", k)))
	case "tab", "right":
		return m.turnSweep((m.sweep.tab + 1) % 3)
	case "shift+tab", "left":
		return m.turnSweep((m.sweep.tab + 2) % 3)
	case "up", "k":
		return m.scrollSweep(-1), nil
	case "down", "j":
		return m.scrollSweep(1), nil
	case "pgup", "ctrl+b":
		return m.scrollSweep(-page), nil
	case "pgdown", "ctrl+f", "space":
		return m.scrollSweep(page), nil
	case "home":
		return m.scrollSweep(-1 << 30), nil
	case "end", "G":
		return m.scrollSweep(1 << 30), nil
	case "r":
		m.sweepsAsked = m.now
		return m, []Effect{FetchSweeps{}}
	case "enter":
		return m.openLane()
	}
	return m, nil
}

func (m Model) turnSweep(t sweepTab) (Model, []Effect) {
	next := *m.sweep
	m.seq++
	next.tab, next.seq, next.lines, next.top = t, m.seq, nil, 0
	m.sweep = &next
	if t == summaryText {
		return m, nil
	}
	return m.askSweepText()
}

// scrollSweep moves the text, or the choice of a lane.
func (m Model) scrollSweep(by int) Model {
	next := *m.sweep
	if next.tab == summaryText {
		next.at += by
	} else {
		next.top += by
	}
	m.sweep = next.clamp(m)
	return m
}

// clamp puts the choice and the text into their bounds.
func (s sweepScreen) clamp(m Model) *sweepScreen {
	s.at = max(min(s.at, len(s.of.Lanes)-1), 0)
	s.top = max(min(s.top, len(s.lines)-m.parts().body), 0)
	return &s
}

// openLane opens the job of the chosen lane, if the report has it.
func (m Model) openLane() (Model, []Effect) {
	s := m.sweep
	if s.tab != summaryText || s.at >= len(s.of.Lanes) {
		return m, nil
	}
	id := s.of.Lanes[s.at].JobID
	for _, j := range m.report.Jobs {
		if j.JobID == id {
			m.seq++
			m.job = &jobScreen{row: row{job: j, word: present.Numbers([]int64{id})}, seq: m.seq}
			return m.askText()
		}
	}
	return m, nil
}

// sweepHead is the facts above what is shown of a sweep.
func (m Model) sweepHead() []line {
	s := &m.sweep.of
	direction := "small is good"
	if s.Max {
		direction = "large is good"
	}
	first := fmt.Sprintf("sweep %s  %s  of %s  %s", numberOf(*s), terminal.Escape(s.Name), terminal.Escape(s.User), s.State)
	if s.End != "" {
		first += " (" + terminal.Escape(present.SweepEnd(book.End(s.End), s.Failed)) + ")"
	}
	if s.Metric != "" {
		first += fmt.Sprintf("  %s  %s, %s", terminal.Escape(s.Algorithm), terminal.Escape(s.Metric), direction)
	}
	trials := present.Bar(float64(s.Begun)/float64(max(s.Trials, 1)), max(min(m.width/4, 30), 4), m.o.Unicode) + fmt.Sprintf(" %d of %d trials", s.Begun, s.Trials)
	for _, c := range []struct {
		n    int
		word string
	}{{s.Running, "running"}, {s.Waiting, "waiting"}, {s.Paused, "paused"}, {s.Stopped, "stopped"}, {s.Failed, "failed"}, {s.Done, "done"}} {
		if c.n > 0 {
			trials += fmt.Sprintf("  %d %s", c.n, c.word)
		}
	}
	best := "best  nothing was reported yet"
	if s.Best != nil {
		best = fmt.Sprintf("best  %s by trial %d at epoch %s", present.Metric(s.Best.Value), s.Best.Trial, present.Metric(s.Best.Epoch))
		if !s.Best.At.IsZero() {
			best += ", " + terminal.Clock(m.reportTime().Sub(s.Best.At)) + " ago"
		}
	}
	if s.Goal != nil {
		best += "  goal " + present.Metric(*s.Goal)
	}
	run := s.LanesRun()
	lanes := fmt.Sprintf("lanes %d run on %s, %d wait, %d wanted  level %d", run, terminal.Plural(s.GPUs, "GPU"), len(s.Lanes)-run, s.Wants, s.Level)
	if s.Counted > 0 {
		lanes += fmt.Sprintf(" (%d done, gap %s)", s.Counted, present.Metric(s.Gap))
	}
	last := text(plain, lanes)
	switch {
	case m.sweep.gone:
		last = text(warn, "no longer known to sluiced: it has no lanes any more")
	case s.Problem != "":
		last = text(bad, "sluiced cannot look after it: "+terminal.Escape(s.Problem))
	}
	return []line{text(title, first), text(sweepTone(s), trials), text(plain, best), last}
}

// sweepBody is the summary, or the visible part of a text.
func (m Model) sweepBody(room int) []line {
	s := m.sweep
	if s.tab == summaryText {
		return m.summary(room)
	}
	var out []line
	for k := s.top; k < min(s.top+room, len(s.lines)); k++ {
		look := plain
		if k == 0 && s.tab == trialsText {
			look = head
		}
		out = append(out, text(look, s.lines[k]))
	}
	if len(s.lines) == 0 {
		return []line{text(faint, "asking")}
	}
	return out
}

// summary is the best result and the level over time, and the lanes.
func (m Model) summary(room int) (out []line) {
	rows := 0
	switch {
	case room >= 30:
		rows = 10
	case room >= 12:
		rows = 5
	}
	if rows > 0 && m.width >= 40 {
		out = m.curves(rows)
	}
	return append(out, m.laneList(room-len(out))...)
}

// curves draws the best result so far, the level below it, and the times below both.
func (m Model) curves(rows int) (out []line) {
	const label = 10
	s, now := &m.sweep.of, m.reportTime()
	width := m.width - label - 1
	from := s.Began
	if from.IsZero() || !from.Before(now) {
		from = now.Add(-time.Minute)
	}
	values := sampled(stepsOf(s.Bests), from, now, width*perCell(m.o.Unicode))
	low, high, is := extent(values)
	for r, l := range plot(values, width, rows, m.o.Unicode) {
		mark := ""
		switch {
		case !is && r == 0:
			mark, l = "best", "nothing was reported yet"
		case is && r == 0:
			mark = present.Metric(high)
		case is && r == rows-1 && low < high:
			mark = present.Metric(low)
		}
		out = append(out, line{{fmt.Sprintf("%*s ", label, terminal.Cut(mark, label)), faint}, {l, good}})
	}
	levels := []step{{from, 0}}
	for _, l := range s.Levels {
		levels = append(levels, step{l.At, float64(l.Level)})
	}
	digits := ""
	for _, v := range sampled(levels, from, now, width) {
		digits += fmt.Sprint(max(min(int(v), 9), 0)) // NaN: before the first level, there is none
	}
	out = append(out, line{{fmt.Sprintf("%*s ", label, "level"), faint}, {digits, plain}})
	column := max(now.Sub(from)/time.Duration(width), time.Second)
	return append(out, text(faint, strings.Repeat(" ", label+1)+axis(from.Local(), column, width, now.Local())), nil)
}

// laneList draws the lanes, with the chosen one.
func (m Model) laneList(room int) (out []line) {
	s := m.sweep
	if len(s.of.Lanes) == 0 {
		return []line{text(faint, "no lane: all have ended")}
	}
	room = max(room-1, 1)
	top := max(min(s.at-room/2, len(s.of.Lanes)-room), 0)
	shown := s.of.Lanes[top:min(top+room, len(s.of.Lanes))]
	reasons := m.reasonsOf(shown)
	trials, width := make([]string, len(shown)), 6
	for i, l := range shown {
		trials[i] = present.Trials(l.Trials())
		width = max(width, len(trials[i]))
	}
	out = []line{text(head, fmt.Sprintf("%10s %4s %*s  %s", "LANE", "GPUS", width, "TRIAL", "REASON"))}
	for i, l := range shown {
		look := plain
		switch {
		case top+i == s.at:
			look = chosen
		case l.GPUs > 0:
			look = good
		}
		out = append(out, text(look, fmt.Sprintf("%10d %4d %*s  %s", l.JobID, l.GPUs, width, trials[i], terminal.Escape(reasons[l.JobID]))))
	}
	return out
}

// reasonsOf are the reasons of the lanes' jobs that the report has.
func (m Model) reasonsOf(lanes []wire.SweepLane) map[int64]string {
	out := map[int64]string{}
	for i := range m.report.Jobs {
		j := &m.report.Jobs[i]
		if slices.ContainsFunc(lanes, func(l wire.SweepLane) bool { return l.JobID == j.JobID }) {
			out[j.JobID] = present.Reason(j)
		}
	}
	return out
}
