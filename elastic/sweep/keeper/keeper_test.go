package keeper

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func planOf(t interface{ Fatal(...any) }, change func(*sweep.Sweep)) Plan {
	s := sweep.Sweep{
		Version: 1, Token: strings.Repeat("a", 32), Algorithm: "asha", Seed: 7, Metric: sweep.Metric{Name: "acc", Max: true}, Trials: 12, Parallel: 3,
		Epochs: 9, MaxFailures: 4, KeepGB: 1, Params: []string{"lr=log:1e-5:1e-1", "depth=int:2:8"},
	}
	change(&s)
	p, err := NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// world is lanes that run trials, and a daemon that may be killed at any point.
type world struct {
	t       *rapid.T
	plan    Plan
	record  []string            // lines that are durable
	lines   map[string][]string // of lanes, that are durable
	asks    map[string]sweep.Ask
	alive   map[string]bool // the lane runs
	gone    map[string]bool // as Slurm says
	tells   map[string]sweep.Tell
	runs    map[string]*running
	serial  int
	book    *book.Book // of the daemon that runs now; nil = it was killed
	read    map[string]int
	told    map[string]string // trial.start -> lane
	started map[string]int    // trial.start -> times it was begun
	answers int               // of the program that is asked for points
	turns   []book.Leading    // that were recorded
	ended   map[int]int       // trial -> times it was done or failed
	named   []string          // the lanes
}

type running struct {
	tell  sweep.Tell
	epoch float64
}

const lanes = 3

func newWorld(t *rapid.T, p Plan) *world {
	return &world{t: t, plan: p, lines: map[string][]string{}, asks: map[string]sweep.Ask{}, alive: map[string]bool{}, gone: map[string]bool{},
		tells: map[string]sweep.Tell{}, runs: map[string]*running{}, told: map[string]string{}, started: map[string]int{}, ended: map[int]int{}, named: []string{token(0), token(1), token(2)}}
}

func token(i int) string { return fmt.Sprintf("%032x", i+1) }

func (w *world) add(lane string, e sweep.Event) {
	e.At = noon.Add(time.Duration(w.serial) * time.Second)
	line, err := json.Marshal(e)
	if err != nil {
		w.t.Fatal(err)
	}
	w.lines[lane] = append(w.lines[lane], string(line))
}

// restart reads the record and the lines anew, as a daemon that was killed.
func (w *world) restart() {
	w.book, w.read = book.New(), map[string]int{}
	for _, line := range w.record {
		var e book.Entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			w.t.Fatal(err)
		}
		w.book.Apply(e)
	}
}

// look is one step of the daemon; kill ends it after so many effects.
func (w *world) look(kill int) {
	if w.book == nil {
		w.restart()
	}
	seen := Seen{Idle: rapid.Bool().Draw(w.t, "idle")}
	for i := range lanes {
		name := w.named[i]
		l := Lane{Token: name, Job: int64(i + 1), Gone: w.gone[name]}
		l.Ask, l.Asks = w.asks[name]
		for _, line := range w.lines[name][w.read[name]:] {
			e, err := sweep.ParseEvent([]byte(line))
			if err != nil {
				w.t.Fatal(err)
			}
			w.book.Take(name, e)
		}
		w.read[name] = len(w.lines[name])
		seen.Lanes = append(seen.Lanes, l)
	}
	if w.plan.Asks {
		w.answers += rapid.IntRange(0, 2).Draw(w.t, "answers")
		seen.Points, seen.Turn = map[int]string{}, len(w.turns)
		for n := 1; n <= w.answers; n++ {
			seen.Points[n] = fmt.Sprintf("lr=0.01,depth=%d", n)
		}
	}
	w.serial++
	for _, e := range w.book.Found() {
		line, err := json.Marshal(e)
		if err != nil {
			w.t.Fatal(err)
		}
		w.record = append(w.record, string(line))
	}
	for _, e := range Step(w.book, w.plan, seen, noon.Add(time.Duration(w.serial)*time.Second)) {
		if kill--; kill == 0 {
			w.book = nil
			return
		}
		line, err := json.Marshal(e)
		if err != nil {
			w.t.Fatal(err)
		}
		w.record = append(w.record, string(line))
		if e.Leads != nil {
			if w.gone[e.Leads.Lane] || len(w.turns) > 0 && e.Leads.Turn <= w.turns[len(w.turns)-1].Turn {
				w.t.Fatalf("%+v leads after %+v", *e.Leads, w.turns)
			}
			w.turns = append(w.turns, *e.Leads)
		}
		if e.Tell != nil {
			key := fmt.Sprint(e.Tell.Trial, ".", e.Tell.Start)
			if other, twice := w.told[key]; twice {
				w.t.Fatalf("start %s was told to %s and to %s", key, other, e.Tell.Lane)
			}
			w.told[key] = e.Tell.Lane
		}
	}
	for _, l := range seen.Lanes {
		if kill--; kill == 0 {
			w.book = nil
			return
		}
		if tell, ok := w.book.Teller(w.plan.Sweep).Told(l.Token, l.Ask.ID); l.Asks && ok {
			w.tells[l.Ask.ID] = tell
		}
	}
}

