package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// sweepsEvery is how often the sweeps are asked for while they are shown.
const sweepsEvery = 5 * time.Second

// FetchSweeps asks for the sweeps: SweepsMsg.
type FetchSweeps struct{}

func (FetchSweeps) effect() {}

// SweepsMsg is the sweeps, or why they are not known.
type SweepsMsg struct {
	Sweeps wire.Sweeps
	Err    error
}

// searched takes the sweeps; after an error the last ones stay.
func (m Model) searched(msg SweepsMsg) Model {
	if m.sweepsErr = errText(msg.Err); msg.Err == nil {
		m.sweeps, m.sweepsKnown = msg.Sweeps, true
	}
	if m.sweep != nil {
		next := *m.sweep
		if k := slices.IndexFunc(m.sweeps.Sweeps, func(s wire.Sweep) bool { return sameSweep(s, next.of) }); k >= 0 {
			next.of, next.gone = m.sweeps.Sweeps[k], false
		} else {
			next.gone = true
		}
		m.sweep = next.clamp(m)
	}
	return m.relist()
}

// sameSweep: a token alone names none, since a user may copy one.
func sameSweep(a, b wire.Sweep) bool { return a.Token == b.Token && a.UID == b.UID }

// relist makes the list of sweeps anew: those that the filter's users, words and --me leave. The cursor
// stays on its sweep.
func (m Model) relist() Model {
	m.found = nil
	for _, s := range m.sweeps.Sweeps {
		if m.filter.Me && s.UID != m.o.Me || len(m.filter.Users) > 0 && !slices.Contains(m.filter.Users, s.User) {
			continue
		}
		all := strings.ToLower(strings.Join([]string{fmt.Sprint(s.Number), s.Name, s.User, s.State, s.Algorithm, s.Metric}, " "))
		if slices.ContainsFunc(m.filter.Words, func(w string) bool { return !strings.Contains(all, strings.ToLower(w)) }) {
			continue
		}
		m.found = append(m.found, s)
	}
	if k := slices.IndexFunc(m.found, func(s wire.Sweep) bool { return sameSweep(s, m.keepSweep) }); k >= 0 {
		m.cursors[sweepsTab].at = k
	}
	return m.clamp()
}

// chosenSweep is the sweep that orders are for: the open one, or that of the cursor.
func (m Model) chosenSweep() (wire.Sweep, bool) {
	if m.sweep != nil {
		return m.sweep.of, true
	}
	if m.tab != sweepsTab || len(m.found) == 0 {
		return wire.Sweep{}, false
	}
	return m.found[m.cursors[sweepsTab].at], true
}

// sweepOrder handles the keys of orders of a sweep.
func (m Model) sweepOrder(k string) (Model, bool) {
	verb := map[string]string{"p": "pause", "u": "resume", "x": "stop"}[k]
	s, is := m.chosenSweep()
	if verb == "" || !is || m.job != nil {
		return m, false
	}
	name := "sweep " + numberOf(s)
	switch {
	case s.UID != m.o.Me:
		m.answer = &answer{command: name, lines: []string{"only its user, " + terminal.Escape(s.User) + ", can change it"}, failed: true}
	case s.State == "over":
		m.answer = &answer{command: name, lines: []string{"it is over"}, failed: true}
	case s.Number == 0:
		m.answer = &answer{command: name, lines: []string{"its number is not known yet"}, failed: true}
	default:
		return m.order("sweep", verb, numberOf(s)), true
	}
	return m, true
}

func numberOf(s wire.Sweep) string {
	if s.Number == 0 {
		return "?"
	}
	return strconv.FormatInt(s.Number, 10)
}

// sparkColumns is the width of the small curve of the best result so far.
const sparkColumns = 16

// sweepColumn is a column of the list of sweeps; it is shown from so many columns of the screen on.
type sweepColumn struct {
	terminal.Column
	from int
	cell func(m Model, s *wire.Sweep) string
}

