package exact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/python"
	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// Options of a run.
type Options struct {
	Bin    string    // directory of sluice and sluiced
	Root   string    // tree of another Slurm release; "" = this machine's
	Python string    // interpreter with torch; "" = /usr/bin/python3
	Kills  int       // how many; 0 = the exactness tables only
	Only   bool      // kills only, no tables; there must be some
	Seed   uint64    // seed of the moments and victims
	Kinds  []string  // what to kill: worker, runner, node; none = all
	Labs   int       // labs at a time, each with one job, 16 at most; 0 = 1
	Out    io.Writer // tables and the last line
	Story  io.Writer // messages about the run
}

// The training is small, so that a restart costs little more than Python's start.
const (
	perEpoch = 20
	epochs   = 40
	steps    = epochs * perEpoch
	maxGPUs  = 6 // on two nodes of three
)

const config = `[cycle]
period = "1s"
transition = "300ms"
[resize]
grace = "20s"
cooldown = "0s"
payback = 1
confirm = "40s"
save = "0s"
drain = "0s"
start = "1s"
load = "1s"
[log]
level = "debug"
format = "json"
`

// trial is one lab with its jobs, one after the other.
type trial struct {
	*site.Site
	o      Options
	number int
	precision
	story   *story
	jobs    int
	crashes int // crashes of slurmctld by itself
}

// story is written by all trials.
type story struct {
	mu    sync.Mutex
	to    io.Writer
	began time.Time
}

func (s *story) tell(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.to, "exact: %5.0fs  %s\n", time.Since(s.began).Seconds(), fmt.Sprintf(format, args...))
}

func (t *trial) tell(format string, args ...any) {
	t.story.tell("lab %d: %s", t.number, fmt.Sprintf(format, args...))
}

// Run prints the exactness tables, then kills. It returns an error if there was a
// violation, and at once if the options are invalid.
func Run(ctx context.Context, o Options) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.Python == "" {
		o.Python = "/usr/bin/python3"
	}
	o.Labs = max(1, o.Labs)
	if len(o.Kinds) == 0 {
		o.Kinds = kinds
	}
	s := &story{to: o.Story, began: time.Now()}
	var broken []error
	for _, p := range precisions {
		if o.Only && !p.killed {
			continue
		}
		var err error
		if p.reference, err = neverDisturbed(ctx, o, s, p); err != nil {
			return errors.Join(append(broken, err)...)
		}
		if !o.Only {
			table, err := exactness(ctx, o, s, p)
			table.print(o.Out)
			broken = append(broken, err, table.verdict(o.Out))
		}
		if p.killed && o.Kills > 0 && ctx.Err() == nil {
			deaths, err := campaign(ctx, o, s, p)
			deaths.print(o.Out)
			broken = append(broken, err, deaths.verdict(o.Out))
		}
	}
	return errors.Join(broken...)
}

// check refuses options that would kill something else than requested, or nothing.
func (o Options) check() error {
	for _, kind := range o.Kinds {
		if !slices.Contains(kinds, kind) {
			return fmt.Errorf("--kind %s: want worker, runner or node", kind)
		}
	}
	switch {
	case o.Kills < 0:
		return fmt.Errorf("--kills %d: want 0 or more", o.Kills)
	case o.Only && o.Kills == 0:
		return errors.New("--kills-only with --kills 0 would do nothing: leave one of them out")
	case o.Labs < 0 || o.Labs > mostLabs:
		return fmt.Errorf("--labs %d: want 1 to %d", o.Labs, mostLabs)
	}
	return nil
}

// mostLabs bounds the labs of a campaign: each has its own Slurm.
const mostLabs = 16

// precision is a type of number to train with. Sums of float32 differ by what training
// makes of rounding errors; with float64 any other error would show.
type precision struct {
	name      string
	option    []string
	bound     float64
	killed    bool // the campaign uses it
	reference []float64
}

var precisions = []precision{
	{name: "float32", bound: bound32},
	{name: "float64", option: []string{"--double"}, bound: bound64, killed: true},
}

// neverDisturbed trains the reference: one process, outside Slurm and any job, from the
// first step to the last.
func neverDisturbed(ctx context.Context, o Options, s *story, p precision) ([]float64, error) {
	dir, err := os.MkdirTemp("", "sluice-exact-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := python.WriteTo(filepath.Join(dir, "python")); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	log := filepath.Join(dir, "steps")
	cmd := exec.CommandContext(ctx, o.Python, training(filepath.Join(dir, "python"), log, p.option...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the reference: %s -m torch is needed: %w\n%s", o.Python, err, out)
	}
	list, err := readLog(log, perEpoch)
	if err != nil || len(list) != steps {
		return nil, fmt.Errorf("the reference trained %d steps of %d: %w", len(list), steps, err)
	}
	reference := make([]float64, steps)
	for _, r := range list {
		reference[r.step] = r.loss
	}
	s.tell("reference, %s: %d steps by one process, never disturbed; first loss %.4f, last %.6f", p.name, steps, reference[0], reference[steps-1])
	return reference, nil
}

// training is the arguments of the training program.
func training(library, log string, more ...string) []string {
	return append([]string{"-u", filepath.Join(library, "examples", "train_ddp.py"),
		"--epochs", fmt.Sprint(epochs), "--steps-per-epoch", fmt.Sprint(perEpoch), "--steps-log", log}, more...)
}

// newTrial builds a lab with its own sluiced.
func newTrial(ctx context.Context, o Options, s *story, number int, p precision) (*trial, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("sluice-exact-%d-%d", os.Getpid(), number))
	// A silent node is DOWN after 5 s, and Slurm runs a job again 6 s after its node
	// failed; the default is 121 s (cred_expire). Nothing would be learned in that time,
	// nor while a job waits for the backfill.
	settings := "AuthInfo=socket=" + filepath.Join(dir, "run", "munge.sock") + ",cred_expire=5"
	st, err := site.Up(ctx, site.Config{Bin: o.Bin, Config: config, Mounts: site.MountsOfEnvironment(), Lab: lab.Config{
		Dir: dir, Nodes: 2, GPUs: maxGPUs / 2, Root: o.Root, FastScheduling: true, SlurmdTimeout: 5 * time.Second, ExtraConf: settings}})
	if err != nil {
		return nil, err
	}
	t := &trial{Site: st, o: o, number: number, precision: p, story: s}
	err = t.PutLibrary()
	if err == nil {
		err = t.Start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.close(ctx))
	}
	t.tell("Slurm %s, 2 nodes x %d GPUs (device files stand in for GPUs), sluiced runs", t.Lab.Release(), maxGPUs/2)
	return t, nil
}

// close audits the lab and takes it down, also when ctx has ended.
func (t *trial) close(ctx context.Context) error {
	clean, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
	defer stop()
	report, err := t.Audit(clean)
	if err == nil {
		t.tell("%s", report)
	}
	if n := len(report.Violations); n > 0 {
		err = fmt.Errorf("lab %d: the audit found %d violations", t.number, n)
	}
	return errors.Join(err, t.Down(clean))
}
