package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// sweepRow is a sweep in JSON.
type sweepRow struct {
	Sweep     int64     `json:"sweep"`
	Name      string    `json:"name"`
	State     string    `json:"state"`
	Algorithm string    `json:"algorithm"`
	Seed      uint64    `json:"seed"`
	Metric    string    `json:"metric"`
	Goal      *float64  `json:"goal,omitempty"`
	Created   time.Time `json:"created"`
	Params    []string  `json:"params"`
	Trials    int       `json:"trials"` // asked for
	Begun     int       `json:"begun"`
	Running   int       `json:"running"`
	Waiting   int       `json:"waiting"`
	Paused    int       `json:"paused"`
	Failed    int       `json:"failed"`
	Done      int       `json:"done"`
	Lanes     int       `json:"lanes"` // that run
	Level     int       `json:"level"`
	Best      *trialRow `json:"best,omitempty"`
	Folder    string    `json:"folder"`
}

// trialRow is a trial in JSON.
type trialRow struct {
	Trial        int             `json:"trial"`
	State        string          `json:"state"`
	Params       json.RawMessage `json:"params"`
	Epoch        float64         `json:"epoch"`
	Value        *float64        `json:"value"` // the last
	Best         *float64        `json:"best"`
	Starts       int             `json:"starts"`
	Job          int64           `json:"job,omitempty"`  // in which it runs, or ran last
	Seed         *uint64         `json:"seed,omitempty"` // of a sweep with repeats, as Mean and Repeats
	Mean         *float64        `json:"mean,omitempty"` // of the best of the point's repeats
	Repeats      int             `json:"repeats,omitempty"`
	Rung         int             `json:"rung,omitempty"`
	Rank         int             `json:"rank,omitempty"`
	Of           int             `json:"of,omitempty"`
	sweep.Origin                 // of pbt: from where it was to go on
	Copied       *copyRow        `json:"copied,omitempty"`
	Words        string          `json:"why,omitempty"`
	Checkpoint   string          `json:"checkpoint,omitempty"`
	Output       string          `json:"output"`
}

// copyRow is the checkpoint that a trial of pbt began with.
type copyRow struct {
	From  int     `json:"from"` // 0: there was none, and it began from the beginning
	Epoch float64 `json:"epoch"`
}

func (v *sweepView) row() sweepRow {
	r := sweepRow{
		Sweep: v.Number, Name: v.Name, State: v.Word(), Algorithm: v.Algorithm, Seed: v.Seed, Metric: v.Metric.String(), Goal: v.Goal, Created: v.Created,
		Params: v.Params, Trials: v.Trials, Begun: len(v.Book.Trials), Running: v.Book.Count(book.Running), Waiting: v.Book.Count(book.Waiting),
		Paused: v.Book.Count(book.Paused), Failed: v.Book.Count(book.Failed), Done: v.Book.Count(book.Done), Lanes: v.LanesRun(), Level: v.Standing.Level, Folder: v.Folder,
	}
	if best, ok := v.Book.Leader(v.Sweep); ok {
		t, _ := best.Best(v.Metric)
		row := v.trialRow(t)
		if row.Repeats > 1 {
			row.Best = row.Mean
		}
		r.Best = &row
	}
	return r
}

func (v *sweepView) trialRow(t *book.Trial) trialRow {
	r := trialRow{
		Trial: t.Number, State: string(t.State), Params: json.RawMessage(sweep.PointJSON(sweep.ParsePoint(t.Point))), Starts: t.Start, Job: v.jobOf(t),
		Rung: t.Rung, Rank: t.Rank, Of: t.Of, Words: t.Words, Checkpoint: v.checkpointOf(t), Output: v.trialFolder(t.Number) + "/" + sweep.OutputFile,
	}
	r.Origin = t.Origin
	if t.Copied != nil {
		r.Copied = &copyRow{t.Copied.From, t.Copied.Epoch}
	}
	if last, ok := t.Last(); ok {
		r.Epoch, r.Value = last.Epoch, &last.Value
	}
	if best, ok := t.Best(v.Metric); ok {
		r.Best = &best.Value
	}
	if v.Repeats > 1 {
		seed, p := v.SeedOf(t.Repeat), v.point(t)
		if r.Seed, r.Repeats = &seed, p.Marks; p.Marks > 0 {
			r.Mean = &p.Value
		}
	}
	return r
}

