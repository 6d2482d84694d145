package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// Options of a demo. The zero value is the demo of the README.
type Options struct {
	Bin  string    // directory of sluice and sluiced
	Dir  string    // where the site is built; "" = a new directory in /tmp
	Out  io.Writer // where the messages are written
	Keep bool      // keep the site's files
}

// plan is one job of the demo.
type plan struct {
	name   string
	user   int // index of the account
	after  time.Duration
	grown  bool // submitted once the others have grown
	epochs int
	max    int
	cancel bool // in the middle of a resize
	id     int64
}

const (
	patience = 12 * time.Second // how long an arrival waits for the others to grow
	perEpoch = 4                // steps an epoch
	oneGPU   = 1.0              // emulated seconds of a step on one GPU
)

// plans are the six jobs: mixed lengths, with gaps, one by a second user.
func plans() []*plan {
	return []*plan{
		{name: "long", epochs: 110, max: 6},
		{name: "wide", after: 4 * time.Second, grown: true, epochs: 55, max: 4},
		{name: "other-user", user: 1, after: 4 * time.Second, grown: true, epochs: 45, max: 4},
		{name: "doomed", after: 4 * time.Second, grown: true, epochs: 90, max: 4, cancel: true},
		{name: "short", after: 6 * time.Second, epochs: 10, max: 2},
		{name: "late", after: 14 * time.Second, epochs: 30, max: 4},
	}
}

const config = `[cycle]
period = "3s"
transition = "500ms"
[resize]
grace = "40s"
cooldown = "12s"
payback = 1
confirm = "60s"
save = "1s"
drain = "1s"
start = "2s"
load = "5s"
[log]
level = "debug"
format = "json"
`

// demo is one run.
type demo struct {
	*site.Site
	o        Options
	users    []string
	jobs     []*plan
	ordinary int64
	began    time.Time
	doomedAt string // the step of the resize in which the doomed job was cancelled
}

