package soak

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
	"github.com/sluice-hpc/sluice/slurm/lab"
)

// Options of a run.
type Options struct {
	Bin   string    // directory of sluice and sluiced
	Root  string    // tree of another Slurm release; "" = this machine's
	Hours float64   // duration of the faults; more than 0
	Fast  bool      // Slurm gives a silent node up after 5 s and starts its jobs 6 s later; else after 300 s and 121 s, as it does by itself
	Seed  uint64    // seed of the faults
	Out   io.Writer // the verdict
	Story io.Writer // a line per minute, and violations
}

// For a third of the time sluiced is killed now and then; after that it runs without a
// kill, to show what grows. All other faults occur all the time.
const killedFor = 1. / 3

const (
	most      = 8                // jobs at a time
	meanGap   = 4 * time.Second  // between two faults
	lookEvery = 2 * time.Second  // at Slurm's queue
	heedEvery = time.Minute      // at sluice's
	restFor   = 12 * time.Minute // time for the last jobs to end, after the faults
)

const config = `[cycle]
period = "1s"
transition = "300ms"
[resize]
grace = "20s"
cooldown = "2s"
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

//go:embed train.py
var train string

// soak is one run.
type soak struct {
	*site.Site
	o      Options
	rng    *rand.Rand
	began  time.Time
	jobs   []*job
	due    []repair
	broken []string // violations, as text
	heard  map[string]bool
	count  counts
	gauges []gauge
	life   int // number of the present life of sluiced
	down   struct{ daemon, controller, node bool }
	calm   bool      // no more faults
	calmer bool      // sluiced is no longer killed
	asked  time.Time // when a job was last submitted
	heeded time.Time // when the jobs' users last looked for jobs that are gone
}

// counts are the actions, and their results.
type counts struct {
	submits, cancels, pins, holds, drains  int
	nodes, controllers, daemons            int
	completed, requeued, crashes, mistakes int
	steps, repeated, resizes, ended        int
}

// kills is how often a daemon was killed.
func (c counts) kills() int { return c.nodes + c.controllers + c.daemons }

// Run causes faults for the given time and prints the verdict. It returns an error if
// there was a violation.
func Run(ctx context.Context, o Options) (err error) {
	if !(o.Hours > 0 && o.Hours <= 1000) { // NaN is refused, too
		return fmt.Errorf("--hours %g: want more than 0 and at most 1000", o.Hours)
	}
	s := &soak{o: o, rng: rand.New(rand.NewPCG(o.Seed, 0)), began: time.Now(), heard: map[string]bool{}}
	if err := s.build(ctx); err != nil {
		return err
	}
	defer func() {
		clean, stop := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Minute)
		defer stop()
		err = errors.Join(err, s.Down(clean))
	}()
	// What was seen until then counts, also if it is interrupted.
	if err := s.play(ctx); err != nil && ctx.Err() == nil {
		s.breaks("interrupted: %v; sluiced's last output:\n%s", err, s.Tail(10))
	}
	return s.verdict(context.WithoutCancel(ctx))
}

func (s *soak) tell(format string, args ...any) {
	fmt.Fprintf(s.o.Story, "soak: %6.1f min  %s\n", time.Since(s.began).Minutes(), fmt.Sprintf(format, args...))
}

// breaks records a violation, once.
func (s *soak) breaks(format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	if !s.heard[words] {
		s.heard[words] = true
		s.broken = append(s.broken, words)
		s.tell("VIOLATION: %s", words)
	}
}

// build starts Slurm and sluiced.
func (s *soak) build(ctx context.Context) error {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("sluice-soak-%d", os.Getpid()))
	st, err := site.Up(ctx, site.Config{Bin: s.o.Bin, Config: config, Lab: s.cluster(dir)})
	if err != nil {
		return err
	}
	s.Site = st
	err = s.PutLibrary()
	if err == nil {
		err = site.Put(s.Path("train.py"), []byte(train), 0o644)
	}
	if err == nil {
		err = s.Start(ctx)
	}
	if err != nil {
		return errors.Join(err, s.Down(context.WithoutCancel(ctx)))
	}
	parameters := "its default parameters"
	if s.o.Fast {
		parameters = "fast reactions to lost nodes"
	}
	s.tell("Slurm %s with %s, 3 nodes x 4 GPUs (device files stand in for GPUs, training is emulated), sluiced runs; %g hours, seed %d",
		s.Lab.Release(), parameters, s.o.Hours, s.o.Seed)
	return nil
}

// cluster is the Slurm that the soak runs on.
func (s *soak) cluster(dir string) lab.Config {
	c := lab.Config{Dir: dir, Nodes: 3, GPUs: 4, Root: s.o.Root, SlurmdTimeout: 300 * time.Second}
	if s.o.Fast { // as in cmd/site/exact
		c.SlurmdTimeout = 5 * time.Second
		c.ExtraConf = "AuthInfo=socket=" + filepath.Join(dir, "run", "munge.sock") + ",cred_expire=5"
	}
	return c
}

// play causes faults until the time is over, then lets the last jobs end.
func (s *soak) play(ctx context.Context) error {
	end := s.began.Add(time.Duration(s.o.Hours * float64(time.Hour)))
	calmer := s.began.Add(time.Duration(s.o.Hours * killedFor * float64(time.Hour)))
	next, look, gauge := time.Now(), time.Now(), time.Now()
	for now := s.began; now.Before(end); now = time.Now() {
		s.calmer = s.calmer || now.After(calmer)
		if err := s.repairs(ctx, now); err != nil {
			return err
		}
		if now.After(look) {
			look = now.Add(lookEvery)
			if err := s.look(ctx); err != nil {
				return err
			}
		}
		if now.After(gauge) {
			gauge = now.Add(gaugeEvery)
			s.measure(ctx)
		}
		if now.After(next) {
			next = now.Add(time.Duration(s.rng.ExpFloat64() * float64(meanGap)))
			s.trouble(ctx, now)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return s.rest(ctx)
}

// rest repairs everything and waits for the last jobs.
func (s *soak) rest(ctx context.Context) error {
	s.calm = true
	s.tell("no more faults: everything is repaired, and the last jobs may end")
	if err := s.repairs(ctx, time.Now().Add(time.Hour)); err != nil {
		return err
	}
	err := site.Until(ctx, restFor, "the last jobs to end", func() (bool, error) {
		err := errors.Join(s.look(ctx), s.repairs(ctx, time.Now().Add(time.Hour)))
		return s.live() == 0, err
	})
	if err != nil && ctx.Err() == nil {
		for _, j := range s.jobs {
			if !j.over {
				why, _ := s.Run(ctx, "", "sluice", "explain", fmt.Sprint(j.id))
				s.breaks("job %d did not end within %s without faults, its state in Slurm is %s; sluice explains:\n%s", j.id, restFor, j.state, why)
			}
		}
		return nil
	}
	return err
}

// pause waits, or returns early with the context's error.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
