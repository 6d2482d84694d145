package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/controltest"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

func TestClock(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0:00", 0: "0:00", 499 * time.Millisecond: "0:00", 65 * time.Second: "1:05",
		time.Hour: "1:00:00", 26*time.Hour + 3*time.Minute: "1-02:03:00", 100 * 24 * time.Hour: "100-00:00:00",
	} {
		if got := terminal.Clock(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	if got := present.Span(1e300); got == "" || strings.HasPrefix(got, "-") {
		t.Errorf("an endless job: %q", got)
	}
}

func TestFigure(t *testing.T) {
	for f, want := range map[float64]string{1234.5: "1234", 31.57: "31.6", 4: "4.00", 0.0697: "0.0697", 0: "0"} {
		if got := present.Figure(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
	for f, want := range map[float64]string{0: "0", 3.5: "3.5", 10: "10", 120500: "120500", 1.0 / 3: "0.33"} {
		if got := present.Amount(f); got != want {
			t.Errorf("%v: %s, want %s", f, got, want)
		}
	}
}

func TestSizes(t *testing.T) {
	for want, j := range map[string]wire.Job{
		"1-8": {Min: 1, Max: 8}, "4": {Min: 4, Max: 4}, "2-": {Min: 2}, "2-8/2": {Min: 2, Max: 8, Step: 2}, "1,2,4": {Sizes: []int{1, 2, 4}, Min: 1, Max: 4},
	} {
		if got := present.Sizes(&j); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// Whatever a name holds, what is printed is printable and on one line.
func TestEscape(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "s")
		for _, r := range terminal.Escape(s) {
			if !unicode.IsPrint(r) || r == unicode.ReplacementChar {
				t.Fatalf("%q leaves %q", s, terminal.Escape(s))
			}
		}
	})
	if got := terminal.Escape("plain näme"); got != "plain näme" {
		t.Errorf("%q", got)
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	tab := terminal.Table{Room: 20, Columns: []terminal.Column{terminal.Left("A"), terminal.Left("B")}}
	tab.Add("short", "words that run on and on and on")
	var out bytes.Buffer
	if err := tab.Write(&out); err != nil {
		t.Fatal(err)
	}
	if want := "A      B\nshort  words that r+\n"; out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}

func TestSizeOrder(t *testing.T) {
	for size, want := range map[string]wire.Change{"4": {Order: wire.Pin, GPUs: 4}, "auto": {Order: wire.Unpin}} {
		if got, err := sizeOrder(size); err != nil || got != want {
			t.Errorf("%s: %v %v", size, got, err)
		}
	}
	for _, bad := range []string{"", "0", "-1", "4x", "99999999999999999999"} {
		if got, err := sizeOrder(bad); err == nil {
			t.Errorf("%q accepted as %v", bad, got)
		}
	}
}

// Every format is refused in words or prints one line a job.
func FuzzFormat(f *testing.F) {
	f.Add("jobid,name")
	f.Add("%.8i|%j")
	f.Add("%%,%9999R%")
	f.Add(" ,")
	report := wire.Report{At: controltest.Now, Jobs: []wire.Job{{JobID: 1, Name: "a\nb"}, {JobID: 2}}}
	f.Fuzz(func(t *testing.T, format string) {
		var out bytes.Buffer
		o := queueOptions{format: format, noHeader: true}
		if err := o.print(&out, report); err != nil {
			return
		}
		if n := strings.Count(out.String(), "\n"); n != 2 {
			t.Fatalf("%q prints %d lines for 2 jobs:\n%s", format, n, out.String())
		}
	})
}

func TestDeadlineLine(t *testing.T) {
	due := time.Date(2026, 11, 22, 18, 0, 0, 0, time.Local)
	job := func(change func(*wire.Job)) wire.Job {
		j := wire.Job{JobID: 7, Deadline: due, Reason: "it was moved at 12:00:00"}
		change(&j)
		return j
	}
	for want, c := range map[string]struct {
		job    wire.Job
		policy string
	}{
		"": {wire.Job{}, "deadline"},
		"deadline 2026-11-22T18:00:00, admitted: it ends by 2026-11-22T17:30:00, 30:00 before":          {job(func(j *wire.Job) { j.Promised, j.Ends = true, due.Add(-30*time.Minute) }), "deadline"},
		"deadline 2026-11-22T18:00:00 cannot be met; earliest possible end: 2026-11-22T19:00:00":        {job(func(j *wire.Job) { j.Due, j.Ends = "unmet", due.Add(time.Hour) }), "deadline"},
		"deadline 2026-11-22T18:00:00: cannot be admitted: its speed is not known yet":                  {job(func(j *wire.Job) { j.Due = "unknown_speed" }), "deadline"},
		"deadline 2026-11-22T18:00:00, admitted":                                                        {job(func(j *wire.Job) { j.Promised = true }), "deadline"},
		"deadline 2026-11-22T18:00:00 cannot be met, and its end cannot be predicted":                   {job(func(j *wire.Job) { j.Due = "unmet" }), "deadline"},
		"deadline 2026-11-22T18:00:00 has passed: it is treated as a job without one":                   {job(func(j *wire.Job) { j.Due = "passed" }), "lookahead"},
		"deadline 2026-11-22T18:00:00: not admitted; judged again when the job can be started or moved": {job(func(*wire.Job) {}), "deadline"},
		"deadline 2026-11-22T18:00:00: the site's policy, knapsack, does not admit deadlines":           {job(func(*wire.Job) {}), "knapsack"},
		"deadline 2026-11-22T18:00:00: it ended 1:00 before":                                            {job(func(j *wire.Job) { j.Ended, j.EndedAt = true, due.Add(-time.Minute) }), "lookahead"},
		"deadline 2026-11-22T18:00:00: it ended 1:00 after":                                             {job(func(j *wire.Job) { j.Ended, j.EndedAt = true, due.Add(time.Minute) }), "deadline"},
	} {
		if got := deadlineLine(wire.Explanation{Job: c.job, Policy: c.policy, Promises: c.policy != "knapsack"}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	hard, soft := job(func(j *wire.Job) { j.Due, j.Ends = "unmet", due.Add(time.Hour) }), job(func(j *wire.Job) { j.Due, j.Ends, j.Soft = "unmet", due.Add(time.Hour), true })
	if h, s := admissionLine(wire.Explanation{Policy: "deadline", Promises: true, Job: hard}), admissionLine(wire.Explanation{Policy: "deadline", Promises: true, Job: soft}); !strings.Contains(h, "'sluice cancel 7'") || strings.Contains(s, "cancel") {
		t.Errorf("%q, %q", h, s)
	}
}
