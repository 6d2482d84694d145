package offcycle_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/offcycle"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// sweepSite is the folders of one sweep with one lane, and a clock.
type sweepSite struct {
	t     *testing.T
	paths offcycle.SweepPaths
	sweep sweep.Sweep
	ask   sweep.Ask
	now   time.Time
	live  offcycle.Live
	said  []string
	s     *offcycle.Sweeps
}

var laneOfSweep = strings.Repeat("b", 32)

func newSweepSite(t *testing.T) *sweepSite {
	dir := t.TempDir()
	x := &sweepSite{t: t, now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC),
		paths: offcycle.SweepPaths{Jobs: dir + "/jobs", Outbox: dir + "/outbox", Record: dir + "/state/sweeps"},
		sweep: sweep.Sweep{Version: 1, Token: strings.Repeat("a", 32), Number: 7, Algorithm: "grid", Metric: sweep.Metric{Name: "acc", Max: true}, Trials: 4, Parallel: 1, MaxFailures: 2, Params: []string{"x=int:1:4"}},
	}
	x.live = offcycle.Live{Known: true, Lanes: []offcycle.LaneJob{{Sweep: x.sweep.Token, Lane: laneOfSweep, Owner: uint32(os.Geteuid()), SlurmUID: uint32(os.Geteuid()), Job: 7}}}
	for _, d := range []string{filepath.Join(x.folder(), sweep.LaneFolder, laneOfSweep), x.lane(), x.paths.Outbox} {
		x.must(os.MkdirAll(d, 0o755))
	}
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	x.asks()
	x.restart()
	return x
}

func (x *sweepSite) must(err error) {
	x.t.Helper()
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *sweepSite) folder() string { return filepath.Join(x.paths.Jobs, x.sweep.Token) }
func (x *sweepSite) lane() string   { return filepath.Join(x.paths.Jobs, laneOfSweep) }
func (x *sweepSite) record() string {
	return filepath.Join(x.paths.Record, x.sweep.Token+".jsonl")
}

func (x *sweepSite) put(name string, value any) {
	x.t.Helper()
	text, err := json.Marshal(value)
	x.must(err)
	x.must(os.WriteFile(name, text, 0o644))
}

func (x *sweepSite) asks() {
	x.ask = sweep.NewAsk(x.sweep.Token, 7, 0, x.now)
	x.put(filepath.Join(x.lane(), sweep.AskFile), x.ask)
}

