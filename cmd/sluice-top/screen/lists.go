package screen

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// list is the heads and the visible lines of the present list.
func (m Model) list(room int) (heads, body []line) {
	switch m.tab {
	case nodesTab:
		return m.nodeList(room)
	case timeTab:
		return m.lanes(room)
	case sweepsTab:
		return m.sweepList(room)
	}
	return m.jobList(room)
}

// formatFor is the columns of jobs that fit the width.
func (m Model) formatFor() string {
	switch {
	case m.o.Format != "":
		return m.o.Format
	case m.width >= present.Wide:
		return present.DefaultFormat
	case m.width >= 60:
		return present.NarrowFormat
	case m.width >= 36:
		return "jobid,name,st,gpus,done,eta"
	case m.width >= 28:
		return "jobid,st,gpus,done"
	}
	return "jobid,st,ngpus"
}

// jobList draws the jobs.
func (m Model) jobList(room int) (heads, body []line) {
	layout, err := present.Jobs.ParseFormat(m.formatFor())
	if err != nil {
		return nil, nil
	}
	from, to := m.near(room)
	jobs := make([]wire.Job, 0, to-from)
	for _, r := range m.rows[from:to] {
		jobs = append(jobs, r.job)
	}
	t := layout.Table(jobs, m.reportTime())
	if i := layout.Index("jobid"); i >= 0 {
		for k, r := range m.rows[from:to] {
			t.Rows[k][i] = r.word
		}
	}
	looks := func(k int) tone { return jobTone(&m.rows[k].job) }
	none := "no jobs"
	if m.o.Filter != "" {
		none = "no job matches the filter; esc removes it"
	}
	return m.table(t, from, room, looks, none)
}

// beside is how many lines above and below the screen are drawn with it, so that columns seldom change
// their width while the list moves, and thousands of jobs cost no more than these.
const beside = 300

// near is the part of the jobs that is drawn.
func (m Model) near(room int) (from, to int) {
	top := m.cursors[jobsTab].top
	return max(top-beside, 0), min(top+room+beside, len(m.rows))
}

// jobTone is the look of a job's line.
func jobTone(j *wire.Job) tone {
	switch {
	case j.Ended:
		return faint
	case len(j.Problems) > 0:
		return bad
	case j.Move != nil:
		return warn
	case j.GPUs > 0:
		return good
	}
	return plain
}

// nodeList draws the nodes.
func (m Model) nodeList(room int) (heads, body []line) {
	format := "node,gpus,used,free,state"
	switch {
	case m.width >= 60:
		format = present.NodeFormat
	case m.width < 30:
		format = "node,free"
	}
	layout, err := present.Nodes.ParseFormat(format)
	if err != nil {
		return nil, nil
	}
	t := layout.Table(m.nodes, m.reportTime())
	if m.width >= 100 {
		t.Columns = append(t.Columns[:1:1], append([]terminal.Column{terminal.Left("USE")}, t.Columns[1:]...)...)
		for k := range t.Rows {
			t.Rows[k] = append(t.Rows[k][:1:1], append([]string{m.use(m.nodes[k])}, t.Rows[k][1:]...)...)
		}
	}
	looks := func(k int) tone {
		switch n := m.nodes[k]; {
		case !n.Usable:
			return bad
		case n.Health != nil:
			return warn
		case n.Free > 0:
			return good
		}
		return plain
	}
	return m.table(t, 0, room, looks, "no nodes with GPUs")
}

// use draws each GPU of a node: of elastic jobs, of others, free, not usable.
func (m Model) use(n wire.Node) string {
	const most = 16
	elastic, others, free, none := "█", "▒", "·", "x"
	if !m.o.Unicode {
		elastic, others, free = "#", "o", "."
	}
	count := func(k int) int { return max(min(k, most), 0) }
	cell := strings.Repeat(elastic, count(n.Elastic)) + strings.Repeat(others, count(n.Used-n.Elastic)) + strings.Repeat(free, count(n.Free)) +
		strings.Repeat(none, count(n.GPUs-n.Used-n.Free))
	return terminal.Cut(cell, most)
}

// table draws a table, whose first row is that line of the present list, with the list's cursor.
func (m Model) table(t terminal.Table, first, room int, looks func(k int) tone, none string) (heads, body []line) {
	t.Room = m.width
	var b bytes.Buffer
	_ = t.Write(&b) // a buffer takes everything
	all := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	heads = []line{text(head, all[0])}
	c := m.cursors[m.tab]
	if len(all) == 1 {
		if m.received.IsZero() {
			none = ""
		}
		return heads, []line{text(faint, none)}
	}
	for k := c.top; k < min(c.top+room, first+len(all)-1); k++ {
		look := looks(k)
		if k == c.at {
			look = chosen
		}
		body = append(body, text(look, all[k-first+1]))
	}
	return heads, body
}

