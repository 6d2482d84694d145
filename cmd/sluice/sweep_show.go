package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// shown is how many of the best trials "sluice sweep show" prints.
const shown = 10

// show prints the sweep and its best trials, or draws them.
func (c *sweepCall) show(v *sweepView) error {
	out := c.cmd.OutOrStdout()
	if c.output != "" {
		return drawSweep(c.cmd.Context(), v, c.output)
	}
	r := v.row()
	if c.json {
		return terminal.WriteJSON(out, r)
	}
	goal := ""
	if v.Goal != nil {
		goal = ", goal " + present.Metric(*v.Goal)
	}
	fmt.Fprintf(out, "sweep %s %s: %s\n", number(v.Number), terminal.Escape(v.Name), v.stateWords())
	fmt.Fprintf(out, "search   %s by %s%s, seed %d\n", v.Algorithm, terminal.Escape(v.Metric.String()), goal, v.Seed)
	if v.Repeats > 1 {
		fmt.Fprintf(out, "repeats  %d of each point, with seeds from %d\n", v.Repeats, v.Seed)
	}
	for _, p := range v.Params {
		fmt.Fprintf(out, "param    %s\n", terminal.Escape(p))
	}
	fmt.Fprintf(out, "trials   %d of %d begun: %d running, %d waiting, %d paused, %d done, %d failed\n", r.Begun, r.Trials, r.Running, r.Waiting, r.Paused, r.Done, r.Failed)
	fmt.Fprintln(out, v.laneWords(r.Lanes))
	if v.Slots() > 1 {
		for _, words := range v.sharingWords() {
			fmt.Fprintf(out, "per GPU  %s\n", words)
		}
	}
	fmt.Fprintln(out)
	best := v.sorted()
	return c.trialTable(v, best[:min(shown, len(best))])
}

// laneWords says how many lanes run. Once the sweep is over those that wait are cancelled by sluiced.
func (v *sweepView) laneWords(run int) string {
	switch {
	case v.Book.Over != book.NotOver && !v.OwnJobs:
		return fmt.Sprintf("lanes    %d run: the sweep is over, lanes that wait are cancelled", run)
	case v.Book.Over != book.NotOver:
		return fmt.Sprintf("jobs     %d run: the sweep is over, jobs that wait are cancelled", run)
	case !v.OwnJobs:
		return fmt.Sprintf("lanes    %d run of %d", run, v.Parallel)
	}
	return fmt.Sprintf("jobs     one for each trial: %d run, %d at once", run, v.Parallel)
}

// endWords says why a sweep is over.
func endWords(v *sweepView) string { return present.SweepEnd(v.Book.Over, v.Book.Failures()) }

func (v *sweepView) stateWords() string {
	if v.Book.Over != book.NotOver {
		return "over: " + endWords(v)
	}
	return v.Word()
}

// explain says why the sweep has the lanes it has, and why trials were paused or failed.
func (c *sweepCall) explain(v *sweepView) error {
	out := c.cmd.OutOrStdout()
	r := v.row()
	if c.json {
		return terminal.WriteJSON(out, struct {
			sweepRow
			Standing sweep.Standing  `json:"standing"`
			Sharing  []sweep.Sharing `json:"sharing,omitempty"`
		}{r, v.Standing, v.Sharing})
	}
	fmt.Fprintf(out, "sweep %s: %s\n", number(v.Number), v.stateWords())
	if v.Standing.Problem != "" {
		fmt.Fprintf(out, "sluiced: %s\n", terminal.Escape(v.Standing.Problem))
	}
	if v.Book.Over == book.NotOver {
		fmt.Fprintf(out, "%s; it can use %s\n", terminal.Plural(r.Lanes, "lane")+" running", terminal.Plural(v.Standing.Wants, "lane"))
		fmt.Fprintf(out, "level %d: %s\n", v.Standing.Level, present.SweepLevel(v.Standing.Counted, v.Standing.Gap))
		fmt.Fprintf(out, "why a lane waits or gives way: sluice explain JOB, for the jobs %s\n", v.jobs())
	}
	if v.Slots() > 1 {
		for _, words := range v.sharingWords() {
			fmt.Fprintf(out, "per GPU: %s\n", words)
		}
	}
	if v.Asks() && v.Book.Over == book.NotOver {
		fmt.Fprintf(out, "searcher: %s\n", searcherWords(v))
	}
	for _, t := range v.sorted() {
		if words := originWords(t); words != "" {
			fmt.Fprintf(out, "trial %d %s\n", t.Number, words)
		}
		switch {
		case t.State == book.Paused && t.Rung > 0 && v.Members > 0:
			fmt.Fprintf(out, "trial %d lost its place: %d of %d at epoch %d\n", t.Number, t.Rank, t.Of, t.Rung)
		case present.Place(t) != "":
			fmt.Fprintf(out, "trial %d paused: %s\n", t.Number, present.Place(t))
		case t.State == book.Failed:
			fmt.Fprintf(out, "trial %d failed: %s\n", t.Number, terminal.Escape(t.Words))
		}
	}
	return nil
}

