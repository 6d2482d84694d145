package screen

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// searching are sweeps: ann's, whose lanes are jobs of the canned report, and others, one with 10,000
// trials and hundreds of lanes.
func searching() wire.Sweeps {
	now := controltest.Now
	goal := 0.93
	ann := wire.Sweep{
		Number: int64(controltest.Growing), Token: controltest.Sweep, Name: "resnet", User: "ann", UID: controltest.AnnUID, State: "running", Algorithm: "asha",
		Metric: "val_acc", Max: true, Goal: &goal, Trials: 200, Begun: 7, Running: 1, Paused: 3, Failed: 1, Done: 2, Parallel: 12, Wants: 12, GPUs: 2,
		Level: 1, Gap: 0.002, Counted: 5, Lanes: []wire.SweepLane{{JobID: int64(controltest.Growing), GPUs: 2, Trial: 7, Beside: []int{9, 12}}, {JobID: int64(controltest.Waiting)}},
		Levels: []wire.SweepLevel{{At: now.Add(-35 * time.Minute), Level: 1, Gap: 0.01, Counted: 3}, {At: now.Add(-5 * time.Minute), Level: 2}}, Began: now.Add(-78 * time.Minute),
	}
	for i, v := range []float64{0.31, 0.52, 0.7, 0.83, 0.88, 0.905, 0.912} {
		ann.Bests = append(ann.Bests, wire.SweepBest{At: now.Add(time.Duration(10*i-70) * time.Minute), Value: v, Trial: i + 1, Epoch: 12})
	}
	ann.Best = &ann.Bests[len(ann.Bests)-1]
	bob := wire.Sweep{
		Number: 300, Token: strings.Repeat("b", 32), Name: "speech\x1b[31m", User: "bob", UID: controltest.AnnUID + 1, State: "paused", Algorithm: "tpe", Metric: "loss",
		Trials: 10_000, Begun: 10_000, Paused: 9_321, Failed: 79, Done: 600, Parallel: 500, Bests: []wire.SweepBest{{At: now.Add(-3 * time.Hour), Value: 2.5, Trial: 4, Epoch: 1},
			{At: now.Add(-time.Hour), Value: -1.25e-7, Trial: 9_999, Epoch: 50}}, Began: now.Add(-4 * time.Hour), Level: 4, Counted: 600, Gap: 1e-9,
	}
	bob.Best = &bob.Bests[1]
	for i := range 500 {
		bob.Lanes = append(bob.Lanes, wire.SweepLane{JobID: int64(300 + i)})
	}
	return wire.Sweeps{At: now, Sweeps: []wire.Sweep{ann, bob,
		{Number: 900, Token: strings.Repeat("c", 32), Name: "new", User: "ann", UID: controltest.AnnUID, State: "waiting", Algorithm: "random", Metric: "acc", Trials: 50, Problem: "sweep.json: byte 7: bad"},
		{Number: 901, Token: strings.Repeat("d", 32), Name: "old", User: "ann", UID: controltest.AnnUID, State: "over", End: "goal", Algorithm: "grid", Metric: "acc", Max: true, Trials: 9, Begun: 9, Done: 9},
	}}
}

const trialsTable = "TRIAL  STATE    EPOCH  BEST   CURVE             PARAMETERS\n    7  running     12  0.912  ▁▃▅▆▇██           lr=0.001\n    3  paused       4  0.52   ▁▂▄               lr=0.1 \x1b[2J\n"

