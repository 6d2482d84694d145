package main

import (
	"fmt"
	"io"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

// speedOptions are the command line of "sluice speed".
type speedOptions struct {
	user   string
	json   bool
	output string
}

func newSpeedCommand() *cobra.Command {
	var o speedOptions
	c := &cobra.Command{
		Use:   "speed MODEL",
		Short: "Show the measured and the expected speed of a model",
		Long: `Shows the measured speeds of jobs with --model MODEL, and the predicted speed of other
allocations: by the curve that every job has, by least squares over the GPUs on each
node, their type and the other jobs there, and by a small neural network. Each is
compared with held-out measurements; the curve is used unless another predictor is
clearly better.`,
		Example: "  sluice speed resnet50\n  sluice speed resnet50 --plot speed.png",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	f := c.Flags()
	f.StringVarP(&o.user, "of-user", "u", "", "of the jobs of another user (default: your own, or all users' if the site shares speeds)")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.StringVarP(&o.output, "plot", "o", "", "draw speed against GPUs into a file, .png or .svg")
	return c
}

func (o *speedOptions) run(cmd *cobra.Command, model string) error {
	uid, err := numberOf(o.user)
	if err != nil {
		return err
	}
	if o.output != "" { // before any query
		if _, err := plotter(); err != nil {
			return err
		}
	}
	client, err := daemonFor(cmd)
	if err != nil {
		return err
	}
	s, err := client.Speeds(cmd.Context(), model, uid)
	if err != nil {
		return err
	}
	if o.output != "" {
		if err := plot(cmd.Context(), drawnSpeeds(s), o.output); err != nil {
			return err
		}
	}
	if o.json {
		return terminal.WriteJSON(cmd.OutOrStdout(), s)
	}
	whose := "your"
	switch {
	case s.Shared:
		whose = "all users'"
	case uid != nil:
		whose = s.User + "'s"
	}
	return writeSpeeds(cmd.OutOrStdout(), s, whose)
}

// numberOf is a user's number; nil for "".
func numberOf(name string) (*uint32, error) {
	if name == "" {
		return nil, nil
	}
	text := name
	if u, err := user.Lookup(name); err == nil {
		text = u.Uid
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("--of-user %q: no such user", name)
	}
	uid := uint32(n)
	return &uid, nil
}

func writeSpeeds(w io.Writer, s wire.Speeds, whose string) error {
	var facts sheet
	facts.put("Model", "%s, of %s jobs: %s of %ss in %s", s.Model, whose, terminal.Plural(s.Samples, "sample"), s.Unit, terminal.Plural(s.Shapes, "shape"))
	facts.put("Expected", "%s", believedLines(s))
	if err := facts.write(w); err != nil {
		return err
	}
	var tables []*terminal.Table
	if len(s.Forms) > 0 {
		tables = append(tables, formTable(s))
	}
	tables = append(tables, shapeTable(s, s.Measured, "SAMPLES"))
	if len(s.Predicted) > 0 {
		tables = append(tables, shapeTable(s, s.Predicted, "BY"))
	}
	for _, t := range tables {
		fmt.Fprintln(w)
		if err := t.Write(w); err != nil {
			return err
		}
	}
	return nil
}

// believedLines says which predictor is used for allocations without measurements, and
// why.
func believedLines(s wire.Speeds) string {
	if len(s.Forms) == 0 {
		return fmt.Sprintf("by the curve: others are compared with it from %s on", terminal.Plural(s.Enough, "shape"))
	}
	within := believedWhere(s.Forms, func(f wire.SpeedForm) (*float64, bool) { return f.Within, f.UsedWithin })
	beyond := believedWhere(s.Forms, func(f wire.SpeedForm) (*float64, bool) { return f.Beyond, f.UsedBeyond })
	return "between sizes measured " + within + "\nbeyond them " + beyond
}

func believedWhere(forms []wire.SpeedForm, of func(wire.SpeedForm) (*float64, bool)) string {
	i := slices.IndexFunc(forms, func(f wire.SpeedForm) bool { _, used := of(f); return used })
	if i < 0 {
		return "by the " + forms[0].Name
	}
	off, _ := of(forms[i])
	first, _ := of(forms[0])
	switch {
	case off == nil:
		return fmt.Sprintf("by the %s: too few sizes to hold some out", forms[i].Name)
	case i == 0:
		return fmt.Sprintf("by the %s, off by %s: no other is clearly better", forms[0].Name, offBy(off))
	}
	return fmt.Sprintf("by the %s, off by %s where the %s is off by %s", forms[i].Name, offBy(off), forms[0].Name, offBy(first))
}

func offBy(share *float64) string {
	if share == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100**share)
}

// formTable lists the predictors with their errors; ">" marks the one used.
func formTable(s wire.Speeds) *terminal.Table {
	t := &terminal.Table{Columns: []terminal.Column{terminal.Left("FORM"), terminal.Right("OFF BETWEEN"), terminal.Left(""), terminal.Right("OFF BEYOND"), terminal.Left("")}}
	mark := map[bool]string{true: "<"}
	for _, f := range s.Forms {
		t.Add(f.Name, offBy(f.Within), mark[f.UsedWithin], offBy(f.Beyond), mark[f.UsedBeyond])
	}
	return t
}

// shapeTable lists allocations with the prediction of each predictor.
func shapeTable(s wire.Speeds, shapes []wire.SpeedShape, last string) *terminal.Table {
	t := &terminal.Table{Columns: []terminal.Column{terminal.Right("GPUS"), terminal.Right("NODES"), terminal.Left("SPLIT"), terminal.Left("TYPE"), terminal.Right("BESIDE"), terminal.Right("SPEED")}}
	for _, f := range s.Forms {
		t.Columns = append(t.Columns, terminal.Right(strings.ToUpper(f.Name)))
	}
	t.Columns = append(t.Columns, terminal.Column{Head: last, Right: last == "SAMPLES"})
	unit := map[string]string{"step": "st"}[s.Unit]
	if unit == "" {
		unit = "ep"
	}
	for _, sh := range shapes {
		cells := []string{fmt.Sprint(sh.GPUs), fmt.Sprint(sh.Nodes), splitWords(sh.Split), orDash(sh.Kind), fmt.Sprint(sh.Beside), present.Pace(sh.Seconds, sh.Source, unit)}
		for i := range s.Forms {
			said := "-"
			if i < len(sh.Says) && sh.Says[i] > 0 {
				said = present.Figure(sh.Says[i])
			}
			cells = append(cells, said)
		}
		if last == "SAMPLES" {
			cells = append(cells, fmt.Sprint(sh.Samples))
		} else {
			cells = append(cells, sh.By)
		}
		t.Add(cells...)
	}
	return t
}

// splitWords formats a split: 4+2, or 4x8 for eight nodes of four.
func splitWords(split []int) string {
	if len(split) > 2 && slices.Min(split) == slices.Max(split) {
		return fmt.Sprintf("%dx%d", split[0], len(split))
	}
	words := make([]string, len(split))
	for i, g := range split {
		words[i] = strconv.Itoa(g)
	}
	return strings.Join(words, "+")
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// drawnSpeeds is the input of sluice-plot: the measured allocations, and each predictor's
// speed at every size on the smallest number of nodes with a value.
func drawnSpeeds(s wire.Speeds) speed.Profile {
	out := speed.Profile{Version: speed.ProfileVersion, Model: s.Model, Of: s.Unit}
	for _, m := range s.Measured {
		out.Points = append(out.Points, speed.Point{GPUs: m.GPUs, Nodes: m.Nodes, Seconds: m.Seconds, Steps: float64(m.Samples)})
	}
	fewest := map[int]wire.SpeedShape{}
	for _, sh := range slices.Concat(s.Measured, s.Predicted) {
		if had, known := fewest[sh.GPUs]; !known || sh.Nodes < had.Nodes {
			fewest[sh.GPUs] = sh
		}
	}
	for i, f := range s.Forms {
		line := speed.Line{Name: f.Name, Used: f.UsedWithin || f.UsedBeyond}
		if off := offBy(f.Within); off != "-" {
			line.Name += ", off by " + off
		}
		for gpus, sh := range fewest { // any order: sorted below
			if i < len(sh.Says) && sh.Says[i] > 0 {
				line.Points = append(line.Points, speed.Point{GPUs: gpus, Seconds: sh.Says[i]})
			}
		}
		slices.SortFunc(line.Points, func(a, b speed.Point) int { return a.GPUs - b.GPUs })
		out.Forms = append(out.Forms, line)
	}
	return out
}