// step lets a lane do one thing.
func (w *world) step(name string) {
	w.serial++
	run, ask := w.runs[name], w.asks[name]
	switch {
	case !w.alive[name]:
		w.alive[name], w.gone[name] = true, false
		delete(w.runs, name)
		w.ask(name)
	case run == nil:
		tell, ok := w.tells[ask.ID]
		if !ok || tell.Over || tell.Trial == 0 {
			return
		}
		key := fmt.Sprint(tell.Trial, ".", tell.Start)
		if w.started[key]++; w.started[key] > 1 {
			w.t.Fatalf("start %s ran twice", key)
		}
		for other, r := range w.runs {
			if r.tell.Trial == tell.Trial && w.alive[other] {
				w.t.Fatalf("trial %d runs in two lanes", tell.Trial)
			}
		}
		w.add(name, sweep.Event{Kind: sweep.Began, Trial: tell.Trial, Start: tell.Start, Ask: ask.ID, Point: tell.Point, Repeat: tell.Repeat, Extra: tell.Extra, Origin: tell.Origin})
		w.runs[name] = &running{tell: tell, epoch: float64(tell.Start - 1)}
		if tell.From > 0 {
			w.runs[name].epoch += float64(tell.FromEpoch)
			w.add(name, sweep.Event{Kind: sweep.Copied, Trial: tell.Trial, Start: tell.Start, Origin: sweep.Origin{From: tell.From}, Epoch: float64(tell.FromEpoch)})
		}
	case w.tells[ask.ID].Stop:
		w.over(name, sweep.Event{How: sweep.Yielded, Lost: w.tells[ask.ID].Lost})
	case run.epoch >= w.plan.Sweep.Epochs:
		w.over(name, sweep.Event{How: sweep.Done})
	case rapid.IntRange(0, 19).Draw(w.t, "fails") == 0:
		w.over(name, sweep.Event{How: sweep.Failed, Words: "exit code 1", Node: rapid.Bool().Draw(w.t, "node")})
	default:
		run.epoch++
		value := float64(run.tell.Trial%7)/10 + run.epoch/100
		w.add(name, sweep.Event{Kind: sweep.Reported, Trial: run.tell.Trial, Start: run.tell.Start, Epoch: run.epoch, Value: value})
	}
}

func (w *world) ask(name string) {
	w.serial++
	w.asks[name] = sweep.Ask{Version: 1, Sweep: w.plan.Sweep.Token, Job: 1, ID: fmt.Sprint("ask", w.serial)}
}