// TestSweepFrames: the list of sweeps and a sweep's screen on each size.
func TestSweepFrames(t *testing.T) {
	trials := RanMsg{Run: Run{For: "sweep", Seq: 2}, Output: trialsTable}
	checkFrames(t, canned(t), map[string][]any{
		"sweeps":        append(keys("4"), SweepsMsg{Sweeps: searching()}),
		"sweeps-none":   append(keys("4"), SweepsMsg{}),
		"sweeps-error":  append(keys("4"), SweepsMsg{Err: errors.New("sluiced has no GET /v1/sweeps")}),
		"sweep":         append([]any{SweepsMsg{Sweeps: searching()}}, keys("4 enter")...),
		"sweep-trials":  append(append([]any{SweepsMsg{Sweeps: searching()}}, keys("4 enter t")...), trials),
		"sweep-large":   append([]any{SweepsMsg{Sweeps: searching()}}, keys("4 down enter pgdown down")...),
		"sweep-problem": append([]any{SweepsMsg{Sweeps: searching()}}, keys("4 down down enter")...),
		"sweep-over":    append([]any{SweepsMsg{Sweeps: searching()}}, keys("4 down down down enter")...),
		"sweep-confirm": append([]any{SweepsMsg{Sweeps: searching()}}, keys("4 enter p")...),
	})
}

// TestSweepOrders: a key proposes the command, only y runs it, and only for an own sweep that is not
// over.
func TestSweepOrders(t *testing.T) {
	report := canned(t)
	for keysOf, want := range map[string][]string{
		"4 p y": {"--user=true", "sweep", "pause", "41"}, "4 u y": {"--user=true", "sweep", "resume", "41"}, "4 x y": {"--user=true", "sweep", "stop", "41"},
		"4 x n": nil, "4 x enter": nil, "4 down x y": nil, "4 down down down x y": nil, "4 down down enter x y": {"--user=true", "sweep", "stop", "900"},
		"4 enter enter h y": {"--user=true", "hold", "41"}, "4 enter enter u y": {"--user=true", "release", "41"}, "4 h y": nil, "p y": nil, "4 enter t p y": {"--user=true", "sweep", "pause", "41"},
	} {
		m := sent(begun(t, Options{Prefix: []string{"--user=true"}}, report, 100, 24), SweepsMsg{Sweeps: searching()})
		_, effects := effectsOf(m, keys(keysOf)...)
		var got []string
		for _, e := range effects {
			if run, is := e.(Run); is && run.For == "order" {
				got = run.Args
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", keysOf, got, want)
		}
	}
}

// TestSweepsAreAskedFor while they are shown, and the texts of a sweep of the caller's alone.
func TestSweepsAreAskedFor(t *testing.T) {
	m := begun(t, Options{}, canned(t), 80, 24)
	asked := func(effects []Effect) (n int) {
		for _, e := range effects {
			if _, is := e.(FetchSweeps); is {
				n++
			}
		}
		return n
	}
	at := controltest.Now.Add(time.Minute)
	m, effects := effectsOf(m, TickMsg(at))
	if asked(effects) != 0 {
		t.Errorf("asked for sweeps beside the jobs: %v", effects)
	}
	m, effects = effectsOf(m, keys("4")...)
	m, more := effectsOf(m, SweepsMsg{Sweeps: searching()}, TickMsg(at.Add(time.Second)), TickMsg(at.Add(6*time.Second)), TickMsg(at.Add(7*time.Second)))
	if asked(effects) != 1 || asked(more) != 1 {
		t.Errorf("%v, %v", effects, more)
	}
	m, effects = effectsOf(m, keys("enter t")...)
	if want := []Effect{Run{Args: []string{"sweep", "trials", "--best", "500", "--curves", "41"}, For: "sweep", Seq: 2}}; !reflect.DeepEqual(effects, want) {
		t.Errorf("%v, want %v", effects, want)
	}
	m = sent(m, RanMsg{Run: Run{For: "sweep", Seq: 1}, Output: "late"})
	if all := strings.Join(m.Frame(), "\n"); strings.Contains(all, "late") {
		t.Errorf("a late text is shown:\n%s", all)
	}
	m = sent(m, SweepsMsg{}, SweepsMsg{Err: errors.New("gone")})
	if all := strings.Join(m.Frame(), "\n"); !strings.Contains(all, "no longer known to sluiced") {
		t.Errorf("%s", all)
	}
	m = sent(m, append(keys("esc"), SweepsMsg{Sweeps: searching()})...)
	m, effects = effectsOf(m, keys("down enter e")...)
	if all := strings.Join(m.Frame(), "\n"); len(effects) != 0 || !strings.Contains(all, "in the folders of its user, bob") {
		t.Errorf("%v\n%s", effects, all)
	}
}

// TestSweepFilter: the filter's users, words and --me select sweeps, and the cursor follows its sweep.
func TestSweepFilter(t *testing.T) {
	for words, want := range map[string]string{"": "41 300 900 901", "m": "41 900 901", "/ -u space bob enter": "300", "/ speech enter": "300", "/ OVER enter": "901"} {
		m := sent(begun(t, Options{}, canned(t), 120, 24), SweepsMsg{Sweeps: searching()})
		m = sent(m, keys("4 "+words)...)
		var got []string
		for _, s := range m.found {
			got = append(got, numberOf(s))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %v, want %s", words, got, want)
		}
	}
	m := sent(begun(t, Options{}, canned(t), 120, 24), SweepsMsg{Sweeps: searching()})
	m = sent(m, keys("4 down down")...)
	fewer := searching()
	fewer.Sweeps = fewer.Sweeps[1:]
	m = sent(m, SweepsMsg{Sweeps: fewer})
	if s, _ := m.chosenSweep(); s.Number != 900 {
		t.Errorf("the cursor is on %d", s.Number)
	}
}

// TestPlots: whatever the values, a plot has its rows and columns.
func TestPlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		unicode := rapid.Bool().Draw(t, "unicode")
		columns, rows := rapid.IntRange(1, 40).Draw(t, "columns"), rapid.IntRange(1, 12).Draw(t, "rows")
		values := rapid.SliceOfN(rapid.SampledFrom([]float64{math.NaN(), 0, 1, -3.5, 1e308, -1e308, 7e-9}), 0, 100).Draw(t, "values")
		lines := plot(values, columns, rows, unicode)
		if len(lines) != rows {
			t.Fatalf("%d rows, want %d", len(lines), rows)
		}
		for _, l := range lines {
			if n := len([]rune(l)); n > columns {
				t.Fatalf("%d columns, want %d: %q", n, columns, l)
			}
		}
	})
	if got := plot([]float64{0, 0, 1, 1}, 2, 2, true); strings.Join(got, "|") != " ⡏|⣀⡇" {
		t.Errorf("%q", got)
	}
	if got := plot([]float64{0, 1}, 2, 2, false); strings.Join(got, "|") != " *|**" {
		t.Errorf("%q", got)
	}
}