func (x *sweepSite) writes(e sweep.Event) {
	text, err := json.Marshal(e)
	x.must(err)
	f, err := os.OpenFile(filepath.Join(x.lane(), sweep.EventFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	x.must(err)
	_, err = f.Write(append(text, '\n'))
	x.must(err)
	x.must(f.Close())
}

// restart is the start of a daemon that knows nothing but the files.
func (x *sweepSite) restart() {
	x.s = offcycle.NewSweeps(x.paths, func() offcycle.Live { return x.live }, func() time.Time { return x.now }, func(_ string, err error) { x.said = append(x.said, fmt.Sprint(err)) })
}

// look lets the keeper look once, when all sweeps are due.
func (x *sweepSite) look() {
	x.t.Helper()
	x.now = x.now.Add(500 * time.Millisecond)
	x.s.Look()
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Minute)
	defer stop()
	if !x.s.Settle(ctx) {
		x.t.Fatal("a step does not end")
	}
}

func (x *sweepSite) told() (sweep.Tell, bool) {
	x.t.Helper()
	data, err := os.ReadFile(filepath.Join(x.paths.Outbox, laneOfSweep, sweep.TellFile))
	if os.IsNotExist(err) {
		return sweep.Tell{}, false
	}
	x.must(err)
	tell, ok, err := x.ask.Open(data)
	x.must(err)
	return tell, ok
}

func (x *sweepSite) lines() int {
	data, _ := os.ReadFile(x.record()) // none yet
	return strings.Count(string(data), "\n")
}

// TestSweepsRestart: a daemon that restarts tells a lane the same, and records nothing twice; a record whose
// last line was cut off goes on after the line before.
func TestSweepsRestart(t *testing.T) {
	x := newSweepSite(t)
	x.look()
	first, ok := x.told()
	if !ok || first.Trial != 1 || first.Start != 1 || x.lines() != 1 {
		t.Fatalf("%+v, %v, %d lines", first, ok, x.lines())
	}
	x.must(os.RemoveAll(filepath.Join(x.paths.Outbox, laneOfSweep)))
	x.restart()
	x.look()
	if again, ok := x.told(); !ok || again.Point != first.Point || again.Trial != 1 || x.lines() != 1 {
		t.Errorf("%+v, %v, %d lines", again, ok, x.lines())
	}
	f, err := os.OpenFile(x.record(), os.O_APPEND|os.O_WRONLY, 0)
	x.must(err)
	_, err = f.WriteString(`{"tell":{"lane":"`)
	x.must(err)
	x.must(f.Close())
	x.restart()
	x.writes(sweep.Event{Kind: sweep.Began, Trial: 1, Start: 1, Ask: x.ask.ID, Point: first.Point})
	x.writes(sweep.Event{Kind: sweep.Reported, Trial: 1, Start: 1, Epoch: 1, Value: .5})
	x.writes(sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done})
	x.asks()
	x.look()
	if next, ok := x.told(); !ok || next.Trial != 2 || x.lines() != 2 || len(x.said) > 0 {
		t.Errorf("%+v, %v, %d lines, %q", next, ok, x.lines(), x.said)
	}
	if s := x.s.Standings()[x.sweep.Token]; s.Number != 7 || s.Trials != 1 || s.Wants != 1 {
		t.Errorf("%+v", s)
	}
}

// TestSweepsRecordLost: a daemon without its record tells nothing for 10 s, in which lanes take what they
// were told, and then goes on after the trials in the lanes' lines.
func TestSweepsRecordLost(t *testing.T) {
	x := newSweepSite(t)
	x.look()
	first, _ := x.told()
	x.writes(sweep.Event{Kind: sweep.Began, Trial: 1, Start: 1, Ask: x.ask.ID, Point: first.Point})
	x.writes(sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done})
	x.must(os.RemoveAll(x.paths.Record)) // the store, all of it
	x.must(os.RemoveAll(filepath.Join(x.paths.Outbox, laneOfSweep)))
	x.restart()
	x.asks()
	x.look()
	if tell, ok := x.told(); ok {
		t.Fatalf("told at once: %+v", tell)
	}
	x.now = x.now.Add(11 * time.Second)
	x.look()
	if tell, ok := x.told(); !ok || tell.Trial != 2 || tell.Point == first.Point {
		t.Errorf("%+v, %v", tell, ok)
	}
}

// TestSweepsHostile: links are not followed, and a sweep that cannot be read is reported once and harms
// nothing; it goes on once it can be read.
func TestSweepsHostile(t *testing.T) {
	x := newSweepSite(t)
	file := filepath.Join(x.folder(), sweep.File)
	good, err := os.ReadFile(file)
	x.must(err)
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	x.must(os.WriteFile(elsewhere, good, 0o644))
	bad := []func(){
		func() { x.must(os.Symlink(elsewhere, file)) },
		func() { x.must(os.WriteFile(file, []byte("{"), 0o644)) },
		func() {
			x.must(os.WriteFile(file, []byte(strings.Replace(string(good), `"trials":4`, `"trials":1000000`, 1)), 0o644))
		},
		func() {
			x.must(os.WriteFile(file, []byte(strings.Replace(string(good), "x=int:1:4", "x=int:4:1", 1)), 0o644))
		},
		func() {
			x.must(os.WriteFile(file, []byte(strings.Replace(string(good), strings.Repeat("a", 32), strings.Repeat("c", 32), 1)), 0o644))
		},
	}
	for i, make := range bad {
		x.must(os.Remove(file))
		make()
		x.said = nil
		x.look()
		x.look()
		if len(x.said) != 1 {
			t.Errorf("%d: said %q", i, x.said)
		}
		if _, ok := x.told(); ok {
			t.Fatalf("%d: a lane is told something", i)
		}
	}
	x.must(os.Remove(file))
	x.must(os.WriteFile(file, good, 0o644))
	ask := filepath.Join(x.lane(), sweep.AskFile)
	text, err := os.ReadFile(ask)
	x.must(err)
	x.must(os.WriteFile(elsewhere, text, 0o644))
	x.must(os.Remove(ask))
	x.must(os.Symlink(elsewhere, ask))
	x.look()
	if _, ok := x.told(); ok {
		t.Error("a link to an ask is followed")
	}
	x.must(os.Remove(ask))
	x.asks()
	x.look()
	if tell, ok := x.told(); !ok || tell.Trial != 1 {
		t.Errorf("%+v, %v", tell, ok)
	}
}

