package runner

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/checkpoint"
)

func TestTrailingNumber(t *testing.T) {
	for name, want := range map[string]int64{
		"checkpoint-500": 500, "out/run-3/last": -1, "epoch=3-step=500.ckpt": 500, "model_12.pt": 12, "7": 7, "": -1,
		"v2/model": -1, "ckpt-00000000000000000000000000001": 1, "ckpt-99999999999999999999": -1,
	} {
		if got := trailingNumber(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
}

func TestNewHabit(t *testing.T) {
	for glob, want := range map[string]string{
		"checkpoint-*":           ". checkpoint-*",
		"out/checkpoint-*":       "out/ checkpoint-*",
		"/s/u/out-%j/ckpt-*.pt":  "/s/u/out-42/ ckpt-*.pt",
		"runs/*/weights/last.pt": "runs/ * weights last.pt",
		"model.pt":               ". model.pt",
	} {
		h := newHabit(Adopt{Glob: glob}, 42)
		if got := h.base + " " + strings.Join(h.parts, " "); got != want {
			t.Errorf("%s: %q, want %q", glob, got, want)
		}
	}
	if newHabit(Adopt{}, 1) != nil {
		t.Error("no pattern, and a habit")
	}
}

// seen is one of a program's checkpoints, with a file written at a time.
func seen(path string, at time.Time, marked bool) sighting {
	tree := checkpoint.Tree{Entries: []checkpoint.Entry{{Path: "w", Size: 1, Modified: at}}}
	return sighting{path: path, number: trailingNumber(path), tree: tree, print: tree.Print(), marked: marked}
}

func TestChoose(t *testing.T) {
	t0 := time.Unix(1_700_000_000, 0)
	still := &habit{still: 10 * time.Second}
	marker := &habit{still: 10 * time.Second, marker: "done"}
	choice := func(s sights, h *habit, after time.Duration) string {
		c, _ := s.choose(h, t0.Add(after))
		return c.path
	}
	s := sights{}
	s.seed([]sighting{seen("c-9", t0, true)}, t0)
	s.update([]sighting{seen("c-9", t0, true), seen("c-1", t0, false)}, t0)
	if got := choice(s, still, 9*time.Second); got != "" {
		t.Errorf("chose %q before it was still", got)
	}
	if got := choice(s, still, 10*time.Second); got != "c-1" {
		t.Errorf("chose %q", got)
	}
	if got := choice(s, marker, time.Hour); got != "" {
		t.Errorf("chose %q without its marker", got)
	}
	// A write starts the wait afresh; so does the marker.
	s.update([]sighting{seen("c-1", t0.Add(time.Second), true)}, t0.Add(9*time.Second))
	if got := choice(s, still, 10*time.Second) + choice(s, marker, 9500*time.Millisecond); got != "" {
		t.Errorf("chose %q", got)
	}
	if got := choice(s, marker, 10*time.Second); got != "c-1" {
		t.Errorf("chose %q", got)
	}
	// Of several the newest, by number before time; what is settled no more.
	s.update([]sighting{seen("c-1", t0.Add(time.Second), true), seen("c-3", t0, true), seen("c-2", t0.Add(time.Minute), true)}, t0)
	if got := choice(s, marker, time.Hour); got != "c-3" {
		t.Errorf("chose %q", got)
	}
	s.settle("c-3")
	if got := choice(s, marker, time.Hour); got != "c-2" {
		t.Errorf("chose %q", got)
	}
	// What is gone is forgotten, and an empty folder is no checkpoint.
	s.update([]sighting{{path: "c-4", number: 4, print: "x", marked: true}}, t0)
	if got := choice(s, marker, time.Hour); got != "" || len(s) != 1 {
		t.Errorf("chose %q of %d", got, len(s))
	}
}

func TestUnadopted(t *testing.T) {
	t0 := time.Unix(1_700_000_000, 0)
	at := func(n int) time.Time { return t0.Add(time.Duration(n) * time.Second) }
	found := []sighting{seen("c-50", at(0), true), seen("c-10", at(1), true), seen("c-20", at(2), true), seen("c-30", at(3), true), seen("c-40", at(4), false)}
	r := record{Before: map[string]string{"c-50": found[0].print}}
	show := func(s []sighting) string {
		var names []string
		for _, f := range s {
			names = append(names, f.path)
		}
		return strings.Join(names, " ")
	}
	r.add(taken{from: found[1], name: "00000001"}, time.Second)
	for _, c := range []struct {
		marker        bool
		whole, broken string
	}{{true, "c-30 c-20", "c-40"}, {false, "c-30 c-20", "c-40"}} {
		whole, broken := r.unadopted(found, c.marker)
		if c.marker && (show(whole) != c.whole || show(broken) != c.broken) {
			t.Errorf("marker %v: whole %s, broken %s", c.marker, show(whole), show(broken))
		}
	}
	// Without a marker only a successor tells that one is complete.
	for i := range found {
		found[i].marked = false
	}
	whole, broken := r.unadopted(found[:4], false)
	if show(whole) != "c-20" || show(broken) != "c-30" {
		t.Errorf("whole %s, broken %s", show(whole), show(broken))
	}
}

func TestRewrites(t *testing.T) {
	t0 := time.Unix(1_700_000_000, 0)
	r := record{Before: map[string]string{"c-5": "other"}}
	r.add(taken{from: seen("c-6", t0, true), name: "00000001"}, 0)
	for path, want := range map[string]bool{"last": true, "c-5": true, "c-6": false, "c-7": false} {
		if got := r.rewrites(seen(path, t0, true)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if !r.rewrites(seen("c-6", t0.Add(1), true)) {
		t.Error("written again, and not seen")
	}
}

// TestRecordSurvives: what is written is what is read, within its bound.
func TestRecordSurvives(t *testing.T) {
	f := folders{jobDir: t.TempDir()}
	if r, err := f.readRecord(); r != nil || err != nil {
		t.Errorf("nothing there: %v, %v", r, err)
	}
	r := record{Before: map[string]string{}}
	for n := range maxMatches {
		r.Before[strings.Repeat("long/", 40)+checkpoint.Name(n)] = strings.Repeat("f", 24)
	}
	for n := range 200 {
		r.add(taken{from: seen("c-"+checkpoint.Name(n), time.Unix(1, 0), true), name: checkpoint.Name(n)}, time.Second)
	}
	if err := f.writeRecord(r); err != nil {
		t.Fatal(err)
	}
	got, err := f.readRecord()
	if err != nil || len(got.Before) != maxMatches || len(got.Adopted) != maxAdopted || got.Adopted[63].Checkpoint != checkpoint.Name(199) {
		t.Errorf("read back %v", err)
	}
	if err := os.WriteFile(filepath.Join(f.jobDir, recordFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := f.readRecord(); r != nil || err == nil {
		t.Error("garbage was read")
	}
}

const bar = `(?P<step>[\d,]+)/(?P<total>[\d,]+) \[.*?(?:(?P<speed>[\d.]+)it/s|(?P<seconds>[\d.]+)s/it)`

func TestExpression(t *testing.T) {
	e := newExpression(bar)
	for line, want := range map[string]words{
		" 1%| 12/1,200 [00:10<01:20,  4.00it/s]":         {-1, 12, 1200, -1, 4},
		" 1%| 12/1200 [00:10<01:20, 2.50s/it, loss=3.1]": {-1, 12, 1200, 2.5, -1},
	} {
		if got, ok := e.read(line); !ok || got != want {
			t.Errorf("%q: %+v, %v", line, got, ok)
		}
	}
	if _, ok := e.read("nothing"); ok {
		t.Error("found something")
	}
	if got, ok := newExpression(`'epoch': '?(?P<epoch>[\d.]+)`).read(`{'loss': '2.3', 'epoch': '0.25'}`); !ok || got.epoch != 0.25 || got.step != -1 {
		t.Errorf("%+v %v", got, ok)
	}
	if newExpression("(") != nil || newExpression("") != nil {
		t.Error("an expression out of nothing")
	}
}

func FuzzExpression(f *testing.F) {
	f.Add(bar, " 1%| 12/1,200 [00:10<01:20,  4.00it/s]")
	f.Add(`(?P<epoch>.*)`, "NaN")
	f.Add(`(?P<step>.*)(?P<speed>.*)`, "1e999")
	f.Fuzz(func(t *testing.T, text, line string) {
		e := newExpression(text)
		if e == nil {
			return
		}
		w, ok := e.read(line)
		tr := tracker{unit: "step"}
		tr.take(w, time.Unix(1, 0))
		p, said := tr.next(time.Unix(2, 0), true)
		if !ok || !said {
			return
		}
		if math.IsNaN(p.Done) || p.Done < 0 || p.Done > maxNumber || math.IsNaN(p.Seconds) || p.Seconds < 0 {
			t.Fatalf("%q in %q: %+v", text, line, p)
		}
	})
}

// TestTracker: told as seconds, words and what is written; "." ends the run.
func TestTracker(t *testing.T) {
	step := func(n, total float64) words { return words{-1, n, total, -1, -1} }
	type said struct {
		after float64 // seconds
		words words
		want  float64 // done that is told then; -1 = nothing
	}
	for name, c := range map[string]struct {
		total float64
		lines []said
	}{
		"once a second":             {300, []said{{0, step(1, 300), 1}, {0.5, step(2, 300), -1}, {1, step(3, 300), 3}, {2, step(3, 300), -1}}},
		"never backwards":           {0, []said{{0, step(10, -1), 10}, {2, step(4, -1), -1}, {4, step(11, -1), 11}}},
		"started over from earlier": {0, []said{{0, step(10, -1), 10}, {2, step(4, -1), -1}, {20, step(5, -1), -1}, {33, step(6, -1), 6}, {35, step(7, -1), 7}}},
		"other bars, total known":   {300, []said{{0, step(148, 148), -1}, {1, step(1, 300), 1}, {3, step(20, 1000), -1}, {5, step(2, 300), 2}}},
		"other bars, total unknown": {0, []said{{0, step(40, 148), 40}, {2, step(148, 148), 148}, {4, step(1, 300), 1}, {6, step(20, 50), -1}, {8, step(20, 900), -1}, {10, step(300, 300), 300}, {12, step(50, 50), -1}}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := tracker{unit: "step", total: c.total}
			for _, l := range c.lines {
				now := time.Unix(1000, 0).Add(time.Duration(l.after * float64(time.Second)))
				tr.take(l.words, now)
				p, ok := tr.next(now, false)
				if ok != (l.want >= 0) || (ok && p.Done != l.want) {
					t.Errorf("after %gs: told %v %+v, want %g", l.after, ok, p, l.want)
				}
			}
		})
	}
}

// TestTheTimeOfAStepIsNotAnEpochs: a line that counts steps says how long a step takes; of
// a job counted in epochs the time from epoch to epoch counts.
func TestTheTimeOfAStepIsNotAnEpochs(t *testing.T) {
	t0 := time.Unix(1e9, 0)
	tr := tracker{unit: "epoch"}
	tr.take(words{1, 10, -1, 0.5, -1}, t0)
	if p, ok := tr.next(t0, false); !ok || p.Seconds != 0 {
		t.Errorf("at the first: %+v", p)
	}
	tr.take(words{2, 20, -1, -1, 2}, t0.Add(5*time.Second))
	if p, ok := tr.next(t0.Add(5*time.Second), false); !ok || p.Seconds != 5 {
		t.Errorf("at the second: %+v", p)
	}
}

func TestTrackerSeconds(t *testing.T) {
	t0 := time.Unix(1000, 0)
	tr := tracker{unit: "epoch"}
	tr.take(words{0.5, -1, -1, -1, -1}, t0)
	tr.next(t0, false)
	tr.take(words{1.5, 30, -1, -1, -1}, t0.Add(20*time.Second))
	if p, ok := tr.next(t0.Add(20*time.Second), false); !ok || p.Seconds != 20 || p.Step != 30 || p.Epoch != 1.5 {
		t.Errorf("%+v", p)
	}
	tr.take(words{2, -1, -1, -1, 4}, t0.Add(30*time.Second))
	if p, _ := tr.next(t0.Add(30*time.Second), false); p.Seconds != 0.25 {
		t.Errorf("%+v", p)
	}
	tr.take(words{3, -1, -1, -1, -1}, t0.Add(30*time.Second))
	if _, ok := tr.next(t0.Add(30*time.Second), false); ok {
		t.Error("twice in a second")
	}
	if p, ok := tr.next(t0.Add(30*time.Second), true); !ok || p.Done != 3 {
		t.Error("the end was not told")
	}
}

// FuzzSplitter: however the output is cut into pieces, the lines are the same.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("a\rb\nc\r\nd"), uint(1))
	f.Add([]byte(strings.Repeat("x", maxLogLine+1)+"\nok\n"), uint(7))
	f.Fuzz(func(t *testing.T, text []byte, piece uint) {
		var whole, cut []string
		var one, many splitter
		one.feed(text, func(l string) { whole = append(whole, l) })
		for chunk := range slices.Chunk(text, int(piece%8192)+1) {
			many.feed(chunk, func(l string) { cut = append(cut, l) })
		}
		if !slices.Equal(whole, cut) {
			t.Fatalf("%q and %q", whole, cut)
		}
		for _, l := range whole {
			if len(l) == 0 || len(l) > maxLogLine || strings.ContainsAny(l, "\r\n") {
				t.Fatalf("line %q", l)
			}
		}
	})
}

// TestTail: only what comes after the start counts, a file that was emptied is
// read afresh, and of a flood only the end is read.
func TestTail(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	put := func(s string) {
		if _, err := file.WriteString(s); err != nil {
			t.Fatal(err)
		}
	}
	put("old\n")
	tail := newTail(file)
	want := func(lines ...string) {
		t.Helper()
		var got []string
		if err := tail.read(func(l string) { got = append(got, l) }); err != nil || !slices.Equal(got, lines) {
			t.Errorf("%q, want %q (%v)", got, lines, err)
		}
	}
	want()
	put("new\rhal")
	want("new")
	put("f\n")
	want("half")
	if err := file.Truncate(0); err != nil {
		t.Fatal(err)
	}
	put("afresh\n")
	want("afresh")
	put(strings.Repeat(strings.Repeat("y", 99)+"\n", 3*maxLogRead/100) + "end\n")
	n, last := 0, ""
	if err := tail.read(func(l string) { n++; last = l }); err != nil || last != "end" || n > maxLogRead/100+1 {
		t.Errorf("%d lines, last %q, %v", n, last, err)
	}
	r, w, _ := os.Pipe()
	defer r.Close()
	defer w.Close()
	if newTail(w) != nil {
		t.Error("follows a pipe")
	}
}

// TestTrackerNeverGoesBack: whatever the lines, done only falls after a while of
// nothing but less.
func TestTrackerNeverGoesBack(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tr := tracker{unit: "step"}
		now := time.Unix(1000, 0)
		last, top, rose := -1.0, -1.0, now // rose: when a line last told as much as any before
		for range rapid.IntRange(1, 50).Draw(rt, "lines") {
			now = now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(rt, "ms")) * time.Millisecond)
			step := float64(rapid.IntRange(0, 9).Draw(rt, "step"))
			tr.take(words{-1, step, -1, -1, -1}, now)
			if step >= top {
				top, rose = step, now
			}
			if p, ok := tr.next(now, false); ok {
				if p.Done < last {
					if since := now.Sub(rose); since < backAfter {
						rt.Fatalf("fell from %v to %v after %v", last, p.Done, since)
					}
					top = p.Done
				}
				last = p.Done
			}
		}
	})
}
