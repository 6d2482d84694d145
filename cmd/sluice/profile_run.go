package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/elastic/control"
	"github.com/sluice-hpc/sluice/elastic/speed"
	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm"
)

// profiling is one call of "sluice profile".
type profiling struct {
	in        *os.File
	out, errs io.Writer
	environ   []string

	options profileOptions
	script  string
	base    submission // what all sizes share
	user    bool
	slurm   slurm.Client
	daemon  *control.Client
	sizes   []*profiledSize
	began   time.Time
}

// profile measures at all sizes and says what came of it. It fails when no size at
// all could be measured.
func (p *profiling) profile(ctx context.Context, cmd *cobra.Command, args []string) error {
	options, rest, err := profileArgs(args)
	if err != nil {
		return err
	}
	line, err := sbatch.ParseCommandLine(rest)
	if err != nil {
		return err
	}
	if line.Help {
		return cmd.Help()
	}
	p.options = options
	if err := p.prepare(ctx, line); err != nil {
		return err
	}
	if err := p.measure(ctx); err != nil {
		return err
	}
	return p.publish(ctx)
}

// prepare does what 'sluice submit' does before it submits, and makes sure that what
// comes after will work.
func (p *profiling) prepare(ctx context.Context, line sbatch.CommandLine) (err error) {
	p.base = submission{in: p.in, out: io.Discard, errs: p.errs, environ: p.environ}
	if err := p.base.understand(line); err != nil {
		return err
	}
	if p.base.site, err = loadSite(line.Config, line.User); err != nil {
		return err
	}
	if err := p.base.managed(); err != nil {
		return err
	}
	p.user, p.script = line.User, filepath.Base(line.Script)
	if line.Script == "" {
		p.script = "the script"
	}
	if len(p.options.sizes) == 0 {
		p.options.sizes = sbatch.ProfileSizes(p.base.request.Spec)
	}
	if p.options.output != "" {
		if _, err := plotter(); err != nil {
			return err
		}
	}
	if p.slurm, err = slurmFor(p.base.site); err != nil {
		return err
	}
	if p.daemon, err = dial(p.base.site); err != nil {
		return err
	}
	if _, err := p.daemon.Report(ctx); err != nil {
		if errors.Is(err, control.ErrNoDaemon) {
			return fmt.Errorf("sluiced is not running, and starts the runs (%s)", howToStart(p.base.site))
		}
		return err
	}
	if p.base.request.Spec.Model == "" {
		warn(p.errs, "without --model=NAME what is measured is shown, but helps no later job")
	}
	for _, n := range p.options.sizes {
		p.sizes = append(p.sizes, &profiledSize{p: p, point: speed.Point{GPUs: n}})
	}
	return nil
}

// How often the runs are looked at, and how long an interrupted profile waits for
// its jobs to be gone.
const (
	profilePeriod = time.Second
	profileEnd    = 30 * time.Second
)

// measure runs the sizes to their end. Whatever happens, no job of it is left.
func (p *profiling) measure(ctx context.Context) error {
	p.began = time.Now()
	tick := time.NewTicker(profilePeriod)
	defer tick.Stop()
	for p.left() > 0 {
		p.look(ctx)
		if p.left() == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return p.abandon()
		case <-tick.C:
		}
	}
	return nil
}

// left is how many sizes are not finished.
func (p *profiling) left() (n int) {
	for _, s := range p.sizes {
		if s.stage != measured {
			n++
		}
	}
	return n
}

// look brings every size on as far as it goes now.
func (p *profiling) look(ctx context.Context) {
	report, err := p.daemon.Report(ctx)
	if err != nil {
		report = control.Report{Blind: err.Error()} // it may be back in a moment
	}
	busy := false
	for _, s := range p.sizes {
		if s.stage == submitted {
			s.follow(ctx, report)
			busy = busy || s.stage == submitted
		}
	}
	idle := p.idle(report)
	for _, s := range p.sizes {
		if s.stage != waiting || ctx.Err() != nil {
			continue
		}
		switch most := p.most(report); {
		case report.Blind == "" && s.point.GPUs > most:
			s.fail("the nodes it may use have %d GPUs; leave that size out", most)
		case p.options.sequential && busy, s.point.GPUs > idle:
			if time.Since(p.began) > p.options.wait && !busy {
				s.fail("%s; type --wait=1h to wait longer", p.why(report, idle))
			}
		default:
			s.submit(ctx)
			idle -= s.point.GPUs
			busy = busy || s.stage == submitted
		}
	}
}

// why says what a size waits for.
func (p *profiling) why(report control.Report, idle int) string {
	switch {
	case report.Blind != "":
		return "sluiced does not see Slurm: " + report.Blind
	case len(report.Demands) > 0:
		return fmt.Sprintf("ordinary job %d waits for GPUs, and comes first", report.Demands[0].JobID)
	}
	return fmt.Sprintf("never so many GPUs were idle (now %d)", idle)
}

// idle is how many GPUs can be had without taking them from anybody: none while
// somebody else waits for some. What is promised to runs that have not started yet
// is not idle.
func (p *profiling) idle(report control.Report) int {
	if report.Blind != "" || len(report.Demands) > 0 {
		return 0
	}
	idle := 0
	for _, n := range report.Nodes {
		if p.mayUse(n) {
			idle += n.Free
		}
	}
	for _, j := range report.Jobs {
		if !j.Ended && j.GPUs == 0 && !j.OnHold && !p.own(j.JobID) {
			return 0
		}
	}
	for _, s := range p.sizes {
		if s.stage == submitted && !s.runs {
			idle -= s.point.GPUs
		}
	}
	return idle
}

// most is how many GPUs there are at all.
func (p *profiling) most(report control.Report) (n int) {
	for _, node := range report.Nodes {
		if p.mayUse(node) {
			n += node.GPUs
		}
	}
	return n
}

func (p *profiling) own(job int64) bool {
	return slices.ContainsFunc(p.sizes, func(s *profiledSize) bool { return s.point.Job == job })
}

// mayUse reports whether the runs can be on a node. Without a partition named, which
// is Slurm's default is not known here, and Slurm has the last word.
func (p *profiling) mayUse(n control.Node) bool {
	asked := p.base.request.Partitions
	return n.Usable && (len(asked) == 0 || slices.ContainsFunc(asked, func(name string) bool { return slices.Contains(n.Partitions, name) }))
}

// abandon ends an interrupted profile.
func (p *profiling) abandon() error {
	ctx, cancel := context.WithTimeout(context.Background(), profileEnd)
	defer cancel()
	for _, s := range p.sizes {
		if s.stage == submitted {
			s.cancel(ctx)
		}
	}
	for _, s := range p.sizes {
		if s.stage == submitted {
			s.gone(ctx)
			s.clear()
		}
	}
	fmt.Fprintln(p.errs, "sluice: interrupted; the runs are cancelled, and nothing of them is left")
	return exitCode(130)
}

// say tells how things go, beside the result.
func (p *profiling) say(format string, args ...any) {
	fmt.Fprintf(p.errs, "sluice: "+format+"\n", args...)
}