func (w *world) over(name string, e sweep.Event) {
	run := w.runs[name]
	e.Kind, e.Trial, e.Start = sweep.EndedAs, run.tell.Trial, run.tell.Start
	w.add(name, e)
	delete(w.runs, name)
	if e.How == sweep.Done || e.How == sweep.Failed && !e.Node {
		if w.ended[e.Trial]++; w.ended[e.Trial] > 1 {
			w.t.Fatalf("trial %d ended twice", e.Trial)
		}
	}
	w.ask(name)
}

// TestKills: whenever the daemon or a lane is killed, no trial is lost, no start of one is told or run
// twice, none runs in two lanes at once, and the sweep comes to its end.
func TestKills(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		algorithm := rapid.SampledFrom([]string{"asha", "random", "sobol", "pbt", "ask", "asha+ask"}).Draw(t, "algorithm")
		repeats := rapid.SampledFrom([]int{0, 0, 2, 3}).Draw(t, "repeats")
		p := planOf(t, func(s *sweep.Sweep) {
			s.Algorithm, s.MaxFailures, s.Repeats = algorithm, 12, repeats
			switch algorithm {
			case "pbt":
				s.Members, s.Repeats = 4, 0
			case "ask", "asha+ask":
				s.Repeats = 0
			}
		})
		w := newWorld(t, p)
		for range rapid.IntRange(0, 120).Draw(t, "moves") {
			name := token(rapid.IntRange(0, lanes-1).Draw(t, "lane"))
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0: // the lane is stopped, with a word or without
				if run := w.runs[name]; run != nil && w.alive[name] && rapid.Bool().Draw(t, "saves") {
					w.add(name, sweep.Event{Kind: sweep.EndedAs, Trial: run.tell.Trial, Start: run.tell.Start, How: sweep.Saved})
				}
				w.alive[name] = false
				delete(w.runs, name)
				w.gone[name] = rapid.Bool().Draw(t, "gone")
			case 1:
				w.look(rapid.IntRange(1, 6).Draw(t, "killed after"))
			case 2:
				w.book = nil
			case 3, 4:
				w.look(0)
			default:
				w.step(name)
			}
		}
		w.finish()
	})
}

// finish lets the lanes run to the end of the sweep; nothing is killed any more.
func (w *world) finish() {
	for n := 0; ; n++ {
		w.look(0)
		idle := true
		for i := range lanes {
			w.step(w.named[i])
			idle = idle && w.runs[w.named[i]] == nil
		}
		if w.book.Over != book.NotOver && idle {
			w.look(0)
			break
		}
		if n > 5000 {
			w.t.Fatalf("the sweep does not end: %d trials, %d run, %d wait", len(w.book.Trials), w.book.Count(book.Running), w.book.Count(book.Waiting))
		}
	}
	w.check()
}

func (w *world) check() {
	if w.book.Over != book.AllTried && w.book.Over != book.TooMany && (w.book.Over != book.AllEnded || w.plan.Sweep.Members == 0) {
		w.t.Fatalf("over because of %q", w.book.Over)
	}
	replaced := map[int]bool{}
	for _, trial := range w.book.Trials {
		if trial.Replaces > 0 && (replaced[trial.Replaces] || trial.Replaces >= trial.Number) {
			w.t.Fatalf("trial %d is replaced twice, or before it was there", trial.Replaces)
		}
		replaced[trial.Replaces] = true
	}
	if w.book.Over == book.AllEnded && len(w.book.Trials) < w.plan.Sweep.Trials && len(w.book.Unreplaced()) > 0 {
		w.t.Fatalf("trial %d has no place any more", w.book.Unreplaced()[0].Number)
	}
	points := map[string]bool{}
	for _, trial := range w.book.Trials {
		if trial.State == book.Running || trial.State == book.Waiting || trial.Point == "" || points[fmt.Sprint(trial.Point, trial.Repeat)] && w.plan.Sweep.Members == 0 {
			w.t.Fatalf("trial %d: %s, %q", trial.Number, trial.State, trial.Point)
		}
		points[fmt.Sprint(trial.Point, trial.Repeat)] = true
		if want := fmt.Sprintf("lr=0.01,depth=%d", trial.Number); w.plan.Asks && trial.Point != want {
			w.t.Fatalf("trial %d has %s, and the answer was %s", trial.Number, trial.Point, want)
		}
	}
	if w.book.Over == book.AllTried && len(w.book.Trials) != w.plan.Sweep.Trials {
		w.t.Fatalf("%d trials", len(w.book.Trials))
	}
	// What a daemon reads that starts now is what this one knows.
	live := w.book
	w.restart()
	for name, lines := range w.lines {
		for _, line := range lines {
			e, _ := sweep.ParseEvent([]byte(line))
			w.book.Take(name, e)
		}
	}
	for i, trial := range live.Trials {
		again := w.book.Trials[i]
		if again.State != trial.State || again.Point != trial.Point || again.Start != trial.Start || len(again.Curve) != len(trial.Curve) {
			w.t.Fatalf("trial %d was %+v, and is %+v after a restart", i+1, trial, again)
		}
	}
}

