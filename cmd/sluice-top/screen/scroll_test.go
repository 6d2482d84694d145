package screen

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// crowd is a report with many jobs and nodes.
func crowd(n int) wire.Report {
	r := wire.Report{At: controltest.Now, Policy: "lookahead"}
	for i := range n {
		r.Jobs = append(r.Jobs, wire.Job{JobID: int64(1000 + i), Name: fmt.Sprintf("job%d", i), User: "ann", UID: controltest.AnnUID, ST: "R", State: "RUNNING", GPUs: 1,
			Reason: strings.Repeat("long reason ", i%20)})
		r.Nodes = append(r.Nodes, wire.Node{Name: fmt.Sprintf("node%d", 1000+i), GPUs: 4, Free: 4, Usable: true})
	}
	return r
}

// cursorShown reports whether the chosen line of the present list is on the screen.
func cursorShown(m Model) bool {
	c := m.cursors[m.tab]
	room := max(m.listRoom(m.tab), 1)
	return m.length(m.tab) == 0 || c.at >= c.top && c.at < c.top+room
}

// TestCursorStaysVisible: in a long list the chosen line is on the screen whatever moves it, and whatever
// takes lines from the list: an answer, a question, a smaller terminal, an outage.
func TestCursorStaysVisible(t *testing.T) {
	long := strings.Repeat("a line of the answer\n", 30)
	after := map[string][]any{
		"an answer":             {RanMsg{Run: Run{Args: []string{"hold", "1"}, For: "order"}, Output: long}},
		"a question":            keys("c"),
		"a wrong filter":        keys("/ -t space x enter"),
		"a smaller terminal":    {tea.WindowSizeMsg{Width: 80, Height: 9}},
		"a narrower terminal":   {tea.WindowSizeMsg{Width: 30, Height: 24}},
		"a larger terminal":     {tea.WindowSizeMsg{Width: 200, Height: 60}},
		"an outage":             {ReportMsg{Err: fmt.Errorf("%s", long), At: controltest.Now.Add(time.Minute)}},
		"fewer jobs":            {ReportMsg{Report: crowd(30), At: controltest.Now.Add(time.Minute)}},
		"another list and back": keys("tab tab tab"),
	}
	for _, list := range []string{"1", "2", "3"} {
		for _, moves := range []string{"end", "pgdown pgdown", "pgdown pgdown up up", "end pgup", "down down down", "end home pgdown", "G up"} {
			for name, msgs := range after {
				m := sent(begun(t, Options{}, crowd(200), 80, 24), keys(list+" "+moves)...)
				if !cursorShown(m) {
					t.Errorf("list %s, %s: line %d of %d on", list, moves, m.cursors[m.tab].at, m.cursors[m.tab].top)
				}
				if m = sent(m, msgs...); !cursorShown(m) {
					t.Errorf("list %s, %s, then %s: line %d of %d on, room %d", list, moves, name, m.cursors[m.tab].at, m.cursors[m.tab].top, m.listRoom(m.tab))
				}
				checkFrame(t, m)
			}
		}
	}
}

// TestPages: a page key moves by a page with one line of the page before, home and end to the ends, in lists,
// texts and the help.
func TestPages(t *testing.T) {
	m := begun(t, Options{}, crowd(200), 80, 24)
	page := m.listRoom(jobsTab) - 1
	for words, want := range map[string]int{"pgdown": page, "space": page, "pgdown pgdown": 2 * page, "end": 199, "end pgup": 199 - page, "pgdown home": 0, "pgup": 0, "end pgdown": 199} {
		if got := sent(m, keys(words)...); got.cursors[jobsTab].at != want {
			t.Errorf("%s: line %d, want %d", words, got.cursors[jobsTab].at, want)
		}
	}
	small := sent(m, append([]any{tea.WindowSizeMsg{Width: 60, Height: 12}}, keys("?")...)...)
	last := len(small.help()) - small.helpRoom()
	for words, want := range map[string]int{"pgdown": small.helpRoom() - 1, "end": last, "end down": last, "end pgup": last - small.helpRoom() + 1, "end home": 0, "up": 0} {
		if got := sent(small, keys(words)...); got.helpTop != want || !got.helping {
			t.Errorf("help, %s: line %d, want %d", words, got.helpTop, want)
		}
	}
	if got := sent(sent(small, keys("end")...), tea.WindowSizeMsg{Width: 60, Height: 100}); got.helpTop != 0 {
		t.Errorf("a larger terminal shows the help from line %d", got.helpTop)
	}
}

