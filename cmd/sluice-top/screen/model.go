package screen

import (
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/textinput"
	"charm.land/lipgloss/v2"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Options are how the screen begins.
type Options struct {
	Filter  string // as typed after 'sluice queue'
	Sort    string // as 'sluice queue --sort'
	Format  string // as 'sluice queue --format'; "" = what fits the width
	Every   time.Duration
	Me      uint32   // the caller's uid
	Prefix  []string // options of sluice that name the daemon, as in --user
	Colour  bool
	Unicode bool // the terminal can draw lines and blocks
}

// tab is one of the screens.
type tab int

const (
	jobsTab tab = iota
	nodesTab
	timeTab
	sweepsTab
	tabCount
)

var tabNames = []string{"1 jobs", "2 nodes", "3 time", "4 sweeps"}

// row is a line of the jobs.
type row struct {
	job  wire.Job
	word string // how orders name it: a number, or tasks of an array
}

// cursor is a place in a list.
type cursor struct {
	at, top int // the line that is chosen, and the first that is shown
}

// Model is the state of the screen. It is a value: Update returns the next.
type Model struct {
	o             Options
	looks         map[tone]lipgloss.Style
	marks         marks
	width, height int
	now           time.Time

	tab     tab
	helping bool
	helpTop int
	filter  present.Filter
	rows    []row
	nodes   []wire.Node
	cursors [tabCount]cursor
	keep    int64 // the job of the cursor, which follows it
	job     *jobScreen

	report   wire.Report
	received time.Time // zero: none yet
	asking   bool      // for a report
	asked    time.Time
	stale    bool   // an event came since it was asked for
	away     string // why the daemon does not answer
	since    time.Time
	event    string // the newest
	print    string // fingerprint of the report of the newest cycle

	span       time.Duration // of the lanes
	past       wire.Past
	forecast   wire.Forecast
	pastErr    string
	expectErr  string
	lanesAsked time.Time

	sweeps      wire.Sweeps
	found       []wire.Sweep // that the filter leaves
	sweepsErr   string
	sweepsKnown bool
	sweepsAsked time.Time
	keepSweep   wire.Sweep // of the cursor, which follows it
	sweep       *sweepScreen

	prompt  *prompt
	confirm []string // an order, as arguments of sluice
	answer  *answer
	running int
	seq     int
}

// prompt is a line that is being typed.
type prompt struct {
	label string
	kind  promptKind
	word  string // the job
	input textinput.Model
	err   string
}

type promptKind int

const (
	askFilter promptKind = iota
	askSort
	askSize
	askDeadline
)

// answer is what an order printed.
type answer struct {
	command string
	lines   []string
	failed  bool
}

// spans are the lengths of the lanes' time, half of it past.
var spans = []time.Duration{10 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour,
	24 * time.Hour, 3 * 24 * time.Hour, 7 * 24 * time.Hour, 28 * 24 * time.Hour}

// New returns the screen before its first message.
func New(o Options) (Model, error) {
	m := Model{o: o, looks: styles(o.Colour), marks: plainMarks, span: 2 * time.Hour, width: 80, height: 24}
	if o.Unicode {
		m.marks = fineMarks
	}
	var err error
	if m.filter, err = present.ParseFilter(o.Filter); err != nil {
		return m, err
	}
	if err := present.Jobs.Sort(nil, o.Sort); err != nil {
		return m, err
	}
	if o.Format != "" {
		_, err = present.Jobs.ParseFormat(o.Format)
	}
	return m, err
}

// reportTime is the time of what is shown: that of the report, and what passed since it came.
func (m Model) reportTime() time.Time {
	if m.received.IsZero() {
		return m.now
	}
	if m.away != "" {
		return m.report.At
	}
	return m.report.At.Add(max(m.now.Sub(m.received), 0))
}

// rebuild makes the lists anew, from the report, the filter and the order, and keeps the cursor on
// its job.
func (m Model) rebuild() Model {
	is, err := m.filter.Matcher(m.report, m.o.Me)
	if err != nil { // tasks of an array that is not there now
		is = func(*wire.Job) bool { return false }
	}
	jobs := []wire.Job{}
	for i := range m.report.Jobs {
		if is(&m.report.Jobs[i]) {
			jobs = append(jobs, m.report.Jobs[i])
		}
	}
	_ = present.Jobs.Sort(jobs, m.o.Sort) // checked when it was set
	jobs, several := present.Folded(jobs)
	m.rows = make([]row, 0, len(jobs))
	for _, j := range jobs {
		word := several[j.JobID]
		if word == "" {
			word = present.Numbers([]int64{j.JobID})
		}
		m.rows = append(m.rows, row{job: j, word: withoutLimit(word)})
	}
	m.nodes = slices.Clone(m.report.Nodes)
	for _, t := range []tab{jobsTab, timeTab} {
		if k := slices.IndexFunc(m.rows, func(r row) bool { return r.job.JobID == m.keep }); k >= 0 {
			m.cursors[t].at = k
		}
	}
	return m.relist()
}

// withoutLimit drops the limit of an array's name, 101_[4-15%4]: orders name tasks only.
func withoutLimit(word string) string {
	name, rest, found := strings.Cut(word, "%")
	if found && strings.HasSuffix(rest, "]") {
		return name + "]"
	}
	return word
}

// length is the number of lines of a list.
func (m Model) length(t tab) int {
	switch t {
	case nodesTab:
		return len(m.nodes)
	case sweepsTab:
		return len(m.found)
	}
	return len(m.rows)
}

// clamp puts the cursors into their lists and on the screen, and an open text and the help to where they
// have lines. Everything that changes their heights is a message, so Update does it last.
func (m Model) clamp() Model {
	for t := range m.cursors { // first: the room depends on what is shown of the chosen job
		m.cursors[t].at = max(min(m.cursors[t].at, m.length(tab(t))-1), 0)
	}
	m.helpTop = max(min(m.helpTop, len(m.help())-m.helpRoom()), 0)
	if m.job != nil {
		m = m.settled()
	}
	if m.sweep != nil {
		m.sweep = m.sweep.clamp(m)
	}
	for t := range m.cursors {
		c, n, room := &m.cursors[t], m.length(tab(t)), max(m.listRoom(tab(t)), 1)
		c.top = max(min(c.top, c.at, n-room), 0)
		if c.at >= c.top+room {
			c.top = c.at - room + 1
		}
	}
	return m
}

// move moves the cursor of the present list.
func (m Model) move(by int) Model {
	m.cursors[m.tab].at = max(min(m.cursors[m.tab].at+by, m.length(m.tab)-1), 0)
	m = m.clamp()
	if s, ok := m.chosenSweep(); ok {
		m.keepSweep = s
	}
	if r, ok := m.current(); ok {
		m.keep = r.job.JobID
		for _, t := range []tab{jobsTab, timeTab} {
			m.cursors[t].at = m.cursors[m.tab].at
		}
	}
	return m
}

// current is the job that orders are for: the open one, or that of the cursor.
func (m Model) current() (row, bool) {
	if m.job != nil {
		return m.job.row, true
	}
	if m.tab != jobsTab && m.tab != timeTab || len(m.rows) == 0 {
		return row{}, false
	}
	return m.rows[m.cursors[m.tab].at], true
}