// TestRecordLost: a daemon without its record finds the trials in the lines of the lanes, and the sweep goes
// on from there, through further restarts, as if nothing had been lost.
func TestRecordLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, planOf(t, func(s *sweep.Sweep) { s.Algorithm = rapid.SampledFrom([]string{"random", "ask"}).Draw(t, "algorithm") }))
		for range rapid.IntRange(1, 60).Draw(t, "moves") {
			w.step(token(rapid.IntRange(0, lanes-1).Draw(t, "lane")))
			w.look(0)
		}
		for i := range lanes { // each lane takes what it was told: sluiced waits for that
			if name := token(i); w.alive[name] && w.runs[name] == nil {
				w.step(name)
			}
		}
		w.look(0)
		before := w.book
		w.record, w.told, w.book = nil, map[string]string{}, nil
		w.look(0)
		for i, trial := range w.book.Trials {
			if i >= len(before.Trials) {
				break
			}
			if old := before.Trials[i]; old.Point != trial.Point || old.State != trial.State || len(old.Curve) != len(trial.Curve) {
				t.Fatalf("trial %d was %+v and is %+v", i+1, old, trial)
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "restarts") { // with what was recorded since
			w.step(token(rapid.IntRange(0, lanes-1).Draw(t, "lane")))
			w.book = nil
			w.look(0)
		}
		w.finish()
	})
}

// TestNoMorePoints: a sweep whose program has no more points is over once its trials are, and stays so.
func TestNoMorePoints(t *testing.T) {
	p := planOf(t, func(s *sweep.Sweep) { s.Algorithm = "ask" })
	b := book.New()
	for i := range 4 {
		seen := Seen{Lanes: []Lane{{Token: token(0), Job: 1, Asks: true, Ask: sweep.Ask{ID: fmt.Sprint("ask", i)}}}, Points: map[int]string{1: "lr=0.01,depth=3"}, None: true}
		Step(b, p, seen, noon)
		b.Take(token(0), sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done})
	}
	if b.Over != book.Exhausted {
		t.Errorf("over: %q", b.Over)
	}
}

