package main

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

	"github.com/spf13/cobra"

	"github.com/sluice-hpc/sluice/cmd/reach"
	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/sbatch"
	"github.com/sluice-hpc/sluice/slurm"
)

// profiling is one call of "sluice profile".
type profiling struct {
	in        *os.File
	out, errs io.Writer
	environ   []string
	meter     *terminal.Meter // of measure

	options profileOptions
	script  string
	base    submission // common to all sizes
	user    bool
	slurm   slurm.Client
	daemon  *client.Client
	sizes   []*profiledSize
	began   time.Time
}

// profile measures at all sizes and prints the results. It fails if no size at all could
// be measured.
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

// prepare does what 'sluice submit' does before it submits, and checks early what later
// steps need.
func (p *profiling) prepare(ctx context.Context, line sbatch.CommandLine) (err error) {
	p.base = submission{in: p.in, out: io.Discard, errs: p.errs, environ: p.environ}
	if err := p.base.understand(line); err != nil {
		return err
	}
	if p.base.request.Confined() {
		return errors.New("--data: runs that only measure have no data sets; leave it out and measure on data of your own")
	}
	if p.base.site, err = reach.Load(line.Config, line.User); err != nil {
		return err
	}
	if err := p.base.managed(); err != nil {
		return err
	}
	if p.base.request.Array != nil {
		p.base.request = p.base.request.Single()
		terminal.Warn(p.errs, "--array: the script is measured as a single job, outside of an array")
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
	if p.daemon, err = reach.Dial(p.base.site); err != nil {
		return err
	}
	if _, err := p.daemon.Report(ctx); err != nil {
		if errors.Is(err, wire.ErrNoDaemon) {
			return fmt.Errorf("sluiced is not running, and starts the runs (%s)", howToStart(p.base.site))
		}
		return err
	}
	if p.base.request.Spec.Model == "" {
		terminal.Warn(p.errs, "without --model=NAME the result is shown, but not used for later jobs")
	}
	for _, n := range p.options.sizes {
		p.sizes = append(p.sizes, &profiledSize{p: p, point: speed.Point{GPUs: n}})
	}
	return nil
}

// How often the runs are checked, and how long an interrupted profile waits for its jobs
// to end.
const (
	profilePeriod = time.Second
	profileEnd    = 30 * time.Second
)

// measure runs the sizes to their end. In any case none of its jobs is left.
func (p *profiling) measure(ctx context.Context) error {
	p.began = time.Now()
	tick := time.NewTicker(profilePeriod)
	defer tick.Stop()
	p.meter = terminal.NewMeter(p.errs)
	defer p.meter.Clear()
	for p.left() > 0 {
		p.look(ctx)
		p.meter.Show(p.progress(time.Now()))
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

// progress is the part that is done and what is being done. A run counts by the time that it may
// take at most.
func (p *profiling) progress(now time.Time) (part float64, text string) {
	done, running := 0, []string{}
	for _, s := range p.sizes {
		switch s.stage {
		case measured:
			done++
			part++
		case submitted:
			part += min(float64(now.Sub(s.at))/float64(p.options.measure.Limit), 0.95)
			running = append(running, fmt.Sprint(s.point.GPUs))
		}
	}
	text = fmt.Sprintf("%d of %s measured", done, terminal.Plural(len(p.sizes), "size"))
	if len(running) > 0 {
		text += "; now " + strings.Join(running, ", ")
	}
	return part / float64(max(len(p.sizes), 1)), text
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

// look advances every size as far as possible now.
func (p *profiling) look(ctx context.Context) {
	report, err := p.daemon.Report(ctx)
	if err != nil {
		report = wire.Report{Blind: err.Error()} // it may be back in a moment
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

// why is what a size waits for.
func (p *profiling) why(report wire.Report, idle int) string {
	switch {
	case report.Blind != "":
		return "sluiced has no answer from Slurm: " + report.Blind
	case p.ahead(report) != "":
		return p.ahead(report) + " waits for GPUs, and comes first"
	}
	return fmt.Sprintf("never so many GPUs were idle (now %d)", idle)
}

// ahead names a job of another user that waits for GPUs which the runs could use; "" if
// there is none.
func (p *profiling) ahead(report wire.Report) string {
	for _, d := range report.Demands {
		if p.meets(report, d.Partition) {
			return fmt.Sprintf("ordinary job %d", d.JobID)
		}
	}
	for _, j := range report.Jobs {
		if !j.Ended && j.GPUs == 0 && !j.OnHold && !dateless(j, report.At) && !p.own(j.JobID) && p.meets(report, j.Partition) {
			return fmt.Sprintf("job %d", j.JobID)
		}
	}
	return ""
}

// dateless reports whether a job waits for a deadline that cannot be admitted: it takes
// no GPUs, however many are idle.
func dateless(j wire.Job, now time.Time) bool {
	return !j.Soft && !j.Promised && j.Deadline.After(now) && !j.Ends.IsZero()
}

// meets reports whether a job of these partitions could be on a node that the runs may
// use; also if its partitions are unknown.
func (p *profiling) meets(report wire.Report, partitions string) bool {
	names := strings.Split(partitions, ",")
	return partitions == "" || slices.ContainsFunc(report.Nodes, func(n wire.Node) bool { return p.allowed(n) && shared(n.Partitions, names) })
}

func shared(one, other []string) bool {
	return slices.ContainsFunc(one, func(name string) bool { return slices.Contains(other, name) })
}

// idle is how many GPUs can be used without a delay of other jobs: none while another job
// waits for GPUs. GPUs reserved for runs that have not started yet are not idle.
func (p *profiling) idle(report wire.Report) int {
	if report.Blind != "" || p.ahead(report) != "" {
		return 0
	}
	idle := 0
	for _, n := range report.Nodes {
		if n.Usable && p.allowed(n) {
			idle += n.Free
		}
	}
	for _, s := range p.sizes {
		if s.stage == submitted && !s.runs {
			idle -= s.point.GPUs
		}
	}
	return idle
}

// most is how many GPUs there are, including nodes that are down at present.
func (p *profiling) most(report wire.Report) (n int) {
	for _, node := range report.Nodes {
		if p.allowed(node) {
			n += node.GPUs
		}
	}
	return n
}

func (p *profiling) own(job int64) bool {
	return slices.ContainsFunc(p.sizes, func(s *profiledSize) bool { return s.point.Job == job })
}

// allowed reports whether a node is in a partition of the runs. If none is named, Slurm's
// default is unknown here, and Slurm decides.
func (p *profiling) allowed(n wire.Node) bool {
	asked := p.base.request.Partitions
	return len(asked) == 0 || shared(n.Partitions, asked)
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
	fmt.Fprintln(p.errs, "sluice: interrupted; the runs were cancelled")
	return terminal.ExitCode(130)
}

// say reports the state of the runs, apart from the result.
func (p *profiling) say(format string, args ...any) {
	if p.meter != nil {
		p.meter.Clear()
	}
	fmt.Fprintf(p.errs, "sluice: "+format+"\n", args...)
}