var sweepColumns = []sweepColumn{
	{terminal.Right("SWEEP"), 0, func(_ Model, s *wire.Sweep) string { return numberOf(*s) }},
	{terminal.Left("NAME"), 60, func(_ Model, s *wire.Sweep) string { return s.Name }},
	{terminal.Left("USER"), 60, func(_ Model, s *wire.Sweep) string { return s.User }},
	{terminal.Left("STATE"), 0, func(_ Model, s *wire.Sweep) string { return s.State }},
	{terminal.Left("SEARCH"), 100, func(_ Model, s *wire.Sweep) string { return cmp.Or(s.Algorithm, "-") }},
	{terminal.Right("TRIALS"), 0, func(_ Model, s *wire.Sweep) string { return fmt.Sprintf("%d/%d", s.Begun, s.Trials) }},
	{terminal.Right("RUN"), 60, func(_ Model, s *wire.Sweep) string { return strconv.Itoa(s.Running) }},
	{terminal.Right("PAUSED"), 100, func(_ Model, s *wire.Sweep) string { return strconv.Itoa(s.Paused) }},
	{terminal.Right("FAILED"), 100, func(_ Model, s *wire.Sweep) string { return strconv.Itoa(s.Failed) }},
	{terminal.Right("DONE"), 100, func(_ Model, s *wire.Sweep) string { return strconv.Itoa(s.Done) }},
	{terminal.Right("LANES"), 60, func(_ Model, s *wire.Sweep) string {
		run := s.LanesRun()
		return fmt.Sprintf("%d+%d", run, len(s.Lanes)-run)
	}},
	{terminal.Right("GPUS"), 100, func(_ Model, s *wire.Sweep) string { return strconv.Itoa(s.GPUs) }},
	{terminal.Right("LEVEL"), 60, func(_ Model, s *wire.Sweep) string { return strconv.Itoa(s.Level) }},
	{terminal.Left("METRIC"), 100, func(_ Model, s *wire.Sweep) string { return cmp.Or(s.Metric, "-") }},
	{terminal.Right("BEST"), 0, func(_ Model, s *wire.Sweep) string {
		if s.Best == nil {
			return "-"
		}
		return present.Metric(s.Best.Value)
	}},
	{terminal.Left("SO FAR"), 100, func(m Model, s *wire.Sweep) string {
		values := sampled(stepsOf(s.Bests), s.Began, m.reportTime(), sparkColumns)
		low, high, _ := extent(values)
		return present.Spark(values, low, high, m.o.Unicode)
	}},
}

// sweepList draws the sweeps.
func (m Model) sweepList(room int) (heads, body []line) {
	var t terminal.Table
	var cells []func(Model, *wire.Sweep) string
	for _, c := range sweepColumns {
		if m.width >= c.from {
			t.Columns, cells = append(t.Columns, c.Column), append(cells, c.cell)
		}
	}
	top := m.cursors[sweepsTab].top
	from, to := max(top-beside, 0), min(top+room+beside, len(m.found))
	for i := from; i < to; i++ {
		var row []string
		for _, cell := range cells {
			row = append(row, cell(m, &m.found[i]))
		}
		t.Add(row...)
	}
	none := "no sweeps; 'sluice submit' of a script with --sweep makes one"
	switch {
	case m.sweepsErr != "":
		none = "the sweeps are not known: " + m.sweepsErr
	case !m.sweepsKnown:
		none = "asking sluiced"
	case len(m.sweeps.Sweeps) > 0:
		none = "no sweep matches the filter; esc removes it"
	}
	looks := func(k int) tone { return sweepTone(&m.found[k]) }
	return m.table(t, from, room, looks, none)
}

// sweepTone is the look of a sweep's line.
func sweepTone(s *wire.Sweep) tone {
	switch {
	case s.Problem != "":
		return bad
	case s.State == "over":
		return faint
	case s.State == "paused":
		return warn
	case s.Running > 0:
		return good
	}
	return plain
}
