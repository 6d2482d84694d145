package own

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// site is a user's folders, and a clock.
type site struct {
	*testing.T
	jobs, outbox string
	now          time.Time
}

func newSite(t *testing.T) *site {
	return &site{T: t, jobs: filepath.Join(t.TempDir(), "jobs"), outbox: t.TempDir(), now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}
}

func (x *site) must(err error) {
	x.Helper()
	if err != nil {
		x.Fatal(err)
	}
}

func token(c string) string { return strings.Repeat(c, 32) }

func (x *site) put(name string, value any) {
	x.Helper()
	data, err := json.Marshal(value)
	x.must(err)
	x.must(os.MkdirAll(filepath.Dir(name), 0o755))
	x.must(os.WriteFile(name, data, 0o644))
}

// sweep writes a sweep.
func (x *site) sweep(c string, change func(*sweep.Sweep)) sweep.Sweep {
	s := sweep.Sweep{Version: 1, Token: token(c), Name: "s" + c, Algorithm: "random", Metric: sweep.Metric{Name: "acc", Max: true}, Trials: 100, Parallel: 2, MaxFailures: 5,
		Params: []string{"x=float:0:1"}, Created: x.now}
	if change != nil {
		change(&s)
	}
	x.put(filepath.Join(x.jobs, s.Token, sweep.File), s)
	return s
}

// lane writes a lane that runs.
func (x *site) lane(s sweep.Sweep, lane string, job int64) {
	x.must(os.MkdirAll(filepath.Join(x.jobs, s.Token, sweep.LaneFolder, lane), 0o755))
	x.put(filepath.Join(x.jobs, lane, sweep.AskFile), sweep.NewAsk(s.Token, job, 0, x.now))
	x.beat(lane, checkpoint.Training)
}

func (x *site) beat(lane string, state checkpoint.RunnerState) {
	x.put(filepath.Join(x.jobs, lane, checkpoint.RunnerFile), checkpoint.Runner{Version: 1, Job: 1, State: state, Beat: x.now, FirstLine: x.now})
}

