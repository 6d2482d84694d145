package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sluice-hpc/sluice/elastic/draw"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// Sweep is what came of one sweep in one run.
type Sweep struct {
	Name    string  `json:"sweep"`
	User    string  `json:"user"`
	Account string  `json:"account,omitempty"`
	Task    string  `json:"task"`
	Arrival Seconds `json:"arrival_s"`
	// Wait is the time from its arrival to its first lane, Goal to the first trial that is as good as
	// the goal (nil: none was, or there is no goal), Over to the moment at which no trial was left.
	Wait Seconds  `json:"wait_first_lane_s"`
	Goal *Seconds `json:"time_to_goal_s"`
	Over Seconds  `json:"over_s"`
	// Trials are those that it may begin.
	Trials int   `json:"trials"`
	Begun  int   `json:"trials_begun"`
	Done   int   `json:"trials_done"`
	Paused int   `json:"trials_paused"`
	Lanes  int   `json:"lanes_most"`  // at once
	Taken  int   `json:"lanes_taken"` // how often a lane gave its GPUs to others
	GPUs   Hours `json:"gpu_hours"`   // of its lanes, with their starts
}

// Sweeps makes the summaries of a result's sweeps; nil without.
func Sweeps(r replay.Result) (out []Sweep) {
	for _, s := range r.Sweeps {
		one := Sweep{
			Name: s.Name, User: s.User, Account: s.Account, Task: s.Task, Arrival: seconds(s.Submit), Wait: seconds(s.First - s.Submit), Over: seconds(s.Over - s.Submit),
			Trials: s.Asked, Begun: s.Begun, Done: s.Done, Paused: s.Paused, Lanes: s.Lanes, Taken: s.Taken, GPUs: Hours(s.GPUSeconds / 3600),
		}
		if s.Goal >= 0 {
			goal := seconds(s.Goal - s.Submit)
			one.Goal = &goal
		}
		out = append(out, one)
	}
	return out
}

// mostSweeps bounds the rows of a policy; the mean is always shown.
const mostSweeps = 20

// sweepColumns are the figures of a sweep, in order; NaN = it has none. Of several seeds they are means.
var sweepColumns = []struct {
	head   string
	figure func(Sweep) float64
	format string
}{
	{"ARRIVAL", func(s Sweep) float64 { return float64(s.Arrival) }, "%.0f"},
	{"WAIT", func(s Sweep) float64 { return float64(s.Wait) }, "%.0f"},
	{"TO_GOAL", func(s Sweep) float64 {
		if s.Goal == nil {
			return math.NaN()
		}
		return float64(*s.Goal)
	}, "%.0f"},
	{"OVER", func(s Sweep) float64 { return float64(s.Over) }, "%.0f"},
	{"DONE", func(s Sweep) float64 { return float64(s.Done) }, "%.1f"},
	{"PAUSED", func(s Sweep) float64 { return float64(s.Paused) }, "%.1f"},
	{"LANES", func(s Sweep) float64 { return float64(s.Lanes) }, "%.1f"},
	{"TAKEN", func(s Sweep) float64 { return float64(s.Taken) }, "%.1f"},
	{"GPU_H", func(s Sweep) float64 { return float64(s.GPUs) }, "%.2f"},
}

// sweepCells are the means of the sweeps that have the figure, with their number where some have none.
func sweepCells(of []Sweep) (cells []string) {
	for _, c := range sweepColumns {
		sum, n := 0.0, 0
		for _, s := range of {
			if x := c.figure(s); !math.IsNaN(x) {
				sum += x
				n++
			}
		}
		cell := "-"
		if n > 0 {
			cell = fmt.Sprintf(c.format, sum/float64(n))
		}
		if n < len(of) && n > 0 {
			cell += fmt.Sprintf(" (%d of %d)", n, len(of))
		}
		cells = append(cells, cell)
	}
	return cells
}

// writeSweeps writes the mean over all sweeps and one row for each sweep, policy by policy, and what
// the jobs beside them got; nothing without sweeps.
func writeSweeps(b *strings.Builder, rows []row) {
	lines := [][]string{{"POLICY", "SWEEP"}}
	for _, c := range sweepColumns {
		lines[0] = append(lines[0], c.head)
	}
	beside := ""
	for _, r := range rows {
		var all []Sweep
		var each [][]Sweep
		hours := 0.0
		for _, run := range r.runs {
			for i, s := range run.Sweeps {
				if i == len(each) {
					each = append(each, nil)
				}
				each[i] = append(each[i], s)
				hours += float64(s.GPUs)
			}
			all = append(all, run.Sweeps...)
		}
		if len(all) == 0 {
			continue
		}
		policy := draw.Printable(r.Policy)
		lines = append(lines, append([]string{policy, "mean of " + strconv.Itoa(len(each))}, sweepCells(all)...))
		for i, of := range each[:min(len(each), mostSweeps)] {
			lines = append(lines, append([]string{policy, draw.Printable(each[i][0].Name)}, sweepCells(of)...))
		}
		if rest := len(each) - mostSweeps; rest > 0 {
			lines = append(lines, []string{policy, fmt.Sprintf("and %d more (--output json)", rest)})
		}
		if r.Jobs > 0 {
			n := float64(len(r.runs))
			beside += fmt.Sprintf("  %s: %s, mean JCT %s s, %.2f GPU-hours\n", policy, draw.Count(r.Jobs, "job"), r.MeanJCT, float64(r.Useful+r.Restarting)-hours/n)
		}
	}
	if len(lines) == 1 {
		return
	}
	b.WriteString("sweeps, seconds after their arrival; the figures above are of ordinary jobs, GPU-hours of both:\n")
	writeLines(b, lines)
	if beside != "" {
		b.WriteString("ordinary jobs beside the sweeps:\n" + beside)
	}
}

// writeLines writes rows as columns, the first two to the left.
func writeLines(b *strings.Builder, lines [][]string) {
	var widths []int
	for k := range lines[0] {
		widths = append(widths, 0)
		for _, line := range lines {
			if k < len(line) {
				widths[k] = max(widths[k], utf8.RuneCountInString(line[k]))
			}
		}
	}
	for _, line := range lines {
		text := ""
		for k, cell := range line {
			text += pad(cell, widths[k], k > 1)
			if k == 0 {
				text += "  "
			}
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
	}
}