// TestTextsAreResized: a log that is followed is at its end in a terminal of another size, and goes on
// following; one that was scrolled up stays so; a text never ends above an empty screen.
func TestTextsAreResized(t *testing.T) {
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("line %d %s", i, strings.Repeat("x", 70)))
	}
	m := sent(begun(t, Options{}, crowd(3), 80, 24), keys("l")...)
	m = sent(m, LogMsg{Seq: m.seq, Lines: lines})
	for _, size := range []tea.WindowSizeMsg{{Width: 80, Height: 12}, {Width: 40, Height: 24}, {Width: 200, Height: 60}, {Width: 80, Height: 24}} {
		m = sent(m, size)
		if all := strings.Join(m.Frame(), "\n"); m.job.held || !strings.Contains(all, "line 99 ") {
			t.Errorf("%v: held %v\n%s", size, m.job.held, all)
		}
		m = sent(m, LogMsg{Seq: m.seq, Lines: []string{fmt.Sprint("new at ", size.Width, size.Height)}})
		if all := strings.Join(m.Frame(), "\n"); !strings.Contains(all, fmt.Sprint("new at ", size.Width, size.Height)) {
			t.Errorf("%v: what is new is not shown\n%s", size, all)
		}
	}
	up := sent(m, keys("pgup pgup")...)
	if got := sent(up, tea.WindowSizeMsg{Width: 80, Height: 20}); !got.job.held || got.job.top != up.job.top {
		t.Errorf("scrolled up to line %d, then at %d, held %v", up.job.top, got.job.top, got.job.held)
	}
	text := sent(m, keys("e")...)
	text = sent(text, RanMsg{Run: Run{For: "text", Seq: text.seq}, Output: strings.Join(lines[:40], "\n")})
	text = sent(text, append(keys("end"), tea.WindowSizeMsg{Width: 80, Height: 40})...)
	if last := max(len(text.job.wrapped(80))-text.textRoom(), 0); text.job.top != last {
		t.Errorf("the text is shown from line %d, want %d", text.job.top, last)
	}
}

// TestLocalTimes: every time is this machine's zone as it is at that time, whatever zone the report has.
func TestLocalTimes(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skipf("NOT TESTED: times in a zone: %v", err)
	}
	defer func(before *time.Location) { time.Local = before }(time.Local)
	time.Local = berlin
	change := time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC) // 02:00 becomes 03:00
	for _, zone := range []*time.Location{time.UTC, time.FixedZone("", -7*3600), berlin} {
		report := crowd(3)
		report.At = change.Add(30 * time.Minute).In(zone)
		report.Jobs[0].Submitted, report.Jobs[0].Deadline = report.At.Add(-time.Hour), report.At.Add(time.Hour)
		m, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		m = sent(m, TickMsg(report.At), tea.WindowSizeMsg{Width: 100, Height: 24}, ReportMsg{Report: report, At: report.At},
			EventMsg(wire.Happening{Text: "an event", At: report.At}))
		if first := m.Frame()[0]; !strings.Contains(first, "03:30:00") {
			t.Errorf("%v: %q", zone, first)
		}
		lanes := sent(m, keys("3")...)
		axis := strings.Fields(lanes.Frame()[2])
		if got := strings.Join(axis[len(axis)-3:], " "); got != "01:30 03:30 04:29" {
			t.Errorf("%v: the lanes are from, now, until %s", zone, got)
		}
		if head := strings.Join(sent(m, keys("enter")...).Frame(), "\n"); !strings.Contains(head, "deadline 2026-03-29T04:30:00") {
			t.Errorf("%v: %s", zone, head)
		}
	}
	if event := sent(begun(t, Options{}, crowd(1), 300, 24), EventMsg(wire.Happening{Text: "an event", At: change.Add(-time.Minute)})); event.event != "01:59:00 an event" {
		t.Errorf("%q", event.event)
	}
}