// TestSweepsUnknown: while Slurm does not answer nothing is decided.
func TestSweepsUnknown(t *testing.T) {
	x := newSweepSite(t)
	x.live.Known = false
	x.look()
	if _, ok := x.told(); ok {
		t.Error("told")
	}
}

// TestSweepsRecordLostAtOnce: a lane was told a trial, and the record was lost before the lane wrote that it
// began it: no other lane gets that trial.
func TestSweepsRecordLostAtOnce(t *testing.T) {
	x := newSweepSite(t)
	x.look()
	first, ok := x.told()
	if !ok {
		t.Fatal("a new sweep waits")
	}
	x.must(os.Remove(x.record()))
	x.restart()
	x.look()
	if x.lines() != 0 {
		t.Fatal("it decides at once, and another lane could get the trial that this one begins now")
	}
	x.writes(sweep.Event{Kind: sweep.Began, Trial: 1, Start: 1, Ask: x.ask.ID, Point: first.Point})
	x.now = x.now.Add(11 * time.Second)
	x.look()
	if tell, ok := x.told(); !ok || tell.Trial != 1 || tell.Stop {
		t.Errorf("%+v, %v", tell, ok)
	}
}

// TestSweepsRecordWholeAgain: what lanes began and the record lost is recorded again: a daemon that starts
// later waits for nothing, and tells the lane nothing else.
func TestSweepsRecordWholeAgain(t *testing.T) {
	x := newSweepSite(t)
	for n := 1; n <= 2; n++ {
		x.look()
		tell, ok := x.told()
		if !ok || tell.Trial != n {
			t.Fatalf("%+v", tell)
		}
		x.writes(sweep.Event{Kind: sweep.Began, Trial: n, Start: 1, Ask: x.ask.ID, Point: tell.Point})
		x.writes(sweep.Event{Kind: sweep.EndedAs, Trial: n, Start: 1, How: sweep.Done})
		x.asks()
	}
	x.must(os.Remove(x.record()))
	x.restart()
	x.look()
	x.now = x.now.Add(11 * time.Second)
	x.look()
	third, ok := x.told()
	if !ok || third.Trial != 3 || x.lines() != 3 {
		t.Fatalf("%+v, %v, %d lines", third, ok, x.lines())
	}
	x.restart()
	x.look()
	if tell, _ := x.told(); tell.Trial != 3 || x.lines() != 3 {
		t.Errorf("%+v, %d lines", tell, x.lines())
	}
	// An older copy of the record is put back.
	text, err := os.ReadFile(x.record())
	x.must(err)
	x.writes(sweep.Event{Kind: sweep.Began, Trial: 3, Start: 1, Ask: x.ask.ID, Point: third.Point})
	x.must(os.WriteFile(x.record(), text[:strings.Index(string(text), "\n")+1], 0o600))
	x.restart()
	x.look()
	if x.lines() != 1 {
		t.Errorf("with an older record it decides at once: %d lines", x.lines())
	}
	x.now = x.now.Add(11 * time.Second)
	x.look()
	if tell, _ := x.told(); tell.Trial != 3 || tell.Stop || x.lines() != 3 {
		t.Errorf("%+v, %d lines", tell, x.lines())
	}
}