// lanes draws one line a job: the sizes that it had, has, and is expected to have.
func (m Model) lanes(room int) (heads, body []line) {
	label := max(min(m.width/4, 26), 8)
	width := max(m.width-label-1, 1)
	column := max(m.span/time.Duration(width), time.Second)
	now := m.reportTime()
	from := now.Add(-time.Duration(width/2) * column)
	hint := fmt.Sprintf("%-*s ", label, terminal.Cut("+/- "+spanName(m.span), label))
	heads = []line{text(head, hint+axis(from, column, width, now))}
	past := map[int64]*wire.PastJob{}
	for i := range m.past.Jobs {
		past[m.past.Jobs[i].JobID] = &m.past.Jobs[i]
	}
	expected := map[int64]*wire.Expected{}
	for i := range m.forecast.Jobs {
		expected[m.forecast.Jobs[i].JobID] = &m.forecast.Jobs[i]
	}
	c := m.cursors[timeTab]
	until := from.Add(time.Duration(width) * column)
	for k := c.top; k < min(c.top+room, len(m.rows)); k++ {
		r := m.rows[k]
		look := jobTone(&r.job)
		if k == c.at {
			look = chosen
		}
		all := stretches(&r.job, past[r.job.JobID], expected[r.job.JobID], now, until)
		name := terminal.Cut(r.word+" "+terminal.Escape(r.job.Name), label)
		name += strings.Repeat(" ", label-terminal.Width(name)+1)
		body = append(body, line{{name, look}, {lane(all, from, column, width, now, m.marks), look}})
	}
	if len(m.rows) == 0 {
		body = []line{text(faint, "no jobs")}
	}
	if why := cmp.Or(m.pastErr, m.expectErr); why != "" && len(body) < room {
		body = append(body, nil, text(faint, "incomplete: "+why))
	}
	return heads, body
}

func spanName(d time.Duration) string {
	switch {
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	}
	return fmt.Sprintf("%d days", d/(24*time.Hour))
}

// jobHead is the facts above a job's text.
func (m Model) jobHead() []line {
	j, at := &m.job.row.job, m.reportTime()
	first := fmt.Sprintf("job %s  %s  of %s  %s  %s GPUs", m.job.row.word, terminal.Escape(j.Name), terminal.Escape(j.User), terminal.Escape(j.State), present.GPUs(j))
	if m.job.gone {
		first += "  (no longer in the list)"
	}
	progress := present.Work(j)
	if j.Total > 0 {
		room := max(min(m.width/3, 40), 4)
		progress = present.Bar(j.Done/j.Total, room, m.o.Unicode) + " " + present.Done(j) + "  " + progress
	}
	if !j.ETA.IsZero() {
		progress += "  ends in " + terminal.Clock(j.ETA.Sub(at))
	}
	if j.Seconds > 0 {
		progress += "  " + present.Pace(j.Seconds, j.Source, present.Unit(j))
	}
	if !j.Deadline.IsZero() {
		progress += "  deadline " + present.When(j.Deadline)
	}
	out := []line{text(title, first), text(jobTone(j), progress)}
	for _, l := range wrap(terminal.Escape(present.Reason(j)), m.width) {
		out = append(out, text(plain, l))
	}
	return out
}

// jobBody is the visible part of a job's text.
func (m Model) jobBody(room int) []line {
	j := m.job
	all := j.wrapped(m.width)
	var out []line
	for k := max(min(j.top, len(all)-1), 0); k < min(j.top+room, len(all)); k++ {
		l := all[k]
		if j.tab == runsText && j.right > 0 {
			l = string([]rune(l)[min(j.right, len([]rune(l))):])
		}
		out = append(out, text(plain, l))
	}
	switch {
	case len(all) == 0 && j.tab == logsText && j.over:
		out = []line{text(faint, "no output")}
	case len(all) == 0:
		out = []line{text(faint, "asking")}
	case j.tab == logsText && j.held && len(out) == room && room > 1:
		out[room-1] = text(warn, fmt.Sprintf("%d more lines; G follows", max(len(all)-j.top-room+1, 0)))
	}
	return out
}
