package screen

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// effectsOf sends messages and returns all effects.
func effectsOf(m Model, all ...any) (Model, []Effect) {
	var out []Effect
	for _, msg := range all {
		var effects []Effect
		m, effects = m.Update(msg)
		out = append(out, effects...)
	}
	return m, out
}

// TestOrders: a key proposes the command of sluice, and only y runs it.
func TestOrders(t *testing.T) {
	report := canned(t)
	for name, c := range map[string]struct {
		keys string
		want []string // the arguments that are run; nil = nothing
		foot string   // in the last line, in the end
	}{
		"resize":          {"g 4 enter y", []string{"resize", "41", "--gpus", "4"}, "running"},
		"resize, auto":    {"g auto enter y", []string{"resize", "41", "--gpus", "auto"}, "running"},
		"no size":         {"g x enter", nil, "GPUs of job 41, or auto: x"},
		"size below one":  {"g 0 enter y", nil, "GPUs of job 41, or auto: 0y"},
		"two sizes":       {"g 4 space 4 enter", nil, "GPUs of job 41, or auto: 4 4"},
		"given up":        {"g 4 esc", nil, "? help"},
		"not confirmed":   {"g 4 enter n", nil, "sluice resize 41 --gpus 4: not run"},
		"enter is no yes": {"h enter", nil, "sluice hold 41: not run"},
		"hold":            {"h y", []string{"hold", "41"}, "running"},
		"release":         {"down down down down u y", []string{"release", "44"}, "running"},
		"cancel":          {"down c y", []string{"cancel", "42"}, "running"},
		"deadline":        {"d now+4hours enter y", []string{"deadline", "41", "--at", "now+4hours"}, "running"},
		"no deadline":     {"d enter", nil, "deadline of job 41, or none:"},
		"of the open job": {"down enter h y", []string{"hold", "42"}, "running"},
		"lanes":           {"3 down h y", []string{"hold", "42"}, "running"},
		"no job of nodes": {"2 h y", nil, "? help"},
		"ended":           {"/ -j space 40 enter c y", nil, "? help"},
	} {
		t.Run(name, func(t *testing.T) {
			m, effects := effectsOf(begun(t, Options{Prefix: []string{"--user=true"}}, report, 100, 24), keys(c.keys)...)
			var got []string
			for _, e := range effects {
				if run, is := e.(Run); is && run.For == "order" {
					if got != nil {
						t.Errorf("two orders: %v, %v", got, run.Args)
					}
					got = run.Args
				}
			}
			if c.want != nil {
				c.want = append([]string{"--user=true"}, c.want...)
				c.foot = strings.Replace(c.foot, "sluice ", "sluice --user=true ", 1)
			} else if strings.HasPrefix(c.foot, "sluice") {
				c.foot = strings.Replace(c.foot, "sluice ", "sluice --user=true ", 1)
			}
			if last := m.Frame()[m.height-1]; !reflect.DeepEqual(got, c.want) || !strings.Contains(last, c.foot) {
				t.Errorf("%v, want %v; %q, want %q", got, c.want, last, c.foot)
			}
		})
	}
}

// TestAnswers: what an order printed is shown, in as many lines, until the next key; a new report is
// asked for.
func TestAnswers(t *testing.T) {
	m := begun(t, Options{}, canned(t), 80, 24)
	m, _ = effectsOf(m, keys("c y")...)
	m, effects := effectsOf(m, RanMsg{Run: Run{Args: []string{"cancel", "41"}, For: "order"}, Output: "scancel: error: a\nb \x1b[2J\n", Failed: true})
	if !reflect.DeepEqual(effects, []Effect{Fetch{}}) {
		t.Errorf("%v", effects)
	}
	frame := strings.Join(m.Frame()[21:], "\n")
	if frame != "sluice cancel 41:\nscancel: error: a\nb " {
		t.Errorf("%q", frame)
	}
	if m = sent(m, keys("down")...); strings.Contains(strings.Join(m.Frame(), "\n"), "scancel") {
		t.Error("the answer stays after a key")
	}
	m, _ = effectsOf(m, keys("h y")...)
	if m = sent(m, RanMsg{Run: Run{Args: []string{"hold", "42"}, For: "order"}}); !strings.Contains(m.Frame()[23], "sluice hold 42: done") {
		t.Errorf("%q", m.Frame()[23])
	}
}