// TestSameSuggestions: the same seed and reports give the same points, wherever the daemon was killed.
func TestSameSuggestions(t *testing.T) {
	points := func(kill int) (out []string) {
		p := planOf(t, func(s *sweep.Sweep) { s.Trials, s.Algorithm = 6, "sobol" })
		b, record, n := book.New(), []book.Entry{}, 0
		for i := 1; i <= 6; i++ {
			if i == kill {
				b = book.New()
				for _, e := range record {
					b.Apply(e)
				}
			}
			ask := sweep.Ask{ID: fmt.Sprint("ask", i)}
			entries := Step(b, p, Seen{Lanes: []Lane{{Token: token(0), Job: 1, Asks: true, Ask: ask}}}, noon)
			record = append(record, entries...)
			for _, e := range entries {
				if e.Tell != nil {
					n++
					out = append(out, e.Tell.Point)
					b.Take(token(0), sweep.Event{Kind: sweep.EndedAs, Trial: n, Start: 1, How: sweep.Done})
				}
			}
			if i == kill-1 { // the end is in the lane's lines only
				continue
			}
		}
		return out
	}
	want := points(0)
	if len(want) != 6 {
		t.Fatal(want)
	}
	for kill := 2; kill <= 6; kill++ {
		if got := points(kill); len(got) > 0 && !slices.Equal(got[:kill-1], want[:kill-1]) {
			t.Errorf("killed before %d: %v, want %v", kill, got, want)
		}
	}
}

// TestReturns: a trial that lost goes on before new ones once trials after it were worse, from the run
// after its last, and is not said to have lost any more.
func TestReturns(t *testing.T) {
	p := planOf(t, func(s *sweep.Sweep) { s.Trials, s.Algorithm, s.Epochs = 9, "asha+sobol", 8 })
	b := book.New()
	tell := func(id string) sweep.Tell {
		Step(b, p, Seen{Lanes: []Lane{{Token: token(0), Job: 1, Asks: true, Ask: sweep.Ask{ID: id}}}}, noon)
		told, ok := b.Teller(p.Sweep).Told(token(0), id)
		if !ok {
			t.Fatalf("%s has no answer", id)
		}
		return told
	}
	pause := func(id string, value float64) sweep.Tell { // the trial reports an epoch and is paused, or goes on to its end
		now := tell(id)
		b.Take(token(0), sweep.Event{Kind: sweep.Reported, Trial: now.Trial, Start: now.Start, Epoch: 1, Value: value})
		now = tell(id)
		how := sweep.Done
		if now.Stop {
			how = sweep.Yielded
		}
		b.Take(token(0), sweep.Event{Kind: sweep.EndedAs, Trial: now.Trial, Start: now.Start, How: how, Lost: now.Lost})
		return now
	}
	pause("a", .9)
	lost := pause("b", .5)
	if !lost.Stop || b.Trial(2).State != book.Paused {
		t.Fatalf("the second of two: %+v, %v", lost, b.Trial(2).State)
	}
	for i, id := range []string{"c", "d"} {
		if worse := pause(id, .1); worse.Trial != 3+i {
			t.Fatalf("%s runs trial %d", id, worse.Trial)
		}
	}
	if again := tell("e"); again.Trial != 2 || again.Start != 2 || again.Stop || again.Extra {
		t.Errorf("the second of four: %+v", again)
	}
}

// TestTriesAreTheSpace: a sweep may try all points of its space by name.
func TestTriesAreTheSpace(t *testing.T) {
	planOf(t, func(s *sweep.Sweep) {
		s.Params, s.Tries, s.Trials = []string{"opt=choice:sgd,adamw"}, []string{"opt=sgd", "opt=adamw"}, 2
	})
}