// searcherWords says how the program is that the sweep asks for points.
func searcherWords(v *sweepView) string {
	s := v.searcher()
	switch {
	case s.Failures > 0:
		return fmt.Sprintf("failed %s in a row: %s; it is started again, and trials that run go on. Its output: %s",
			terminal.Plural(s.Failures, "time"), terminal.Escape(s.Why), filepath.Join(v.Folder, sweep.SearcherFolder, sweep.OutputFile))
	case s.Waits > 0 && s.Why != "":
		return fmt.Sprintf("asked again for trial %d: %s", s.Waits, terminal.Escape(s.Why))
	case s.Waits > 0:
		return fmt.Sprintf("asked for trial %d", s.Waits)
	case s.Turn > 0:
		return "has answered all that was asked"
	}
	return "not started yet: it runs in the first lane"
}

// originWords says who copied from whom; "" if the trial is from the start.
func originWords(t *book.Trial) string {
	if t.Replaces == 0 {
		return ""
	}
	place := fmt.Sprintf("has the place of trial %d, ", t.Replaces)
	switch {
	case t.From == 0:
		return place + "from the beginning"
	case t.Copied == nil:
		return place + fmt.Sprintf("to go on from trial %d's checkpoint of about epoch %d", t.From, t.FromEpoch)
	case t.Copied.From == 0:
		return place + fmt.Sprintf("from the beginning: trial %d had no checkpoint", t.From)
	}
	return place + fmt.Sprintf("and went on from trial %d's checkpoint of epoch %s, with other parameters", t.Copied.From, present.Metric(t.Copied.Epoch))
}

// jobs names the lanes' jobs.
func (v *sweepView) jobs() string {
	var ids []int64
	for _, l := range v.Lanes {
		if l.Job > 0 && !l.Left {
			ids = append(ids, l.Job)
		}
	}
	if len(ids) == 0 {
		return number(v.Number)
	}
	return ranges(ids)
}

// sweepFigure is what sluice-plot draws of a sweep.
type sweepFigure struct {
	Sweep  int64        `json:"sweep"`
	Name   string       `json:"name"`
	Metric sweep.Metric `json:"metric"`
	Goal   *float64     `json:"goal,omitempty"`
	Trials []figureOf   `json:"trials"`
}

type figureOf struct {
	Trial  int               `json:"trial"`
	State  string            `json:"state"`
	Params map[string]string `json:"params"`
	Epochs []float64         `json:"epochs"`
	Values []float64         `json:"values"`
}

// drawSweep draws the learning curves, and the metric over each parameter.
func drawSweep(ctx context.Context, v *sweepView, file string) error {
	program, err := plotter()
	if err != nil {
		return err
	}
	figure := sweepFigure{Sweep: v.Number, Name: v.Name, Metric: v.Metric, Goal: v.Goal}
	for _, t := range v.sorted() {
		one := figureOf{Trial: t.Number, State: string(t.State), Params: map[string]string{}}
		for _, s := range sweep.ParsePoint(t.Point) {
			one.Params[s.Name] = s.Text
		}
		for _, m := range t.Curve {
			one.Epochs, one.Values = append(one.Epochs, m.Epoch), append(one.Values, m.Value)
		}
		figure.Trials = append(figure.Trials, one)
	}
	data, err := json.Marshal(figure)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, plotLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--sweep", "-o", file)
	cmd.Stdin = bytes.NewReader(data)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(string(said)))
	}
	return nil
}