// TestSweepsTooMuch: a lane's file that is too long is given up once, with its size, where its user sees it;
// and a sweep that its user stops ends all the same.
func TestSweepsTooMuch(t *testing.T) {
	x := newSweepSite(t)
	name := filepath.Join(x.lane(), sweep.EventFile)
	x.must(os.WriteFile(name, nil, 0o644))
	x.must(os.Truncate(name, 65<<20)) // zeros: no lines, and no blocks
	for range 66 {
		x.look()
	}
	if len(x.said) != 1 || !strings.Contains(x.said[0], "has 65.0 MiB of lines, of which 64 MiB are read") {
		t.Fatalf("said %q", x.said)
	}
	x.must(os.Truncate(name, 1)) // read again, it would be told at once
	x.look()
	if _, ok := x.told(); ok || len(x.said) != 1 {
		t.Errorf("it was read again: %q", x.said)
	}
	shown, err := os.ReadFile(filepath.Join(x.paths.Outbox, x.sweep.Token, sweep.File))
	if err != nil || !strings.Contains(string(shown), "65.0 MiB") {
		t.Errorf("shown: %s, %v", shown, err)
	}
	x.must(os.Truncate(name, 65<<20))
	x.sweep.State = sweep.Stopped
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	x.now = x.now.Add(11 * time.Second) // there was no record
	x.look()
	if tell, ok := x.told(); !ok || !tell.Over {
		t.Errorf("%+v, %v", tell, ok)
	}
}

// TestSweepsPrune: old records are removed, but not those of sweeps that have lanes, or are paused.
func TestSweepsPrune(t *testing.T) {
	x := newSweepSite(t)
	x.look()
	old := x.now.Add(-91 * 24 * time.Hour)
	other := strings.Repeat("e", 32)
	paused := x.sweep
	paused.Token, paused.State = strings.Repeat("d", 32), sweep.Paused
	x.must(os.MkdirAll(filepath.Join(x.paths.Jobs, paused.Token), 0o755))
	x.put(filepath.Join(x.paths.Jobs, paused.Token, sweep.File), paused)
	record := func(token string) string { return filepath.Join(x.paths.Record, token+".jsonl") }
	for _, token := range []string{other, paused.Token, x.sweep.Token} {
		if token != x.sweep.Token {
			x.must(os.WriteFile(record(token), []byte("{}\n"), 0o600))
		}
		x.must(os.Chtimes(record(token), old, old))
	}
	x.s.Prune(x.now)
	for token, want := range map[string]bool{other: false, paused.Token: true, x.sweep.Token: true} {
		if _, err := os.Stat(record(token)); (err == nil) != want {
			t.Errorf("%s: %v, is to stay: %v", token, err, want)
		}
	}
}

// TestSweepsOwnJobs: a job whose trial has ended is told to leave while another one of the sweep waits in
// Slurm, which has not begun and has no folder yet; without that one it is given what is left. What each job
// runs is in the standing.
func TestSweepsOwnJobs(t *testing.T) {
	for _, waits := range []bool{true, false} {
		x := newSweepSite(t)
		x.sweep.OwnJobs, x.sweep.Trials = true, 2
		x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
		if waits {
			x.live.Lanes = append(x.live.Lanes, offcycle.LaneJob{Sweep: x.sweep.Token, Lane: strings.Repeat("c", 32), Owner: uint32(os.Geteuid()), SlurmUID: uint32(os.Geteuid()), Job: 8, Waits: true})
		}
		x.look()
		first, _ := x.told()
		x.writes(sweep.Event{Kind: sweep.Began, Trial: 1, Start: 1, Ask: x.ask.ID, Point: first.Point})
		x.writes(sweep.Event{Kind: sweep.Reported, Trial: 1, Start: 1, Epoch: 3, Value: .5})
		x.writes(sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done})
		x.asks()
		x.look()
		next, ok := x.told()
		if !ok || next.Over != waits || next.Trial != map[bool]int{false: 2}[waits] {
			t.Errorf("another job waits: %v; it is told %+v, %v", waits, next, ok)
		}
		want := offcycle.LaneTrial{Trial: 2}
		if waits {
			want = offcycle.LaneTrial{Trial: 1, Epoch: 3, Value: .5, Known: true}
		}
		if got := x.s.Standings()[x.sweep.Token].Lanes[laneOfSweep]; !reflect.DeepEqual(got, want) {
			t.Errorf("the job runs %+v, want %+v", got, want)
		}
	}
}