// TestEnds: a sweep is over at its goal, after its time, after too many failures, and when its user ends
// it; and goes on when it is extended.
func TestEnds(t *testing.T) {
	goal := 0.5
	for name, c := range map[string]struct {
		change func(*sweep.Sweep)
		events []sweep.Event
		after  time.Duration
		want   book.End
	}{
		"goal":     {func(s *sweep.Sweep) { s.Goal = &goal }, []sweep.Event{{Kind: sweep.Reported, Trial: 1, Start: 1, Epoch: 1, Value: .5}}, 0, book.AtGoal},
		"near":     {func(s *sweep.Sweep) { s.Goal = &goal }, []sweep.Event{{Kind: sweep.Reported, Trial: 1, Start: 1, Epoch: 1, Value: .49}}, 0, book.NotOver},
		"time":     {func(s *sweep.Sweep) { s.Within = time.Hour }, nil, time.Hour, book.TooLong},
		"failures": {func(s *sweep.Sweep) { s.MaxFailures = 1 }, []sweep.Event{{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Failed, Words: "x"}}, 0, book.TooMany},
		"node":     {func(s *sweep.Sweep) { s.MaxFailures = 1 }, []sweep.Event{{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Failed, Node: true}}, 0, book.NotOver},
		"user":     {func(s *sweep.Sweep) { s.State = sweep.Stopped }, nil, 0, book.ByUser},
	} {
		b := book.New()
		first := planOf(t, func(*sweep.Sweep) {})
		seen := Seen{Lanes: []Lane{{Token: token(0), Job: 1, Asks: true, Ask: sweep.Ask{ID: "first"}}}}
		Step(b, first, seen, noon)
		for _, e := range c.events {
			b.Take(token(0), e)
		}
		Step(b, planOf(t, c.change), seen, noon.Add(c.after))
		if b.Over != c.want {
			t.Errorf("%s: %q, want %q", name, b.Over, c.want)
		}
	}
	long := book.New()
	hour := func(within time.Duration) Plan { return planOf(t, func(s *sweep.Sweep) { s.Within = within }) }
	asks := Seen{Lanes: []Lane{{Token: token(0), Job: 1, Asks: true, Ask: sweep.Ask{ID: "first"}}}}
	Step(long, hour(time.Hour), asks, noon)
	Step(long, hour(time.Hour), asks, noon.Add(time.Hour))
	if Step(long, hour(2*time.Hour), asks, noon.Add(time.Hour)); long.Over != book.NotOver {
		t.Errorf("with more time: %q", long.Over)
	}
	b := book.New()
	one := planOf(t, func(s *sweep.Sweep) { s.Trials = 1 })
	ask := func(id string) Seen {
		return Seen{Lanes: []Lane{{Token: token(0), Job: 1, Asks: true, Ask: sweep.Ask{ID: id}}}}
	}
	Step(b, one, ask("a"), noon)
	b.Take(token(0), sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done})
	Step(b, one, ask("b"), noon)
	if tell, _ := b.Teller(one.Sweep).Told(token(0), "b"); b.Over != book.AllTried || !tell.Over || tell.End != "trials" {
		t.Fatalf("%q, %+v", b.Over, tell)
	}
	two := planOf(t, func(s *sweep.Sweep) { s.Trials = 2 })
	Step(b, two, ask("c"), noon)
	if tell, _ := b.Teller(two.Sweep).Told(token(0), "c"); tell.Trial != 2 {
		t.Errorf("extended: %+v", tell)
	}
}

// TestRepeatsLoseTogether: asha compares points by the mean of their repeats, once all of them reached the
// rung, and pauses all repeats of one that lost; the goal is the mean's.
func TestRepeatsLoseTogether(t *testing.T) {
	goal := .7
	p := planOf(t, func(s *sweep.Sweep) { s.Trials, s.Repeats, s.Rungs, s.Goal = 4, 2, []int{1}, &goal })
	b := book.New()
	seen := Seen{}
	for i := range 4 {
		seen.Lanes = append(seen.Lanes, Lane{Token: token(i), Job: int64(i + 1), Asks: true, Ask: sweep.Ask{ID: fmt.Sprint("ask", i)}})
	}
	Step(b, p, seen, noon)
	if b.Trial(1).Point != b.Trial(2).Point || b.Trial(2).Repeat != 1 || b.Trial(2).Point == b.Trial(3).Point {
		t.Fatalf("%+v %+v", b.Trial(1), b.Trial(2))
	}
	report := func(n int, value float64) {
		b.Take(token(n-1), sweep.Event{Kind: sweep.Reported, Trial: n, Start: 1, Epoch: 1, Value: value})
		if Step(b, p, seen, noon); b.Over != book.NotOver {
			t.Fatalf("over because of trial %d alone: %q", n, b.Over)
		}
	}
	report(1, .9) // the best of all, and above the goal
	report(3, .5)
	report(4, .5)
	for n := 1; n <= 4; n++ {
		if b.Trial(n).Rung > 0 || b.Over != book.NotOver {
			t.Fatalf("trial %d lost before all repeats reported: %+v, %q", n, b.Trial(n), b.Over)
		}
	}
	report(2, .0)
	for n := 1; n <= 4; n++ {
		if lost := b.Trial(n).Rung > 0; lost != (n <= 2) {
			t.Errorf("trial %d lost: %v", n, lost)
		}
	}
}