// TestAway: without an answer the last report stays, the screen says since when, asks again, and
// is as before with the next answer.
func TestAway(t *testing.T) {
	report := canned(t)
	at := controltest.Now
	m, err := New(Options{Every: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	m, effects := effectsOf(m, TickMsg(at))
	if !reflect.DeepEqual(effects, []Effect{Fetch{}}) {
		t.Fatalf("%v", effects)
	}
	gone := errors.New("no sluiced: there is no socket\nsee systemctl")
	m = sent(m, ReportMsg{Err: gone, At: at})
	if first := m.Frame()[0]; !strings.Contains(first, "no sluiced: there is no socket; see systemctl") {
		t.Errorf("%q", first)
	}
	if m, effects = effectsOf(m, TickMsg(at.Add(time.Second))); effects != nil {
		t.Errorf("asked again after 1 s: %v", effects)
	}
	if m, effects = effectsOf(m, TickMsg(at.Add(2*time.Second)), TickMsg(at.Add(8*time.Second))); len(effects) != 1 {
		t.Errorf("asked %v, want once until there is an answer", effects)
	}
	m = sent(m, ReportMsg{Report: report, At: at.Add(9 * time.Second)})
	if all := strings.Join(m.Frame(), "\n"); !strings.Contains(all, "resnet") || strings.Contains(all, "no sluiced") {
		t.Errorf("%s", all)
	}
	m = sent(m, ReportMsg{Err: gone, At: at.Add(11 * time.Second)}, ReportMsg{Err: gone, At: at.Add(13 * time.Second)})
	if all := strings.Join(m.Frame(), "\n"); !strings.Contains(all, "resnet") || !strings.Contains(all, "sluiced has not answered since 12:00:11") {
		t.Errorf("%s", all)
	}
	if m = sent(m, ReportMsg{Report: report, At: at.Add(15 * time.Second)}); strings.Contains(strings.Join(m.Frame(), "\n"), "answer") {
		t.Error("it does not come back")
	}
	if _, effects = effectsOf(m, TickMsg(at.Add(17*time.Second)), TickMsg(at.Add(120*time.Second))); len(effects) != 2 {
		t.Errorf("a question that was never answered is not asked again: %v", effects)
	}
}

// TestFilters: a filter is that of queue; a wrong one is refused where it is typed.
func TestFilters(t *testing.T) {
	for _, c := range []struct{ keys, jobs, foot string }{
		{"/ -u space bob enter", "42 45", ""}, {"/ llama enter", "42", ""}, {"/ -t space PD enter", "43 44", ""}, {"/ -t space SLEEPING enter", "41 42 45 43 44", "invalid job state"},
		{"/ --colour enter", "41 42 45 43 44", "unknown flag"}, {"/ llama enter esc", "41 42 45 43 44", ""}, {"m", "41 43 44", ""}, {"m m", "41 42 45 43 44", ""},
		{"a", "41 42 45 43 44 40 39", ""}, {"s -jobid enter", "45 44 43 42 41", ""}, {"s colour enter", "41 42 45 43 44", "invalid field"}, {"2 down enter", "42 45", ""},
		{"/ nothing enter", "", ""},
	} {
		m := sent(begun(t, Options{}, canned(t), 120, 24), keys(c.keys)...)
		var got []string
		for _, r := range m.rows {
			got = append(got, r.word)
		}
		if all := strings.Join(m.Frame(), "\n"); strings.Join(got, " ") != c.jobs || !strings.Contains(all, c.foot) {
			t.Errorf("%s: %v, want %s\n%s", c.keys, got, c.jobs, all)
		}
	}
}

// TestCursorFollowsItsJob, also when the order changes.
func TestCursorFollowsItsJob(t *testing.T) {
	report := canned(t)
	m := sent(begun(t, Options{}, report, 80, 24), keys("down down")...) // 45
	for _, by := range []string{"-jobid", "jobid", ""} {
		m.o.Sort = by
		m = m.rebuild()
		if r, _ := m.current(); r.job.JobID != 45 {
			t.Errorf("sorted by %q it is on %d", by, r.job.JobID)
		}
	}
	report.Jobs = report.Jobs[:1]
	m = sent(m, ReportMsg{Report: report, At: controltest.Now})
	if r, is := m.current(); !is || r.job.JobID != 41 {
		t.Error("the cursor is beyond the list")
	}
}

// TestText: the open job's text is asked for again, a late answer of another text is dropped, and the
// log is followed unless it is scrolled.
func TestText(t *testing.T) {
	m := begun(t, Options{}, canned(t), 80, 14)
	m, effects := effectsOf(m, keys("enter")...)
	if !reflect.DeepEqual(effects, []Effect{Run{Args: []string{"explain", "41"}, For: "text", Seq: 1}}) {
		t.Fatalf("%v", effects)
	}
	m, effects = effectsOf(m, keys("l")...)
	if !reflect.DeepEqual(effects, []Effect{Unfollow{}, Follow{Args: []string{"logs", "--follow", "--lines", "1000", "41"}, Seq: 2}}) {
		t.Fatalf("%v", effects)
	}
	m = sent(m, RanMsg{Run: Run{For: "text", Seq: 1}, Output: "late"}, LogMsg{Seq: 1, Lines: []string{"older"}})
	for k := range 100 {
		m = sent(m, LogMsg{Seq: 2, Lines: []string{fmt.Sprintf("line %d", k)}})
	}
	all := strings.Join(m.Frame(), "\n")
	if strings.Contains(all, "late") || strings.Contains(all, "older") || !strings.Contains(all, "line 99") {
		t.Errorf("%s", all)
	}
	m = sent(m, keys("pgup")...)
	m = sent(m, LogMsg{Seq: 2, Lines: []string{"newest"}})
	if all := strings.Join(m.Frame(), "\n"); strings.Contains(all, "newest") || !strings.Contains(all, "more lines; G follows") {
		t.Errorf("%s", all)
	}
	if all := strings.Join(sent(m, keys("G")...).Frame(), "\n"); !strings.Contains(all, "newest") {
		t.Errorf("%s", all)
	}
	_, effects = effectsOf(m, keys("esc")...)
	if !reflect.DeepEqual(effects, []Effect{Unfollow{}}) {
		t.Errorf("%v", effects)
	}
	m = sent(m, LogMsg{Seq: 2, Lines: make([]string, 3*mostLines)})
	if len(m.job.lines) != mostLines {
		t.Errorf("%d lines are kept", len(m.job.lines))
	}
}

// TestEvents: a cycle with another report is asked for at once; one with the same is not.
func TestEvents(t *testing.T) {
	m := begun(t, Options{}, canned(t), 200, 24)
	m.asking = false
	event := func(print, text string) EventMsg {
		return EventMsg(wire.Happening{Kind: wire.KindCycle, Print: print, Text: text, At: controltest.Now})
	}
	m, effects := effectsOf(m, event("a", "job 41 \x1b[2J grows"))
	if !reflect.DeepEqual(effects, []Effect{Fetch{}}) {
		t.Errorf("%v", effects)
	}
	if all := strings.Join(m.Frame(), "\n"); !strings.Contains(all, `job 41 \x1b[2J grows`) {
		t.Errorf("%s", all)
	}
	m = sent(m, ReportMsg{Report: m.report, At: m.now})
	if _, effects = effectsOf(m, event("a", "")); effects != nil {
		t.Errorf("%v", effects)
	}
	m, effects = effectsOf(m, event("b", ""), event("c", ""), event("d", ""))
	if effects != nil {
		t.Errorf("within a second: %v", effects)
	}
	if _, effects = effectsOf(m, TickMsg(m.now.Add(time.Second))); !reflect.DeepEqual(effects, []Effect{Fetch{}}) {
		t.Errorf("after a second: %v", effects)
	}
}

// TestMouse: clicks choose, open, turn and sort; the wheel moves.
func TestMouse(t *testing.T) {
	click := func(x, y int) tea.MouseClickMsg { return tea.MouseClickMsg{X: x, Y: y, Button: tea.MouseLeft} }
	m := begun(t, Options{}, canned(t), 80, 24)
	chosen := func(m Model) int64 { r, _ := m.current(); return r.job.JobID }
	if got := chosen(sent(m, click(10, 5))); got != 45 {
		t.Errorf("the third line is %d", got)
	}
	if got := sent(m, click(10, 5), click(10, 5)); got.job == nil || got.job.row.job.JobID != 45 {
		t.Error("a second click does not open")
	}
	for x, want := range map[int]tab{1: jobsTab, 9: nodesTab, 20: timeTab} {
		if got := sent(m, click(x, 1)); got.tab != want {
			t.Errorf("column %d is %v", x, got.tab)
		}
	}
	if got := sent(m, click(2, 2), click(2, 2)); got.o.Sort != "-jobid" || chosen(got) != 45 {
		t.Errorf("sorted by %q", got.o.Sort)
	}
	if got := chosen(sent(m, tea.MouseWheelMsg{Button: tea.MouseWheelDown})); got != 43 {
		t.Errorf("the wheel chose %d", got)
	}
	open := sent(m, keys("enter")...)
	if got := sent(open, click(18, 1)); got.job == nil || got.job.tab != runsText {
		t.Error("the text is not turned")
	}
	if got := sent(open, click(1, 1)); got.job != nil {
		t.Error("esc cannot be clicked")
	}
	for x := -1; x < 90; x++ {
		for y := -1; y < 30; y++ {
			sent(m, click(x, y), click(x, y))
			sent(open, click(x, y))
		}
	}
}

// TestQuit: q and ctrl-c end it at once, ctrl-c also while something is typed.
func TestQuit(t *testing.T) {
	report := canned(t)
	for words, want := range map[string]bool{"q": true, "ctrl+c": true, "enter q": true, "/ q": false, "/ ctrl+c": true, "? q": true, "h ctrl+c": true} {
		_, effects := effectsOf(begun(t, Options{}, report, 80, 24), keys(words)...)
		quit := len(effects) > 0 && effects[len(effects)-1] == Effect(Quit{})
		if quit != want {
			t.Errorf("%s: %v", words, effects)
		}
	}
}

// TestNothingPanics: whatever is typed, sent and resized, with hostile names: every frame has the
// screen's size and no control character.
func TestNothingPanics(t *testing.T) {
	report := canned(t)
	past, forecast := history()
	evil := []string{"\x1b[2J\x1b]0;x\a", "漢字漢字", "e\u0301\u0301\u0301\u0301\u0301", "\u202egnp.exe", "\xff\xfe", "👩‍👩‍👧‍👦", "", strings.Repeat("x", 300), "a\nb\tc\rd", "\u200b\u2066x"}
	names := []string{"enter", "esc", "tab", "up", "down", "home", "end", "pgup", "pgdown", "left", "right", "backspace", "space", "shift+tab",
		"q", "?", "/", "1", "2", "3", "g", "h", "u", "c", "d", "s", "a", "m", "r", "e", "l", "+", "-", "y", "n", "x", "漢"}
	rapid.Check(t, func(t *rapid.T) {
		r := report
		r.Jobs = append([]wire.Job(nil), report.Jobs...)
		for i := range r.Jobs {
			name := rapid.SampledFrom(evil).Draw(t, "name")
			r.Jobs[i].Name, r.Jobs[i].User, r.Jobs[i].Reason = name, name, name
			r.Jobs[i].Total = rapid.SampledFrom([]float64{0, -1, 1e300, 10}).Draw(t, "total")
		}
		m, err := New(Options{Unicode: rapid.Bool().Draw(t, "unicode"), Colour: true, Every: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		now := controltest.Now
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			name := rapid.SampledFrom(evil).Draw(t, "text")
			var msg any
			switch rapid.IntRange(0, 11).Draw(t, "kind") {
			case 0:
				now = now.Add(rapid.SampledFrom([]time.Duration{time.Second, time.Minute, -time.Hour}).Draw(t, "later"))
				msg = TickMsg(now)
			case 1:
				msg = ReportMsg{Report: r, At: now}
			case 2:
				msg = ReportMsg{Err: errors.New(name), At: now}
			case 3:
				msg = past
			case 4:
				msg = forecast
			case 5:
				msg = RanMsg{Run: Run{For: rapid.SampledFrom([]string{"order", "text"}).Draw(t, "for"), Seq: m.seq, Args: []string{name}}, Output: name}
			case 6:
				msg = LogMsg{Seq: m.seq, Lines: []string{name, name}, Over: rapid.Bool().Draw(t, "over")}
			case 7:
				msg = tea.WindowSizeMsg{Width: rapid.SampledFrom([]int{0, 1, 2, 5, 20, 39, 40, 80, 111, 230}).Draw(t, "width"), Height: rapid.SampledFrom([]int{0, 1, 2, 3, 5, 7, 8, 24, 60}).Draw(t, "height")}
			case 8:
				msg = tea.MouseClickMsg{X: rapid.IntRange(-1, 100).Draw(t, "x"), Y: rapid.IntRange(-1, 30).Draw(t, "y"), Button: tea.MouseLeft}
			case 9:
				msg = EventMsg(wire.Happening{Text: name, At: now})
			case 10:
				msg = tea.PasteMsg{Content: name}
			default:
				msg = keys(rapid.SampledFrom(names).Draw(t, "key"))[0]
			}
			m, _ = m.Update(msg)
			checkFrame(t, m)
		}
	})
}
