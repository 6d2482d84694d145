package offcycle_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// TestSweepsShown: what users see of a sweep has its counts, its best results and its levels over time. A
// daemon that restarts shows the same: the levels are in the record. A problem is shown until it is mended.
func TestSweepsShown(t *testing.T) {
	x := newSweepSite(t)
	x.sweep.Algorithm, x.sweep.Trials, x.sweep.Params, x.sweep.MaxFailures = "random", 60, []string{"x=float:0:1"}, 5
	x.put(filepath.Join(x.folder(), sweep.File), x.sweep)
	x.restart()
	top := 0.
	values := []float64{.1, .5, .3, .9, .2, .91}
	for i := range 40 {
		x.look()
		tell, ok := x.told()
		if !ok {
			t.Fatalf("trial %d: not told", i)
		}
		value, how := .92+float64(i%7)/1e4, sweep.Done
		top = max(top, value)
		if i < len(values) {
			value = values[i]
		}
		if i == 4 { // its results do not count, however good
			value, how = 5, sweep.Failed
		}
		at := x.now
		x.writes(sweep.Event{Kind: sweep.Began, At: at, Trial: tell.Trial, Start: tell.Start, Ask: x.ask.ID, Point: tell.Point})
		x.writes(sweep.Event{Kind: sweep.Reported, At: at.Add(time.Minute), Trial: tell.Trial, Start: 1, Epoch: 1, Value: value})
		x.now = x.now.Add(2 * time.Minute)
		x.writes(sweep.Event{Kind: sweep.EndedAs, At: x.now, Trial: tell.Trial, Start: 1, How: how})
		x.asks()
	}
	x.look()
	token := x.sweep.Token
	shown := x.s.Shown()[token]
	if shown.Begun != 41 || shown.Counts[book.Done] != 39 || shown.Counts[book.Failed] != 1 || shown.Counts[book.Running] != 1 || !slices.Equal(shown.Running[laneOfSweep], []int{41}) || shown.Asked != 60 {
		t.Errorf("%+v", shown)
	}
	if shown.Level == 0 || len(shown.Ratings) == 0 || shown.Ratings[len(shown.Ratings)-1].Level != shown.Level || shown.Ratings[0].Done <= 20 {
		t.Errorf("level %d, over time %+v", shown.Level, shown.Ratings)
	}
	var bests []float64
	for i, b := range shown.Bests {
		bests = append(bests, b.Value)
		if i > 0 && !b.At.After(shown.Bests[i-1].At) {
			t.Errorf("not in order of time: %+v", shown.Bests)
		}
	}
	if want := []float64{.1, .5, .9, .91, top}; len(bests) < len(want) || !reflect.DeepEqual(bests[:4], want[:4]) || bests[len(bests)-1] != want[4] || shown.Best.Value != want[4] {
		t.Errorf("the best so far: %v, in the end %+v", bests, shown.Best)
	}
	lines := x.lines()
	x.restart()
	x.look()
	if again := x.s.Shown()[token]; !reflect.DeepEqual(again.Ratings, shown.Ratings) || !reflect.DeepEqual(again.Bests, shown.Bests) || x.lines() != lines {
		t.Errorf("after a restart: %+v\nand before %+v\n%d lines, %d before", again, shown, x.lines(), lines)
	}
	file := filepath.Join(x.folder(), sweep.File)
	x.must(os.WriteFile(file, []byte("{"), 0o644))
	x.look()
	if s := x.s.Shown()[token]; s.Problem == "" || s.Begun != 41 {
		t.Errorf("a sweep that cannot be read: %+v", s)
	}
	x.must(os.Remove(file))
	x.put(file, x.sweep)
	x.look()
	if s := x.s.Shown()[token]; s.Problem != "" {
		t.Errorf("mended: %q", s.Problem)
	}
}