// Run builds a site, shows the demo, takes everything down again and returns an error
// unless every check against Slurm and the jobs' own logs succeeded.
func Run(ctx context.Context, o Options) (err error) {
	d := &demo{o: o, jobs: plans(), began: time.Now()}
	if err := d.build(ctx); err != nil {
		return err
	}
	defer func() {
		// Taking down must work even when ctx is what ended the demo.
		clean, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer stop()
		wrong := err != nil && ctx.Err() == nil // and it was not interrupted
		if o.Keep || wrong {
			d.say("kept: %s (sluice lab down --dir %s removes it)", d.Path(), d.Path())
		}
		switch {
		case o.Keep:
			err = errors.Join(err, d.Stop())
		case wrong: // the reason is in its logs
			err = errors.Join(err, d.Leave(clean))
		default:
			err = errors.Join(err, d.Down(clean))
		}
	}()
	if err := d.play(ctx); err != nil {
		return fmt.Errorf("%w\nsluiced's last words:\n%s", err, d.Tail(15))
	}
	return d.verdict(ctx)
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.o.Out, "demo: %3.0fs  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

// build starts Slurm and sluiced and installs the training program.
func (d *demo) build(ctx context.Context) error {
	d.users = []string{"", ""}
	var accounts []string
	if os.Geteuid() == 0 {
		d.users = []string{site.FreeAccount("sluice-ada"), site.FreeAccount("sluice-bob")}
		accounts = d.users
	} else {
		d.say("not root: all jobs run under your own account, without a second user")
	}
	if d.o.Dir == "" {
		d.o.Dir = filepath.Join(os.TempDir(), fmt.Sprintf("sluice-demo-%d", os.Getpid()))
	}
	d.say("starting a real Slurm on loopback: 3 nodes with 4 GPUs each (device files stand in for GPUs)")
	var err error
	d.Site, err = site.Up(ctx, site.Config{
		Lab: lab.Config{Dir: d.o.Dir, Nodes: 3, GPUs: 4}, Bin: d.o.Bin, Config: config, Accounts: accounts,
	})
	if err != nil {
		return err
	}
	if err := d.PutLibrary(); err != nil {
		return errors.Join(err, d.Down(context.WithoutCancel(ctx)))
	}
	d.say("Slurm %s is up; starting sluiced as %s", d.Lab.Release(), d.Lab.SlurmUser())
	if err := d.Start(ctx); err != nil {
		return errors.Join(err, d.Down(context.WithoutCancel(ctx)))
	}
	return nil
}

// play submits the jobs and shows the queue until all have ended.
func (d *demo) play(ctx context.Context) error {
	var err error
	if d.ordinary, err = d.submitOrdinary(ctx); err != nil {
		return err
	}
	d.say("ordinary sbatch job %d holds 2 GPUs; sluice must not disturb it", d.ordinary)
	d.say("training is real PyTorch DDP (gloo, CPU); GPU time is emulated: a step takes %.1f s divided by the GPUs", oneGPU)
	for _, p := range d.jobs {
		if err := d.watch(ctx, p.after, func() bool { return false }); err != nil {
			return err
		}
		if p.grown {
			if err := d.watch(ctx, patience, d.allGrown(ctx)); err != nil {
				return err
			}
		}
		if err := d.submit(ctx, p); err != nil {
			return err
		}
	}
	return d.watch(ctx, 8*time.Minute, d.allEnded(ctx))
}

// script is the job script of a user of the demo. The three lines that make the training
// elastic are in train_ddp.py.
const script = `#!/bin/bash
#SBATCH --time=30
#SLUICE --model=demo
exec srun "$SLUICE" ranks -- /usr/bin/python3 -u %s --epochs %d --steps-per-epoch %d --emulate-step-seconds %g --steps-log %s
`

func (d *demo) submit(ctx context.Context, p *plan) error {
	user := d.users[p.user]
	path := filepath.Join(d.Home(user), p.name+".sh")
	text := fmt.Sprintf(script, d.Path("python", "examples", "train_ddp.py"), p.epochs, perEpoch, oneGPU, d.stepsLog(p))
	if err := site.Put(path, []byte(text), 0o755); err != nil {
		return err
	}
	id, err := d.Submit(ctx, user, fmt.Sprintf("--epochs=%d", p.epochs), fmt.Sprintf("--max-gpus=%d", p.max),
		"--output="+p.name+".out", path)
	if err != nil {
		return err
	}
	p.id = id
	d.say("$ sluice submit --max-gpus=%d --epochs=%d %s.sh   -> job %d%s", p.max, p.epochs, p.name, id, as(user))
	return nil
}

func as(user string) string {
	if user == "" {
		return ""
	}
	return " (as " + user + ")"
}

func (d *demo) stepsLog(p *plan) string {
	return filepath.Join(d.Home(d.users[p.user]), p.name+".steps")
}

// submitOrdinary starts a job that is not managed by sluice.
func (d *demo) submitOrdinary(ctx context.Context) (int64, error) {
	user := d.users[1]
	wrap := "for i in $(seq 90); do echo tick $i; sleep 1; done"
	return d.Sbatch(ctx, user, "--job-name=ordinary", "--gres=gpu:2", "--output=ordinary.out", "--wrap="+wrap)
}

// watch shows the queue every few seconds until done, or for the given time.
func (d *demo) watch(ctx context.Context, limit time.Duration, done func() bool) error {
	end := time.Now().Add(limit)
	var shown time.Time
	for time.Now().Before(end) {
		if done() {
			return nil
		}
		if err := d.cancelDoomed(ctx); err != nil {
			return err
		}
		if time.Since(shown) > 5*time.Second {
			shown = time.Now()
			d.table(ctx)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	if limit > time.Minute {
		return fmt.Errorf("not all jobs ended within %s", limit)
	}
	return nil
}

func (d *demo) table(ctx context.Context) {
	out, err := d.Run(ctx, "", "sluice", "queue")
	if err != nil {
		d.say("sluice queue: %v", err)
		return
	}
	d.say("$ sluice queue\n%s", out)
}

// cancelDoomed cancels the doomed job as soon as it is between two sizes.
func (d *demo) cancelDoomed(ctx context.Context) error {
	for _, p := range d.jobs {
		if !p.cancel || p.id == 0 || d.doomedAt != "" {
			continue
		}
		report, err := d.Control().Report(ctx)
		if err != nil {
			return nil // repeated at the next poll
		}
		for _, j := range report.Jobs {
			if j.JobID != p.id || j.Move == nil || j.Move.Kind != "resize" {
				continue
			}
			d.doomedAt = fmt.Sprintf("R%d", j.Move.Step)
			d.say("$ scancel %d   (its user cancels it in the middle of a resize, at %s)", p.id, d.doomedAt)
			_, err := d.Run(ctx, d.users[p.user], "scancel", fmt.Sprint(p.id))
			return err
		}
	}
	return nil
}

// allGrown: a job starts at its minimum until a checkpoint of one of its user's jobs was
// seen. A job that arrives now finds no idle GPU, or there is no job that could use it.
func (d *demo) allGrown(ctx context.Context) func() bool {
	return func() bool {
		r, err := d.Control().Report(ctx)
		if err != nil {
			return false // repeated at the next poll
		}
		idle, rest := 0, true
		for _, n := range r.Nodes {
			idle += n.Free
		}
		for _, j := range r.Jobs {
			rest = rest && (j.Ended || j.Move == nil && j.State == "RUNNING" && (idle == 0 || j.GPUs >= j.Max))
		}
		return rest
	}
}

// allEnded asks Slurm, not sluice, at most once a second.
func (d *demo) allEnded(ctx context.Context) func() bool {
	var asked time.Time
	return func() bool {
		if time.Since(asked) < time.Second {
			return false
		}
		asked = time.Now()
		out, err := d.Run(ctx, "", "squeue", "-h", "-o", "%i")
		return err == nil && strings.TrimSpace(out) == ""
	}
}