// table lists sweeps.
func (c *sweepCall) table(all []*sweepView) error {
	out := c.cmd.OutOrStdout()
	rows := []sweepRow{}
	for _, v := range all {
		rows = append(rows, v.row())
	}
	if c.json {
		return terminal.WriteJSON(out, rows)
	}
	t := terminal.Table{NoHeader: c.noHeader, Room: terminal.Room(out), Columns: []terminal.Column{
		terminal.Right("SWEEP"), terminal.Left("NAME"), terminal.Left("STATE"), terminal.Left("SEARCH"), terminal.Right("TRIALS"), terminal.Right("RUN"),
		terminal.Right("FAILED"), terminal.Left("METRIC"), terminal.Right("BEST"),
	}}
	for _, r := range rows {
		best := "-"
		if r.Best != nil {
			best = present.Metric(*r.Best.Best)
		}
		t.Add(number(r.Sweep), r.Name, r.State, r.Algorithm, fmt.Sprintf("%d/%d", r.Begun, r.Trials), strconv.Itoa(r.Running), strconv.Itoa(r.Failed), r.Metric, best)
	}
	return t.Write(out)
}

func number(n int64) string {
	if n == 0 {
		return "?"
	}
	return strconv.FormatInt(n, 10)
}

// sorted are the trials in the order of all lists of them.
func (v *sweepView) sorted() []*book.Trial {
	return v.Book.Sort(v.Sweep)
}

// point is what the sweep knows of a trial's parameters, with all their repeats.
func (v *sweepView) point(t *book.Trial) book.Point {
	if v.points == nil {
		v.points = map[int]book.Point{}
		for _, p := range v.Book.Points(v.Sweep) {
			for _, one := range p.Trials {
				v.points[one.Number] = p
			}
		}
	}
	return v.points[t.Number]
}

// list lists the trials.
func (c *sweepCall) list(v *sweepView) error {
	out := c.cmd.OutOrStdout()
	trials := v.sorted()
	switch {
	case c.json && c.csv:
		return fmt.Errorf("one format at a time: --json or --csv")
	case c.curves && (c.json || c.csv):
		return fmt.Errorf("--curves is for the table; 'sluice sweep export' prints every point of every curve")
	case c.most < 0:
		return fmt.Errorf("--best %d: want a number of trials", c.most)
	case c.most > 0:
		trials = trials[:min(len(trials), c.most)]
	}
	switch {
	case c.json:
		rows := []trialRow{}
		for _, t := range trials {
			rows = append(rows, v.trialRow(t))
		}
		return terminal.WriteJSON(out, rows)
	case c.csv:
		return c.trialsCSV(v, trials)
	}
	return c.trialTable(v, trials)
}

func (c *sweepCall) trialTable(v *sweepView, trials []*book.Trial) error {
	out := c.cmd.OutOrStdout()
	columns := []terminal.Column{terminal.Right("TRIAL"), terminal.Right("JOB"), terminal.Left("STATE"), terminal.Right("EPOCH"), terminal.Right("BEST")}
	span, unicode := spanOf(trials), speaksUnicode(os.Environ())
	if c.curves {
		columns = append(columns, terminal.Left("CURVE"))
	}
	if v.Repeats > 1 {
		columns = append(columns, terminal.Right("SEED"), terminal.Right("MEAN"))
	}
	t := terminal.Table{Room: terminal.Room(out), Columns: append(columns, terminal.Left("PARAMETERS"), terminal.Left("NOTE"))}
	for _, trial := range trials {
		epoch, best := "-", "-"
		if last, ok := trial.Last(); ok {
			epoch = present.Metric(last.Epoch)
		}
		if mark, ok := trial.Best(v.Metric); ok {
			best = present.Metric(mark.Value)
		}
		note := cmp.Or(present.Place(trial), trial.Words)
		job := "-"
		if n := v.jobOf(trial); n > 0 {
			job = number(n)
		}
		cells := []string{strconv.Itoa(trial.Number), job, string(trial.State), epoch, best}
		if c.curves {
			cells = append(cells, span.draw(trial, unicode))
		}
		if v.Repeats > 1 {
			mean := "-"
			if p := v.point(trial); p.Marks > 0 {
				mean = present.Metric(p.Value)
			}
			cells = append(cells, strconv.FormatUint(v.SeedOf(trial.Repeat), 10), mean)
		}
		t.Add(append(cells, trial.Point, note)...)
	}
	return t.Write(out)
}