func (x *site) text(lane, text string) {
	f, err := os.OpenFile(filepath.Join(x.jobs, lane, sweep.EventFile), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	x.must(err)
	_, err = f.WriteString(text)
	x.must(err)
	x.must(f.Close())
}

func (x *site) writes(lane string, events ...sweep.Event) {
	for _, e := range events {
		e.At = x.now
		data, err := json.Marshal(e)
		x.must(err)
		x.text(lane, string(data)+"\n")
	}
}

func began(trial int) sweep.Event {
	return sweep.Event{Kind: sweep.Began, Trial: trial, Start: 1, Ask: "a", Point: "x=0.5"}
}

func reported(trial int, epoch, value float64) sweep.Event {
	return sweep.Event{Kind: sweep.Reported, Trial: trial, Start: 1, Epoch: epoch, Value: value}
}

// What a reader knows after many looks is what it would know from the beginning; a line that is being
// written is read once it is whole.
func TestReader(t *testing.T) {
	x := newSite(t)
	a, b := token("a"), token("b")
	s := x.sweep("5", nil)
	x.lane(s, a, 12)
	x.lane(s, b, 11)
	r := NewReader(x.jobs, x.outbox, uint32(os.Geteuid()), func() time.Time { return x.now })
	look := func() (word string, marks int, counts map[book.State]int) {
		t.Helper()
		x.now = x.now.Add(10 * time.Second)
		x.beat(a, checkpoint.Training)
		x.must(r.Look(t.Context(), 11, func(v *View) {
			for _, trial := range v.Book.Trials {
				marks += len(trial.Curve)
			}
			word, counts = v.Word(), v.Counts()
			fresh, err := Find(x.jobs, uint32(os.Geteuid()))
			x.must(err)
			x.must(fresh[0].Read(x.jobs, x.outbox, x.now))
			if got, want := fmt.Sprintf("%+v", fresh[0].Summary()), fmt.Sprintf("%+v", v.Summary()); len(fresh) != 1 || !same(got, want) {
				t.Errorf("from the beginning:\n%s\nby what was added:\n%s", got, want)
			}
		}))
		return word, marks, counts
	}
	if word, marks, _ := look(); word != "waiting" || marks != 0 {
		t.Error(word, marks)
	}
	x.writes(a, began(1), reported(1, 1, .5))
	x.text(a, `{"event":"reported","at":"2026-11-28T12:00:00Z","trial":1,"start":1,"ep`)
	if word, marks, _ := look(); word != "running" || marks != 1 {
		t.Error(word, marks)
	}
	x.text(a, "och\":2,\"value\":0.75}\nnonsense\n")
	x.writes(b, began(2), reported(2, 1, .9))
	if _, marks, counts := look(); marks != 3 || counts[book.Running] != 2 {
		t.Error(marks, counts)
	}
	x.now = x.now.Add(5 * time.Minute) // lane b writes no more
	if word, _, counts := look(); word != "running" || counts[book.Running] != 1 || counts[book.Waiting] != 1 {
		t.Error(word, counts)
	}
	x.put(filepath.Join(x.outbox, s.Token, sweep.File), map[string]any{"level": 3, "wants": 2})
	x.writes(a, sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done}, sweep.Event{Kind: sweep.Left, End: "goal"})
	if word, _, counts := look(); word != "goal" || counts[book.Done] != 1 || counts[book.Stopped] != 1 {
		t.Error(word, counts)
	}
	all, err := r.List(t.Context())
	if err != nil || len(all) != 1 || all[0].Number != 11 || all[0].Standing.Level != 3 || all[0].Best.Value != .9 || all[0].Best.Trial != 2 || all[0].Best.At.IsZero() {
		t.Errorf("%+v %v", all, err)
	}
	if err := r.Look(t.Context(), 77, func(*View) {}); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}

// same compares two texts without the addresses in them.
func same(a, b string) bool {
	cut := func(s string) string {
		var out []string
		for w := range strings.FieldsSeq(s) {
			if !strings.Contains(w, "0x") {
				out = append(out, w)
			}
		}
		return strings.Join(out, " ")
	}
	return cut(a) == cut(b)
}

// A sweep that rests is not read again until its user changes it; new ones are found, and gone ones are
// forgotten; a lane's lines that became shorter are read from the beginning.
func TestReaderRests(t *testing.T) {
	x := newSite(t)
	s := x.sweep("5", func(s *sweep.Sweep) { s.Number = 40 })
	a := token("a")
	x.lane(s, a, 40)
	x.beat(a, checkpoint.Exited)
	x.writes(a, began(1), reported(1, 1, .5), sweep.Event{Kind: sweep.EndedAs, Trial: 1, Start: 1, How: sweep.Done}, sweep.Event{Kind: sweep.Left, End: "trials"})
	x.now = x.now.Add(2 * time.Hour)
	r := NewReader(x.jobs, x.outbox, uint32(os.Geteuid()), func() time.Time { return x.now })
	list := func() []Summary {
		x.now = x.now.Add(time.Minute)
		all, err := r.List(t.Context())
		x.must(err)
		return all
	}
	if all := list(); len(all) != 1 || all[0].End != book.AllTried || !r.all[0].rests {
		t.Fatalf("%+v", all)
	}
	x.sweep("5", func(s *sweep.Sweep) { s.Number, s.Trials = 40, 200 })
	x.sweep("6", func(s *sweep.Sweep) { s.Created, s.Number = x.now, 50 })
	all := list()
	if len(all) != 2 || all[0].Number != 50 || all[1].Trials != 200 || all[1].Counts[book.Done] != 1 {
		t.Errorf("%+v", all)
	}
	x.must(os.RemoveAll(filepath.Join(x.jobs, token("6"))))
	x.must(os.WriteFile(filepath.Join(x.jobs, a, sweep.EventFile), nil, 0o644))
	x.must(r.Look(t.Context(), 40, func(v *View) {
		if len(v.Book.Trials) != 0 {
			t.Error("lines that are gone are still known")
		}
	}))
	if all := list(); len(all) != 1 {
		t.Errorf("%+v", all)
	}
	<-r.turn // folders that hang
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := r.List(ctx); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
}