// TestBack: a trial goes back when its lane's job is over, or when the lane asks for another one without
// having said how it ended; while the lane runs it stays, and a step that is repeated decides nothing.
func TestBack(t *testing.T) {
	p := planOf(t, func(s *sweep.Sweep) { s.Algorithm = "random" })
	for name, c := range map[string]struct {
		lane  Lane
		trial int
	}{
		"it runs":    {Lane{Token: token(0), Job: 1, Asks: true, Ask: sweep.Ask{ID: "first"}}, 0},
		"it is gone": {Lane{Token: token(0), Job: 1, Gone: true, Asks: true, Ask: sweep.Ask{ID: "first"}}, 1},
		"asks anew":  {Lane{Token: token(0), Job: 1, Asks: true, Ask: sweep.Ask{ID: "second"}}, 1},
	} {
		b := book.New()
		first := Lane{Token: token(0), Job: 1, Asks: true, Ask: sweep.Ask{ID: "first"}}
		if n := len(Step(b, p, Seen{Lanes: []Lane{first}}, noon)); n != 1 {
			t.Fatalf("%d entries", n)
		}
		if again := Step(b, p, Seen{Lanes: []Lane{first}}, noon); len(again) > 0 {
			t.Fatalf("repeated: %+v", again)
		}
		back := 0
		for _, e := range Step(b, p, Seen{Lanes: []Lane{c.lane}}, noon) {
			if e.Back != nil {
				back = e.Back.Trial
			}
		}
		if back != c.trial {
			t.Errorf("%s: trial %d goes back, want %d", name, back, c.trial)
		}
	}
}

// TestNoPlaceLeft: a member that falls behind goes on where no trial is left to take its place; where one
// is, it is paused, and the trial that goes on from a leading one says from where.
func TestNoPlaceLeft(t *testing.T) {
	for trials, want := range map[int]int{4: 0, 5: 1} {
		p := planOf(t, func(s *sweep.Sweep) { s.Algorithm, s.Members, s.Trials, s.Epochs = "pbt", 4, trials, 26 })
		b := book.New()
		seen := Seen{Idle: true}
		for i := range 4 {
			seen.Lanes = append(seen.Lanes, Lane{Token: token(i), Job: int64(i + 1), Asks: true, Ask: sweep.Ask{ID: fmt.Sprint("ask", i)}})
		}
		Step(b, p, seen, noon)
		for i := range 4 {
			b.Take(token(i), sweep.Event{Kind: sweep.Reported, Trial: i + 1, Start: 1, Epoch: 2, Value: float64(i)})
		}
		Step(b, p, seen, noon)
		lost := 0
		for _, trial := range b.Trials {
			if trial.Rung > 0 {
				lost++
			}
		}
		if lost != want {
			t.Fatalf("of %d trials %d lost, want %d", trials, lost, want)
		}
		if want == 0 {
			continue
		}
		b.Take(token(0), sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Yielded, Lost: b.Trial(1).Lost})
		seen.Lanes[0].Ask.ID = "again"
		Step(b, p, seen, noon)
		if next := b.Trial(5); next == nil || next.Replaces != 1 || next.From != 4 || next.FromEpoch != 2 || b.Trial(1).State != book.Paused {
			t.Errorf("%+v", next)
		}
		if tell, _ := b.Teller(p.Sweep).Told(token(0), "again"); tell.From != 4 || tell.FromEpoch != 2 {
			t.Errorf("told %+v", tell)
		}
	}
}