// TestSweepsTooMuchAnswers: a searcher whose answers are too many is said to be, and a sweep that its user stops ends
// all the same.
func TestSweepsTooMuchAnswers(t *testing.T) {
	x := newSweepSite(t)
	x.sweep.Algorithm, x.sweep.Searcher = "ask", []string{"python3", "s.py"}
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	x.look() // a lane runs the program
	name := filepath.Join(x.folder(), sweep.SearcherFolder, sweep.Transcript(1))
	x.must(os.MkdirAll(filepath.Dir(name), 0o755))
	x.must(os.WriteFile(name, nil, 0o644))
	x.must(os.Truncate(name, 65<<20))
	x.look()
	shown, err := os.ReadFile(filepath.Join(x.paths.Outbox, x.sweep.Token, sweep.File))
	if err != nil || !strings.Contains(string(shown), "the answers of its searcher have 65.0 MiB of lines, of which 64 MiB are read") || len(x.said) != 1 {
		t.Errorf("shown: %s, %v; said %q", shown, err, x.said)
	}
	x.sweep.State = sweep.Stopped
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	x.look()
	if tell, ok := x.told(); !ok || !tell.Over {
		t.Errorf("%+v, %v", tell, ok)
	}
}

// TestSweepsOfAnotherUser: jobs of another user that name a sweep's token change nothing of it: not who its user is
// after a restart, nor which jobs are still to take its trials.
func TestSweepsOfAnotherUser(t *testing.T) {
	x := newSweepSite(t)
	x.sweep.OwnJobs, x.sweep.Trials = true, 2
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	own := x.live.Lanes
	for i := range 5 {
		x.live.Lanes = append([]offcycle.LaneJob{{Sweep: x.sweep.Token, Lane: fmt.Sprintf("%032x", i), Owner: uint32(os.Geteuid()) + 1, SlurmUID: uint32(os.Geteuid()) + 1, Job: int64(i), Waits: true}}, x.live.Lanes...)
	}
	x.look()
	first, ok := x.told()
	if shown := x.s.Shown()[x.sweep.Token]; !ok || first.Trial != 1 || shown.UID != uint32(os.Geteuid()) || shown.Problem != "" {
		t.Fatalf("%+v, %v, shown %+v, said %q", first, ok, shown, x.said)
	}
	x.writes(sweep.Event{Kind: sweep.Began, Trial: 1, Start: 1, Ask: x.ask.ID, Point: first.Point})
	x.writes(sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done})
	x.asks()
	x.look()
	if last, ok := x.told(); !ok || last.Trial != 2 {
		t.Errorf("the last trial: %+v, %v", last, ok)
	}
	x.live.Lanes = own
	for range 2 { // the others' are forgotten
		x.now = x.now.Add(11 * time.Minute)
		x.look()
	}
	if _, err := os.Stat(filepath.Join(x.paths.Outbox, x.sweep.Token)); err != nil {
		t.Errorf("what is written for its user went with the others' jobs: %v", err)
	}
}

