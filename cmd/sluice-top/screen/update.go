package screen

import (
	"cmp"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

const (
	// lanesEvery is how often history and forecast are asked for while they are shown.
	lanesEvery = 15 * time.Second
	// textEvery is the same of what explains a job.
	textEvery = 5 * time.Second
	// atMost is how often a report is asked for because of events.
	atMost = time.Second
	// unanswered is when a question for a report counts as lost; the client's own limit is shorter.
	unanswered = 90 * time.Second
)

// Update returns the next state and what is to be done. Whatever the message changed of the screen's parts,
// the cursors are in them.
func (m Model) Update(msg any) (Model, []Effect) {
	m, effects := m.after(msg)
	return m.clamp(), effects
}

// after is the state after a message, before clamp.
func (m Model) after(msg any) (Model, []Effect) {
	switch msg := msg.(type) {
	case TickMsg:
		m.now = time.Time(msg)
		return m.due()
	case ReportMsg:
		return m.reported(msg)
	case PastMsg:
		if m.pastErr = errText(msg.Err); msg.Err == nil {
			m.past = msg.Past
		}
	case ForecastMsg:
		if m.expectErr = errText(msg.Err); msg.Err == nil {
			m.forecast = msg.Forecast
		}
	case SweepsMsg:
		return m.searched(msg), nil
	case EventMsg:
		return m.happened(msg)
	case RanMsg:
		return m.ran(msg)
	case LogMsg:
		if m.job != nil {
			m.job = m.job.logged(msg)
		}
	case tea.WindowSizeMsg:
		m.width, m.height = max(msg.Width, 1), max(msg.Height, 1)
	case tea.KeyPressMsg:
		return m.key(msg)
	case tea.PasteMsg:
		if m.prompt != nil {
			return m.typed(msg)
		}
	case tea.MouseClickMsg:
		return m.click(msg)
	case tea.MouseWheelMsg:
		return m.wheel(msg)
	}
	return m, nil
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return terminal.Escape(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// due returns what it is time for.
func (m Model) due() (Model, []Effect) {
	var effects []Effect
	if m.asking && m.now.Sub(m.asked) > unanswered {
		m.asking = false
	}
	if since := m.now.Sub(m.asked); !m.asking && (since >= m.o.Every || m.stale && since >= atMost) {
		m, effects = m.fetch()
	}
	if m.tab == timeTab && m.job == nil && m.now.Sub(m.lanesAsked) >= lanesEvery {
		m.lanesAsked = m.now
		effects = append(effects, FetchPast{From: m.now.Add(-m.span / 2)}, FetchForecast{})
	}
	if m.job == nil && (m.tab == sweepsTab || m.sweep != nil) && m.now.Sub(m.sweepsAsked) >= sweepsEvery {
		m.sweepsAsked = m.now
		effects = append(effects, FetchSweeps{})
	}
	if m.job == nil && m.sweep != nil && m.sweep.tab != summaryText && m.now.Sub(m.sweep.asked) >= sweepTextEvery {
		var more []Effect
		m, more = m.askSweepText()
		effects = append(effects, more...)
	}
	if m.job != nil && m.job.tab != logsText && m.now.Sub(m.job.asked) >= textEvery && m.away == "" {
		var more []Effect
		m, more = m.askText()
		effects = append(effects, more...)
	}
	return m, effects
}

func (m Model) fetch() (Model, []Effect) {
	if m.asking {
		return m, nil
	}
	m.asking, m.asked, m.stale = true, m.now, false
	return m, []Effect{Fetch{All: m.filter.Ended() || m.job != nil && m.job.row.job.Ended}}
}

// reported takes a report, or notes that the daemon is away; the last report stays.
func (m Model) reported(msg ReportMsg) (Model, []Effect) {
	m.asking = false
	m.now = later(m.now, msg.At)
	if msg.Err != nil {
		if m.away == "" {
			m.since = msg.At
		}
		m.away = cmp.Or(errText(msg.Err), "no answer")
		return m, nil
	}
	m.away, m.report, m.received = "", msg.Report, msg.At
	if m.job != nil {
		next := *m.job
		if k := slices.IndexFunc(m.report.Jobs, func(j wire.Job) bool { return j.JobID == next.row.job.JobID }); k >= 0 {
			next.row.job, next.gone = m.report.Jobs[k], false
		} else {
			next.gone = true
		}
		m.job = &next
	}
	return m.rebuild(), nil
}

// happened takes an event: it is shown, and a report that changed is asked for at once.
func (m Model) happened(e EventMsg) (Model, []Effect) {
	if e.Text != "" {
		m.event = e.At.Local().Format("15:04:05 ") + terminal.Escape(e.Text)
	}
	if e.Print != "" && e.Print == m.print {
		return m, nil
	}
	m.print, m.stale = cmp.Or(e.Print, m.print), true
	if m.now.Sub(m.asked) < atMost { // the next tick asks, once for all events of a second
		return m, nil
	}
	return m.fetch()
}
