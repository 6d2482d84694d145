package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// Options of a benchmark run.
type Options struct {
	Bin     string // directory of sluice and sluiced
	Root    string // tree of another Slurm release; "" = this machine's
	Resizes int    // dead times to measure; 0 = 20
	// Only are the names of the figures to measure (Names); empty = all. If it contains
	// resizes, Slurm's own requeue of a job, which takes minutes, is not measured.
	Only    []string
	Figures io.Writer // "figure: NAME VALUE UNIT  # how", nothing else
	Story   io.Writer // messages about the run
}

// Run measures all figures on its own site.
func Run(ctx context.Context, o Options) (err error) {
	if err := known(o.Only); err != nil {
		return err
	}
	if o.Resizes == 0 {
		o.Resizes = 20
	}
	b := &bench{o: o}
	if b.Site, err = site.Up(ctx, site.Config{
		Lab: lab.Config{Dir: filepath.Join(os.TempDir(), fmt.Sprintf("sluice-bench-%d", os.Getpid())), Root: o.Root},
		Bin: o.Bin, Config: config,
	}); err != nil {
		return err
	}
	defer func() {
		clean, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer stop()
		err = errors.Join(err, b.Down(clean))
	}()
	if err := b.PutLibrary(); err != nil {
		return err
	}
	if err := site.Put(b.Path("loop.py"), []byte(loop), 0o644); err != nil {
		return err
	}
	if err := b.Start(ctx); err != nil {
		return err
	}
	for _, f := range figures {
		if len(o.Only) > 0 && !slices.Contains(o.Only, f.name) {
			continue
		}
		if err := f.measure(b, ctx); err != nil {
			return fmt.Errorf("%w\nsluiced's last words:\n%s", err, b.Tail(15))
		}
	}
	return nil
}

// figures are the figures that can be measured, in order.
var figures = []struct {
	name    string
	measure func(*bench, context.Context) error
}{
	{"submit", (*bench).submits},
	{"resizes", (*bench).deadTime},
	{"arrivals", (*bench).arrival},
	{"rpcs", (*bench).rpcs},
	{"queue", (*bench).queue},
}

// Names returns the names of all figures.
func Names() (out []string) {
	for _, f := range figures {
		out = append(out, f.name)
	}
	return out
}

// known returns an error if a name is not the name of a figure.
func known(names []string) error {
	for _, name := range names {
		if !slices.Contains(Names(), name) {
			return fmt.Errorf("no figure %q: there are %s", name, strings.Join(Names(), ", "))
		}
	}
	return nil
}

const config = `[cycle]
period = "30s"
transition = "500ms"
[resize]
grace = "60s"
cooldown = "0s"
[log]
level = "debug"
format = "json"
`

// loop is a training without a framework: the minimum of a program, so that sluice and
// Slurm are measured.
const loop = `import os, sys, time
with open(sys.argv[1], "a") as log:
    log.write("%.6f\n" % time.time())
import sluice
done = 0
if sluice.resume():
    done = int(open(os.path.join(str(sluice.resume()), "done")).read())
while True:
    time.sleep(0.05)
    done += 1
    if sluice.should_checkpoint():
        with sluice.checkpoint(step=done, epoch=done / 1000.0) as d:
            with open(os.path.join(str(d), "done"), "w") as f:
                f.write(str(done))
    if done % 20 == 0:
        sluice.report(epoch=done / 1000.0)
`

type bench struct {
	*site.Site
	o Options
}

func (b *bench) figure(name string, value float64, unit, how string, args ...any) {
	fmt.Fprintf(b.o.Figures, "figure: %s %.3g %s  # Slurm %s, %s\n", name, value, unit, b.Lab.Release(), fmt.Sprintf(how, args...))
}

func (b *bench) tell(format string, args ...any) {
	fmt.Fprintf(b.o.Story, "bench: "+format+"\n", args...)
}

// quantile returns the q-quantile by nearest rank; the values are sorted.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func median(values []float64) float64 { return quantile(values, 0.5) }

// script writes a job script that runs the loop and logs its first line.
func (b *bench) script(name string) (path, firstLines string, err error) {
	firstLines = b.Path("home", name+".first")
	path = b.Path("home", name+".sh")
	text := fmt.Sprintf("#!/bin/bash\ndate +%%s.%%N >>%s\nexec /usr/bin/python3 -u %s %s.loop\n", firstLines, b.Path("loop.py"), firstLines)
	return path, firstLines, site.Put(path, []byte(text), 0o755)
}