// TestSweepsRecordIsBounded: what one sweep can make sluiced record is bounded, its user sees why nothing more is
// decided (a daemon that starts reads the record all the same), and it can still be stopped.
func TestSweepsRecordIsBounded(t *testing.T) {
	const most = 64 << 20
	x := newSweepSite(t)
	x.must(os.MkdirAll(x.paths.Record, 0o700))
	line := []byte(fmt.Sprintf(`{"at":"2026-11-28T12:00:00Z","leave":{"lane":"x","ask":"%s"}}`+"\n", strings.Repeat("a", 60<<10)))
	text := bytes.Repeat(line, (most-600)/len(line))
	last := fmt.Sprintf(`{"at":"2026-11-28T12:00:00Z","leave":{"lane":"x","ask":"%s"}}`+"\n", strings.Repeat("a", most-600-len(text)-len(line)+60<<10))
	x.must(os.WriteFile(x.record(), append(text, last...), 0o600))
	lines := x.lines()
	for range 3 {
		x.look()
	}
	shown, err := os.ReadFile(filepath.Join(x.paths.Outbox, x.sweep.Token, sweep.File))
	if err != nil || !strings.Contains(string(shown), "its record has 64.0 MiB") || len(x.said) != 1 || x.lines() != lines {
		t.Fatalf("shown %s, %v; said %q; %d lines of %d", shown, err, x.said, x.lines(), lines)
	}
	x.sweep.State = sweep.Stopped
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	x.look()
	if tell, ok := x.told(); !ok || !tell.Over {
		t.Errorf("%+v, %v", tell, ok)
	}
	for range 8 {
		x.asks()
		x.look()
	}
	if info, err := os.Stat(x.record()); err != nil || info.Size() > most || info.Size() < most-600 {
		t.Errorf("%v, %v", info, err)
	}
}

// TestSweepsTurnIsNew: a lane that begins to ask a program does so in a turn that none was, also where the record is an
// older one: nothing that an earlier turn left is taken for its answers.
func TestSweepsTurnIsNew(t *testing.T) {
	x := newSweepSite(t)
	x.sweep.Algorithm, x.sweep.Searcher = "ask", []string{"python3", "s.py"}
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	x.look()
	name := filepath.Join(x.folder(), sweep.SearcherFolder, sweep.Transcript(5))
	x.must(os.MkdirAll(filepath.Dir(name), 0o755))
	x.must(os.WriteFile(name, nil, 0o644))
	x.must(os.WriteFile(filepath.Join(filepath.Dir(name), sweep.Transcript(math.MaxInt)), nil, 0o644)) // none could follow it
	x.ask = sweep.NewAsk(x.sweep.Token, 7, 1, x.now)
	x.put(filepath.Join(x.lane(), sweep.AskFile), x.ask)
	x.look()
	shown, err := os.ReadFile(filepath.Join(x.paths.Outbox, x.sweep.Token, sweep.File))
	if err != nil || !strings.Contains(string(shown), `"turn":6`) {
		t.Errorf("shown: %s, %v", shown, err)
	}
}

// TestSweepsLaneTrialsAsRead: while the lines of lanes are still being read after a restart, what each lane runs is
// that of what was read last.
func TestSweepsLaneTrialsAsRead(t *testing.T) {
	x := newSweepSite(t)
	x.look()
	first, _ := x.told()
	x.writes(sweep.Event{Kind: sweep.Began, Trial: 1, Start: 1, Ask: x.ask.ID, Point: first.Point})
	for e := range 300 {
		x.writes(sweep.Event{Kind: sweep.Reported, Trial: 1, Start: 1, Epoch: float64(e + 1), Ask: strings.Repeat("a", 10<<10)})
	}
	x.restart()
	last := 0.
	for range 3 {
		x.look()
		epoch := x.s.Standings()[x.sweep.Token].Lanes[laneOfSweep].Epoch
		if epoch <= last {
			t.Errorf("epoch %g after %g", epoch, last)
		}
		last = epoch
	}
	if last != 300 {
		t.Errorf("epoch %g in the end", last)
	}
}
