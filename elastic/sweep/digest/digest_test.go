package digest_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// source is a sweep of so many trials, each with its number as the result in its last epoch. Each third has
// failed, each tenth has reported nothing. point writes the parameters.
func source(trials, epochs int, params []string, point func(n int) string) digest.Source {
	s := digest.Source{Sweep: sweep.Sweep{Metric: sweep.Metric{Name: "acc", Max: true}, Params: params}, Book: book.New(), Starts: map[int][]digest.Start{}, Jobs: map[string]int64{"a": 41}}
	for n := 1; n <= trials; n++ {
		s.Book.Apply(book.Entry{At: noon, Tell: &book.Telling{Lane: "a", Ask: "x", Trial: n, Start: 1, Point: point(n)}})
		s.Starts[n] = []digest.Start{{Number: 1, Lane: "a"}}
		for e := 1; e <= epochs && n%10 > 0; e++ {
			s.Book.Take("a", sweep.Event{Kind: sweep.Reported, At: noon.Add(time.Duration(n) * time.Second), Trial: n, Start: 1, Epoch: float64(e), Value: float64(n) * float64(e) / float64(epochs)})
		}
		end := sweep.Event{Kind: sweep.EndedAs, At: noon, Trial: n, Start: 1, How: sweep.Done}
		if n%3 == 0 {
			end.How, end.Words = sweep.Failed, strings.Repeat("<", 2000)
		}
		s.Book.Take("a", end)
	}
	for _, t := range s.Book.Trials {
		s.States = append(s.States, t.State)
	}
	return s
}

func numbers[T any](all []T, number func(T) int) (out []int) {
	for _, x := range all {
		out = append(out, number(x))
	}
	return out
}

// A digest of a large sweep has a page of its trials, the curves of the best and the newest trials, and dots of
// the best trials and of others between the rest. Each row of the table is on one page.
func TestLarge(t *testing.T) {
	s := source(1000, 60, []string{"lr=log:1e-5:1e-1", "size=fixed:3", "none=int:1:2"}, func(n int) string { return fmt.Sprintf("lr=%d,size=3", n) })
	d := digest.Of(s, digest.Query{})
	rows := numbers(d.Trials, func(t digest.Trial) int { return t.Number })
	if d.All != 1000 || d.From != 0 || d.Sort != digest.ByResult || len(rows) != digest.MostTrials || rows[0] != 998 || rows[1] != 997 || d.Top != 998 {
		t.Errorf("%d of %d from %d by %s, the best is %d: %v", len(rows), d.All, d.From, d.Sort, d.Top, rows)
	}
	curves := numbers(d.Curves, func(c digest.Curve) int { return c.Number })
	if len(curves) < 80 || len(curves) > 120 || curves[0] != 998 || !slices.Contains(curves, 999) || slices.Contains(curves, 1000) {
		t.Errorf("curves %v", curves)
	}
	for _, c := range d.Curves {
		if first, last := c.Marks[0], c.Marks[len(c.Marks)-1]; len(c.Marks) != 40 || first.Epoch != 1 || last.Epoch != 60 || last.Value != float64(c.Number) || last.Job != 41 || last.At != noon.Add(time.Duration(c.Number)*time.Second).UnixMilli() {
			t.Errorf("%+v", c)
		}
	}
	if len(d.Dots) != 400 || d.Dots[0].Number != 998 || d.Dots[0].Values[0] != "998" || len(d.Params) != 1 || d.Params[0] != (digest.Param{Name: "lr", Kind: "log"}) || d.Dots[399].Best > 300 {
		t.Errorf("%d dots, %+v, %+v", len(d.Dots), d.Params, d.Dots[len(d.Dots)-1])
	}
	for _, sort := range []string{digest.ByResult, digest.ByNumber} {
		var all []int
		for len(all) < 1000 {
			page := digest.Of(s, digest.Query{Sort: sort, From: len(all)})
			if page.From != len(all) || len(page.Trials) == 0 {
				t.Fatalf("from %d: %d rows from %d", len(all), len(page.Trials), page.From)
			}
			all = append(all, numbers(page.Trials, func(t digest.Trial) int { return t.Number })...)
		}
		if sort == digest.ByNumber && !slices.IsSorted(all) {
			t.Errorf("by number: %v", all)
		}
		if slices.Sort(all); len(all) != 1000 || all[0] != 1 || len(slices.Compact(all)) != 1000 {
			t.Errorf("%s: a trial is missing: %v", sort, all)
		}
	}
	if last := digest.Of(s, digest.Query{From: 5000}); last.From != 999 || len(last.Trials) != 1 {
		t.Errorf("too far: %d rows from %d", len(last.Trials), last.From)
	}
}

// Whatever a user's files have in them, the digest is at most 6 MiB as JSON, and without control characters.
func TestBounded(t *testing.T) {
	var params []string
	for i := range sweep.MaxTexts {
		params = append(params, strings.Repeat("<", 60)+fmt.Sprintf("%03d=choice:x", i))
	}
	s := source(600, 50, params, func(int) string {
		point := ""
		for _, p := range params {
			name, _, _ := strings.Cut(p, "=")
			point += name + "=" + strings.Repeat("\x1b&", 200) + ","
		}
		return point[:sweep.MaxSmall/2]
	})
	raw, err := json.Marshal(digest.Of(s, digest.Query{}))
	if err != nil || len(raw) > 6<<20 || strings.Contains(string(raw), `\u001b`) {
		t.Errorf("%d KiB, %v", len(raw)>>10, err)
	}
	t.Logf("%d KiB", len(raw)>>10)
	d := digest.Of(s, digest.Query{})
	if len(d.Params) != 12 || d.Further == 0 || len(d.Dots[0].Values) != 12 {
		t.Errorf("%d parameters, %d further", len(d.Params), d.Further)
	}
}

// A sweep without trials, or without results, has an empty digest: lists are empty, not absent.
func TestEmpty(t *testing.T) {
	for _, trials := range []int{0, 1} {
		s := source(trials, 0, []string{"x=int:1:2"}, func(int) string { return "" })
		raw, err := json.Marshal(digest.Of(s, digest.Query{From: 3}))
		if err != nil || strings.Contains(string(raw), "null") || !strings.Contains(string(raw), `"curves":[],"params":[],"dots":[],"best_over_time":[]`) {
			t.Errorf("%s, %v", raw, err)
		}
	}
}
