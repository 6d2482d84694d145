// Command sluice-plot draws the output of 'sluice profile --json', or what 'sluice speed'
// passes to it: throughput against GPUs. It is a separate program, in sluice's own
// folder, because drawing, above all the fonts, would slow down every start of sluice.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/learn/speed"
)

const usage = `Usage: sluice profile train.sh --sizes 1,2,4 --json | sluice-plot -o curve.png

Draws throughput against GPUs, as PNG or SVG by the name of the file.
'sluice profile -o FILE' does both at once.
`

// maxInput bounds the size of the input.
const maxInput = 1 << 20

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stderr)) }

func run(args []string, in io.Reader, errs io.Writer) int {
	flags := flag.NewFlagSet("sluice-plot", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() { fmt.Fprint(errs, usage) }
	file := flags.String("o", "", "file to write, .png or .svg")
	sweeps := flags.Bool("sweep", false, "draw a sweep, as 'sluice sweep show -o FILE' passes it")
	if err := flags.Parse(args); err != nil {
		if err == flag.ErrHelp {
			return 0
		}
		return 2
	}
	if flags.NArg() > 0 || *file == "" {
		flags.Usage()
		return 2
	}
	if err := picture(in, *file, *sweeps); err != nil {
		fmt.Fprintln(errs, "sluice-plot: error:", err)
		return 1
	}
	return 0
}

// picture reads a profile, or a sweep, and writes its plot. On an error an existing file is
// not changed.
func picture(in io.Reader, file string, sweeps bool) error {
	kind := strings.ToLower(strings.TrimPrefix(filepath.Ext(file), "."))
	if kind != "png" && kind != "svg" {
		return fmt.Errorf("-o %s: want a file that ends in .png or .svg", file)
	}
	drawn, err := drawing(in, kind, sweeps)
	if err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(file), ".sluice-plot-*")
	if err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	defer os.Remove(out.Name()) // does not exist any more after success
	if _, err = drawn.WriteTo(out); err == nil {
		err = out.Chmod(0o644)
	}
	if closing := out.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(out.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("-o %s: %w", file, err)
	}
	return nil
}

// drawing draws what is read.
func drawing(in io.Reader, kind string, sweeps bool) (io.WriterTo, error) {
	if sweeps {
		s, err := readSweep(in)
		if err != nil {
			return nil, err
		}
		panels, err := s.panels()
		if err != nil {
			return nil, err
		}
		return renderSweep(panels, kind), nil
	}
	profile, err := read(in)
	if err != nil {
		return nil, err
	}
	p, err := figure(profile)
	if err != nil {
		return nil, err
	}
	return render(p, kind), nil
}

// read reads one profile and checks what drawing relies on.
func read(in io.Reader) (speed.Profile, error) {
	var p speed.Profile
	data, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	switch {
	case err != nil:
		return p, err
	case len(data) > maxInput:
		return p, fmt.Errorf("the profile has more than %d bytes", maxInput)
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("not what 'sluice profile --json' prints: %w", err)
	}
	if p.Version > speed.ProfileVersion {
		return p, fmt.Errorf("the profile has version %d, and this program supports %d; install the sluice-plot of the same release", p.Version, speed.ProfileVersion)
	}
	if p.Points = drawable(p.Points); len(p.Points) == 0 {
		return p, fmt.Errorf("no size was measured, so there is nothing to draw")
	}
	var forms []speed.Line
	for _, f := range p.Forms {
		if f.Points = drawable(f.Points); len(f.Points) > 0 && len(forms) < mostForms {
			forms = append(forms, f)
		}
	}
	p.Forms = forms
	return p, nil
}

// mostForms bounds the lines of a picture.
const mostForms = 8

func drawable(points []speed.Point) (good []speed.Point) {
	for _, pt := range points {
		if pt.Seconds > 1e-9 && pt.Seconds < 1e9 && pt.GPUs >= 1 && pt.GPUs <= 1_000_000 && pt.Spread >= 0 {
			good = append(good, pt)
		}
	}
	return good
}
