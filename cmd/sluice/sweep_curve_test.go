package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
)

// curve is a trial's, a mark each epoch.
func curve(number int, values ...float64) *book.Trial {
	t := &book.Trial{Number: number, State: book.Done, Point: "lr=0.1"}
	for i, v := range values {
		t.Curve = append(t.Curve, book.Mark{Epoch: float64(i + 1), Value: v})
	}
	return t
}

// TestSmallCurves: curves have one scale, and as many columns as their part of the epochs.
func TestSmallCurves(t *testing.T) {
	trials := []*book.Trial{curve(1, 0, 1, 2, 7), curve(2, 7), curve(3)}
	s := spanOf(trials)
	for i, want := range []string{"   ▁▁▁▁▂▂▂▂▃▃▃▃█", "   █", ""} {
		if got := s.draw(trials[i], true); got != want {
			t.Errorf("trial %d: %q, want %q", i+1, got, want)
		}
	}
	many := curve(4)
	for e := range 10_000 {
		many.Curve = append(many.Curve, book.Mark{Epoch: float64(e), Value: math.Sqrt(float64(e))})
	}
	if got := spanOf([]*book.Trial{many}).draw(many, false); len(got) != curveColumns {
		t.Errorf("%q", got)
	}
}

// TestBestTrials: --best bounds the list, whatever the number of trials, and --curves draws them.
func TestBestTrials(t *testing.T) {
	v := &sweepView{View: own.New(sweep.Sweep{Metric: sweep.Metric{Name: "acc", Max: true}}, "")}
	for n := range 10_000 {
		v.Book.Trials = append(v.Book.Trials, curve(n+1, 0, float64(n%9999)))
	}
	list := func(c *sweepCall) (string, error) {
		var out bytes.Buffer
		c.cmd = &cobra.Command{}
		c.cmd.SetOut(&out)
		err := c.list(v)
		return out.String(), err
	}
	text, err := list(&sweepCall{most: 2, curves: true})
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err != nil || len(lines) != 3 || !strings.Contains(lines[0], "CURVE") || !strings.HasPrefix(strings.TrimSpace(lines[1]), "9999 ") || !strings.HasPrefix(strings.TrimSpace(lines[2]), "9998 ") {
		t.Errorf("%v\n%s", err, text)
	}
	if text, err := list(&sweepCall{most: 3, csv: true}); err != nil || strings.Count(text, "\n") != 4 {
		t.Errorf("%v\n%s", err, text)
	}
	for _, c := range []*sweepCall{{most: -1}, {curves: true, json: true}, {csv: true, json: true}} {
		if _, err := list(c); err == nil {
			t.Errorf("%+v is not refused", c)
		}
	}
}

// TestExportIsExact: the points of curves have their epochs and values in all digits, also where an epoch is a step.
func TestExportIsExact(t *testing.T) {
	v := &sweepView{View: own.New(sweep.Sweep{Metric: sweep.Metric{Name: "acc", Max: true}}, "")}
	v.Book.Trials = []*book.Trial{{Number: 1, Curve: []book.Mark{{Epoch: 1234567, Value: .123456789}}}}
	for verb, want := range map[string]struct {
		print func(*sweepCall, *sweepView) error
		line  string
	}{"export": {(*sweepCall).export, "1,1.234567e+06,0.123456789"}, "trials": {(*sweepCall).list, "1,,0,1.234567e+06,0.123456789,,"}} {
		var out bytes.Buffer
		c := &sweepCall{cmd: &cobra.Command{}, csv: true}
		c.cmd.SetOut(&out)
		if err := want.print(c, v); err != nil || !strings.Contains(out.String(), "\n"+want.line+"\n") {
			t.Errorf("%s: %v\n%s", verb, err, out.String())
		}
	}
}