// Folders of jobs are looked into twice only; a sweep whose file comes after its folder is found. Many may
// ask at once.
func TestReaderFinds(t *testing.T) {
	x := newSite(t)
	for i := range 20 {
		x.must(os.MkdirAll(filepath.Join(x.jobs, fmt.Sprintf("%032x", i)), 0o755))
	}
	var clock atomic.Int64
	r := NewReader(x.jobs, x.outbox, uint32(os.Geteuid()), func() time.Time { return x.now.Add(time.Duration(clock.Load())) })
	list := func() int {
		clock.Add(int64(time.Minute))
		all, err := r.List(t.Context())
		x.must(err)
		return len(all)
	}
	if n := list(); n != 0 || r.pass[fmt.Sprintf("%032x", 0)] != 1 {
		t.Error(n, r.pass)
	}
	s := x.sweep("a", func(s *sweep.Sweep) { s.Token, s.Number = fmt.Sprintf("%032x", 3), 9 })
	if n := list(); n != 1 || len(r.pass) != 20 {
		t.Error(n, len(r.pass))
	}
	x.lane(s, token("b"), 9)
	x.writes(token("b"), began(1), reported(1, 1, .5))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				clock.Add(int64(time.Second))
				if err := r.Look(t.Context(), 9, func(v *View) { v.Summary() }); err != nil {
					t.Error(err)
				}
				if _, err := r.List(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// Lines are read in parts, whatever their length; one that is longer than a part is skipped.
func TestLongLines(t *testing.T) {
	x := newSite(t)
	s := x.sweep("5", func(s *sweep.Sweep) { s.Number = 40 })
	a := token("a")
	x.lane(s, a, 40)
	x.writes(a, began(1))
	x.text(a, strings.Repeat("x", 5*sweep.MaxLines/2)+"\n")
	var lines strings.Builder
	for e := range 20_000 {
		fmt.Fprintf(&lines, `{"event":"reported","at":"2026-11-28T12:00:00Z","trial":1,"start":1,"epoch":%d,"value":0.5}`+"\n", e)
	}
	x.text(a, lines.String())
	all, err := Find(x.jobs, uint32(os.Geteuid()))
	x.must(err)
	for range 2 {
		x.must(all[0].Read(x.jobs, x.outbox, x.now))
		if n := len(all[0].Book.Trials[0].Curve); n != 20_000 {
			t.Errorf("%d of 20000 marks", n)
		}
	}
}

// TestNoFileHangs: a pipe in the place of a file that is read does not hold a reader up.
func TestNoFileHangs(t *testing.T) {
	for _, name := range []string{sweep.AskFile, sweep.EventFile, sweep.File} {
		x := newSite(t)
		s := x.sweep("6", nil)
		a := token("a")
		x.must(os.MkdirAll(filepath.Join(x.jobs, s.Token, sweep.LaneFolder, a), 0o755))
		pipe := filepath.Join(x.jobs, a, name)
		if name == sweep.File {
			pipe = filepath.Join(x.outbox, s.Token, name)
		}
		x.must(os.MkdirAll(filepath.Dir(pipe), 0o755))
		x.must(syscall.Mkfifo(pipe, 0o644))
		all, err := Find(x.jobs, uint32(os.Geteuid()))
		x.must(err)
		done := make(chan error, 1)
		go func() { done <- all[0].Read(x.jobs, x.outbox, x.now) }()
		select {
		case err := <-done:
			if (err != nil) != (name == sweep.EventFile) { // the others are for people only
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(time.Minute):
			t.Fatalf("%s: it hangs", name)
		}
	}
}
