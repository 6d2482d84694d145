package screen

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

var update = flag.Bool("update", false, "rewrite the frames in testdata")

func TestMain(m *testing.M) {
	time.Local = time.UTC // frames have local times
	os.Exit(m.Run())
}

// canned is the report of controltest, as a sluiced sends it.
func canned(t *testing.T) wire.Report {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "sock")
	o := control.Options{UID: uint32(os.Getuid()), Now: func() time.Time { return controltest.Now }, Version: "1.0.0"}
	server, err := control.Listen(context.Background(), socket, o, controltest.New())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx) }()
	t.Cleanup(func() { stop(); <-done })
	var report wire.Report
	for range 60 { // the client's own limit is 2 s, which a busy machine may need
		if report, err = client.Dial(socket).Report(context.Background()); err == nil {
			return report
		}
	}
	t.Fatal(err)
	return report
}

// begun is a screen with the report, and the effects of what it was sent are dropped.
func begun(t *testing.T, o Options, report wire.Report, width, height int) Model {
	t.Helper()
	o.Every, o.Me = 2*time.Second, controltest.AnnUID
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	m = sent(m, TickMsg(controltest.Now), tea.WindowSizeMsg{Width: width, Height: height},
		ReportMsg{Report: report, At: controltest.Now}, TickMsg(controltest.Now.Add(time.Second)))
	return m
}

func sent(m Model, all ...any) Model {
	for _, msg := range all {
		m, _ = m.Update(msg)
	}
	return m
}

// keys are key presses, as bubbletea names them, and text in quotes that is typed.
func keys(words string) (out []any) {
	named := map[string]tea.KeyPressMsg{
		"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "tab": {Code: tea.KeyTab}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
		"home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd}, "pgup": {Code: tea.KeyPgUp}, "pgdown": {Code: tea.KeyPgDown}, "left": {Code: tea.KeyLeft},
		"right": {Code: tea.KeyRight}, "backspace": {Code: tea.KeyBackspace}, "space": {Code: ' ', Text: " "}, "ctrl+c": {Code: 'c', Mod: tea.ModCtrl},
		"shift+tab": {Code: tea.KeyTab, Mod: tea.ModShift},
	}
	for _, word := range strings.Fields(words) {
		if key, is := named[word]; is {
			out = append(out, key)
			continue
		}
		for _, r := range word {
			out = append(out, tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return out
}

// history is a past and a forecast of the canned jobs.
func history() (PastMsg, ForecastMsg) {
	now := controltest.Now
	past := wire.Past{Jobs: []wire.PastJob{{JobID: int64(controltest.Growing), Submitted: now.Add(-79 * time.Minute), Runs: []wire.Segment{
		{GPUs: 1, Started: now.Add(-78 * time.Minute), Ended: now.Add(-31 * time.Minute)}, {GPUs: 2, Started: now.Add(-30 * time.Minute)}}}}}
	forecast := wire.Forecast{At: now, Until: now.Add(time.Hour), Jobs: []wire.Expected{
		{JobID: int64(controltest.Growing), Sizes: []wire.Expecting{{From: now, To: now.Add(2 * time.Minute), GPUs: 2, Moves: true}, {From: now.Add(2 * time.Minute), To: now.Add(25 * time.Minute), GPUs: 4}}},
		{JobID: int64(controltest.Waiting), Sizes: []wire.Expecting{{From: now, To: now.Add(25 * time.Minute)}, {From: now.Add(25 * time.Minute), GPUs: 2}}},
	}}
	return PastMsg{Past: past}, ForecastMsg{Forecast: forecast}
}

const explained = "Job   41 (resnet) of ann: RUNNING\nGPUs  2 on gpu1:2, accepts 1-8\nWhy   grows 2 -> 4: its remaining work takes 134 s instead of 206 s\n\x1b[31mred\x1b[0m\n"

// TestFrames: each screen on each size, without looks. Lines fit the width.
func TestFrames(t *testing.T) {
	report := canned(t)
	past, forecast := history()
	checkFrames(t, report, map[string][]any{
		"jobs":    nil,
		"nodes":   keys("2"),
		"time":    append(keys("3"), past, forecast),
		"explain": append(keys("enter"), RanMsg{Run: Run{For: "text", Seq: 1}, Output: explained}),
		"log":     append(keys("l"), LogMsg{Seq: 1, Lines: []string{"== sluice: segment 1 of job 41 ==", "epoch 1 loss 0.5\repoch 2 loss 0.25", "\x1b]0;title\a\x1b[2Jcleared?", "a\tb"}}),
		"filter":  keys("/ -t space PD"),
		"confirm": keys("g 4 enter"),
		"refused": append(keys("g 4 enter y"), RanMsg{Run: Run{Args: []string{"resize", "41", "--gpus", "4"}, For: "order"}, Output: "sluice: error: job 41: 4 GPUs: QOSMaxGRESPerUser\n", Failed: true}),
		"help":    keys("?"),
		"away":    {ReportMsg{Err: errors.New("no sluiced: there is no socket /run/sluice/sock"), At: controltest.Now.Add(time.Minute)}},
	})
}

// checkFrames compares what is shown after the steps of each name with its golden file, on each size.
func checkFrames(t *testing.T, report wire.Report, all map[string][]any) {
	for name, steps := range all {
		for _, size := range [][2]int{{80, 24}, {40, 12}, {200, 60}} {
			t.Run(fmt.Sprintf("%s/%dx%d", name, size[0], size[1]), func(t *testing.T) {
				m := sent(begun(t, Options{Unicode: size[0] > 40}, report, size[0], size[1]), steps...)
				checkFrame(t, m)
				got := strings.Join(trimmed(m.Frame()), "\n") + "\n"
				golden := filepath.Join("testdata", fmt.Sprintf("%s-%dx%d.txt", name, size[0], size[1]))
				if *update {
					if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil || got != string(want) {
					t.Errorf("%v: got\n%s\nwant\n%s", err, got, want)
				}
			})
		}
	}
}

func trimmed(frame []string) (out []string) {
	for _, l := range frame {
		out = append(out, strings.TrimRight(l, " "))
	}
	return out
}

// checkFrame fails unless the frame has the screen's size, has no control characters, and is what the
// view shows.
func checkFrame(t interface {
	Helper()
	Errorf(string, ...any)
}, m Model) {
	t.Helper()
	frame := m.Frame()
	if len(frame) != m.height {
		t.Errorf("%d lines of %d", len(frame), m.height)
	}
	shown := strings.Split(ansi.Strip(m.View().Content), "\n")
	for i, l := range frame {
		if terminal.Width(l) > m.width {
			t.Errorf("line %d has %d of %d columns: %q", i, terminal.Width(l), m.width, l)
		}
		if terminal.Escape(l) != l {
			t.Errorf("line %d is not harmless: %q", i, l)
		}
		if i < len(shown) && strings.TrimRight(shown[i], " ") != strings.TrimRight(l, " ") {
			t.Errorf("line %d shows %q, want %q", i, shown[i], l)
		}
	}
}

// TestNoColour: without colours a frame has none, and still shows what is chosen; with them it has.
func TestNoColour(t *testing.T) {
	report := canned(t)
	for _, colour := range []bool{true, false} {
		content := begun(t, Options{Colour: colour}, report, 80, 24).View().Content
		if has := strings.Contains(content, "\x1b[3") || strings.Contains(content, "\x1b[1;3"); has != colour {
			t.Errorf("colour %v: %q", colour, content)
		}
		if !strings.Contains(content, "\x1b[7m") {
			t.Errorf("colour %v: nothing is chosen", colour)
		}
	}
}