// TestAnySizeOfASweep: on every size and with every key a frame of sweeps fits.
func TestAnySizeOfASweep(t *testing.T) {
	report := canned(t)
	rapid.Check(t, func(t *rapid.T) {
		m, err := New(Options{Unicode: rapid.Bool().Draw(t, "unicode")})
		if err != nil {
			t.Fatal(err)
		}
		m = sent(m, tea.WindowSizeMsg{Width: rapid.IntRange(1, 120).Draw(t, "width"), Height: rapid.IntRange(1, 40).Draw(t, "height")},
			ReportMsg{Report: report, At: controltest.Now}, SweepsMsg{Sweeps: searching()})
		m = sent(m, keys("4")...)
		for range rapid.IntRange(0, 12).Draw(t, "keys") {
			m = sent(m, keys(rapid.SampledFrom([]string{"up", "down", "pgdown", "end", "home", "enter", "esc", "tab", "t", "e", "s", "p", "n", "left", "right", "?"}).Draw(t, "key"))...)
			if rapid.IntRange(0, 3).Draw(t, "answer") == 0 {
				m = sent(m, RanMsg{Run: Run{For: "sweep", Seq: m.seq}, Output: strings.Repeat(trialsTable, 200)})
			}
			checkFrame(t, m)
		}
	})
}