// names are the parameters of all trials, in the order of the sweep's.
func (v *sweepView) names() (out []string) {
	for _, t := range v.Book.Trials {
		for _, s := range sweep.ParsePoint(t.Point) {
			if !slices.Contains(out, s.Name) {
				out = append(out, s.Name)
			}
		}
	}
	return out
}

// exact writes a number for programs, in all digits.
func exact(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

func (c *sweepCall) trialsCSV(v *sweepView, trials []*book.Trial) error {
	w := csv.NewWriter(c.cmd.OutOrStdout())
	names := v.names()
	head := []string{"trial", "state", "starts", "epoch", v.Metric.Name, "why", "checkpoint"}
	if v.Repeats > 1 {
		head = append(head, "sluice.seed", "sluice.mean")
	}
	w.Write(append(head, names...)) // Flush reports errors
	for _, t := range trials {
		row := []string{strconv.Itoa(t.Number), string(t.State), strconv.Itoa(t.Start), "", "", t.Words, v.checkpointOf(t)}
		if last, ok := t.Last(); ok {
			row[3] = exact(last.Epoch)
		}
		if best, ok := t.Best(v.Metric); ok {
			row[4] = exact(best.Value)
		}
		if v.Repeats > 1 {
			mean := ""
			if p := v.point(t); p.Marks > 0 {
				mean = exact(p.Value)
			}
			row = append(row, strconv.FormatUint(v.SeedOf(t.Repeat), 10), mean)
		}
		w.Write(append(row, v.values(t, names)...))
	}
	w.Flush()
	return w.Error()
}

func (v *sweepView) values(t *book.Trial, names []string) []string {
	out := make([]string, len(names))
	for _, s := range sweep.ParsePoint(t.Point) {
		if i := slices.Index(names, s.Name); i >= 0 {
			out[i] = s.Text
		}
	}
	return out
}

// export prints every point of every curve.
func (c *sweepCall) export(v *sweepView) error {
	out := c.cmd.OutOrStdout()
	if c.json {
		type point struct {
			Epoch  float64            `json:"epoch"`
			Value  float64            `json:"value"`
			Others map[string]float64 `json:"others,omitempty"`
		}
		type curve struct {
			trialRow
			Curve []point `json:"curve"`
		}
		all := struct {
			sweepRow
			All []curve `json:"all"`
		}{sweepRow: v.row(), All: []curve{}}
		for _, t := range v.sorted() {
			one := curve{trialRow: v.trialRow(t), Curve: []point{}}
			for _, m := range t.Curve {
				one.Curve = append(one.Curve, point{m.Epoch, m.Value, m.Others})
			}
			all.All = append(all.All, one)
		}
		return terminal.WriteJSON(out, all)
	}
	w := csv.NewWriter(out)
	names := v.names()
	w.Write(append([]string{"trial", "epoch", v.Metric.Name}, names...)) // Flush reports errors
	for _, t := range v.sorted() {
		values := v.values(t, names)
		for _, m := range t.Curve {
			w.Write(append([]string{strconv.Itoa(t.Number), exact(m.Epoch), exact(m.Value)}, values...))
		}
	}
	w.Flush()
	return w.Error()
}

// best prints the best trial.
func (c *sweepCall) best(v *sweepView) error {
	out := c.cmd.OutOrStdout()
	p, ok := v.Book.Leader(v.Sweep)
	if !ok {
		return fmt.Errorf("sweep %d: no trial has reported %s yet", v.Number, v.Metric.Name)
	}
	t, mark := p.Best(v.Metric)
	if c.json {
		return terminal.WriteJSON(out, v.trialRow(t))
	}
	if v.Repeats > 1 {
		fmt.Fprintf(out, "mean        %s of %s with other seeds\n", present.Metric(p.Value), terminal.Plural(p.Marks, "repeat"))
	}
	fmt.Fprintf(out, "trial       %d (%s)\n%-11s %s at epoch %s\n", t.Number, t.State, terminal.Escape(v.Metric.Name), present.Metric(mark.Value), present.Metric(mark.Epoch))
	for _, s := range sweep.ParsePoint(t.Point) {
		fmt.Fprintf(out, "%-11s %s\n", terminal.Escape(s.Name), terminal.Escape(s.Text))
	}
	fmt.Fprintf(out, "checkpoint  %s\noutput      %s\n", cmp.Or(v.checkpointOf(t), "none"), v.trialFolder(t.Number)+"/"+sweep.OutputFile)
	return nil
}