// TestRepeatsReturnTogether: all repeats of a point that comes back go on, or its mean would be that of one that went
// to its end and one that did not.
func TestRepeatsReturnTogether(t *testing.T) {
	p := planOf(t, func(s *sweep.Sweep) { s.Trials, s.Repeats, s.Rungs, s.Algorithm = 20, 2, []int{1}, "asha+sobol" })
	b := book.New()
	asks := 0
	tell := func(n int) (out []sweep.Tell) { // lanes ask at once
		seen := Seen{}
		for i := range n {
			asks++
			seen.Lanes = append(seen.Lanes, Lane{Token: token(i), Job: int64(i + 1), Asks: true, Ask: sweep.Ask{ID: fmt.Sprint("ask", asks)}})
		}
		Step(b, p, seen, noon)
		for _, l := range seen.Lanes {
			told, _ := b.Teller(p.Sweep).Told(l.Token, l.Ask.ID)
			out = append(out, told)
		}
		return out
	}
	for point, value := range []float64{.9, .5, .1, .1} {
		now := tell(2)
		for i, told := range now {
			b.Take(token(i), sweep.Event{Kind: sweep.Reported, Trial: told.Trial, Start: told.Start, Epoch: 1, Value: value})
		}
		Step(b, p, Seen{}, noon)
		for i, told := range now {
			how := sweep.Done
			if b.Trial(told.Trial).Rung > 0 {
				how = sweep.Yielded
			}
			b.Take(token(i), sweep.Event{Kind: sweep.EndedAs, Trial: told.Trial, Start: told.Start, How: how, Lost: b.Trial(told.Trial).Lost})
		}
		if paused := b.Trial(2*point+1).State == book.Paused; paused != (point > 0) || b.Trial(2*point+2).State != b.Trial(2*point+1).State {
			t.Fatalf("point %d: %s and %s", point, b.Trial(2*point+1).State, b.Trial(2*point+2).State)
		}
	}
	var got []int
	for _, told := range tell(2) {
		got = append(got, told.Trial*10+told.Start)
	}
	if want := []int{32, 42}; !slices.Equal(got, want) {
		t.Errorf("trials and starts %v, want %v", got, want)
	}
}

// TestRecordLostBetweenTrials: a trial that no lane had begun when the record was lost gets the point, the repeat and
// the try that it had.
func TestRecordLostBetweenTrials(t *testing.T) {
	for _, algorithm := range []string{"random", "sobol", "grid", "tpe"} {
		for lost := 1; lost <= 4; lost++ {
			p := planOf(t, func(s *sweep.Sweep) {
				s.Algorithm, s.Repeats, s.Epochs, s.Tries = algorithm, 2, 0, []string{"lr=0.01,depth=3"}
			})
			first := book.New()
			ask := func(b *book.Book, i int) {
				Step(b, p, Seen{Lanes: []Lane{{Token: token(i), Job: int64(i + 1), Asks: true, Ask: sweep.Ask{ID: fmt.Sprint("ask", i)}}}}, noon)
			}
			for i := range 5 {
				ask(first, i)
			}
			again := book.New()
			for i, old := range first.Trials {
				if old.Number != lost {
					again.Take(token(i), sweep.Event{Kind: sweep.Began, Trial: old.Number, Start: 1, Ask: old.Ask, Point: old.Point, Repeat: old.Repeat})
				}
			}
			ask(again, 9)
			want, got := first.Trial(lost), again.Trial(lost)
			if len(first.Trials) != 5 || got.Point != want.Point || got.Repeat != want.Repeat {
				t.Errorf("%s, trial %d: %s repeat %d, and it was %s repeat %d", algorithm, lost, got.Point, got.Repeat, want.Point, want.Repeat)
			}
		}
	}
}
