package runner

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

// Config describes one run.
type Config struct {
	Script string   // the user's script; its folder is the job's folder
	Args   []string // its arguments
	Outbox string   // base of the daemon's folders; "" = outbox beside the jobs' folder
	Keep   int      // complete checkpoints to keep, at least 1
	Unit   string   // the job's unit of work: epoch or step
	Array  Array    // its part of a job array; zero = it is part of none
	Trial  Trial    // the script is a trial's, in the trial's folder; zero = it is a job's
	// GPUs is how many the job was submitted with, on all its nodes: what it has if Slurm starts
	// it without sluiced. 0 = as many as its first node has, if that is its only one.
	GPUs int
	// Retries is how often a failed script is started again from its newest valid
	// checkpoint, in a row without a newer one; 0 = its end is the job's end.
	Retries int
	// Judge replaces Retries: two retries, but none for a failure of the program's own
	// (see state.own), each after a pause: Backoff, then four times that.
	Judge   bool
	Backoff time.Duration
	// Every is how often the program is asked for a periodic checkpoint; First is the
	// time from a start to the first request, while the duration of a save is unknown.
	// MTBF is the mean time between failures of one node. Signal is sent with the
	// request, as for sluiced's: USR1, USR2, HUP; "" = none.
	Every       Every
	First, MTBF time.Duration
	Signal      string
	Sluice      string   // path of this program, for the script
	Python      string   // folder of the training library, for PYTHONPATH; "" = none
	Host        string   // this machine's name
	Env         []string // the environment from Slurm

	// Adopt says how to find the checkpoints and the progress of a program that does not
	// use sluice; zero = it uses sluice's protocol.
	Adopt Adopt
	// Gauge is the path of the program that reads the node's GPUs; "" = none.
	Gauge string
	// Profile says how the run's speed is measured; zero = it is not.
	Profile Profile
	// Fence confines the script and all that it starts; nil = it is not confined.
	Fence *confine.Fence

	Stdin, Stdout, Stderr *os.File // the script's, passed on unchanged

	Now func() time.Time
	// Poll is how often the request and the checkpoints are checked. Beat is how often a
	// heartbeat is written. Grace is how long a script whose work is saved may take to
	// end before it is killed. Patience is how long a request is honoured beyond its
	// deadline if it is not withdrawn, and how long a stranded job waits for sluiced.
	// Stuck is how long a file system may not answer before signals and the script's end
	// are handled without it.
	Poll, Beat, Grace, Patience, Stuck time.Duration
	// Stands is how long the answer of a program that continues training is used: the
	// training after it would be lost by a stop.
	Stands time.Duration
	// Linger is how long a script with a failed step that does not end on all nodes may
	// go on, before it is ended and the job must be requeued.
	Linger time.Duration
}

// WithDefaults fills in the times that are not set.
func (c Config) WithDefaults() Config {
	supervise.Default(&c.Poll, 200*time.Millisecond)
	supervise.Default(&c.Beat, 10*time.Second)
	supervise.Default(&c.Grace, 3*time.Second)
	supervise.Default(&c.Patience, time.Minute)
	supervise.Default(&c.Stands, 15*time.Second)
	supervise.Default(&c.Linger, 30*time.Second)
	supervise.Default(&c.Stuck, 15*time.Second) // less than Slurm waits between SIGTERM and SIGKILL
	supervise.Default(&c.Backoff, 30*time.Second)
	supervise.Default(&c.First, firstAfter)
	supervise.Default(&c.MTBF, UsualMTBF)
	c.Keep, c.Retries = max(1, c.Keep), max(0, c.Retries)
	if c.Judge {
		c.Retries = judgedRetries
	}
	if c.Unit == "" {
		c.Unit = "epoch"
	}
	return c
}

// UsualMTBF is assumed for a node if the site does not set it: 30 days.
const UsualMTBF = 30 * 24 * time.Hour

// judgedRetries is how often a job is retried if its user set nothing.
const judgedRetries = 2

// Run runs the script to its end and returns the exit code of the job: the script's own,
// 128+n if signal n ended it. It returns after everything that the script started has
// ended. The calling process MUST have no other children.
func Run(c Config) int {
	c = c.WithDefaults()
	s, err := supervise.Begin(c.Env, syscall.SIGCONT)
	if err != nil {
		fmt.Fprintln(c.Stderr, "sluice: error:", err)
		return 1
	}
	defer s.Close()
	defer signal.Stop(s.Signals)
	r := &run{Config: c, family: s.Family, vars: s.Vars, results: make(chan result), complaints: map[string]string{}}
	r.outputs = outputs(c.Stdout, c.Stderr)
	r.lost = supervise.Abandoned(nil)
	r.job, err = findFolders(c.Script, c.Outbox, c.Trial, r.vars)
	switch {
	case c.Fence != nil && err != nil:
		fmt.Fprintf(c.Stderr, "sluice: error: %v: a confined job must be submitted through sluice\n", err)
		return 1
	case err != nil:
		r.alone = true
		r.say("%v: the script runs as it is, at a fixed size", err)
	}
	return r.outcome(r.watchOver(s.Signals))
}

// say writes a message for the user to standard error. A full disk or closed pipe is
// ignored.
func (r *run) say(format string, args ...any) {
	if r.fence != nil {
		args = withheld(args)
	}
	fmt.Fprintf(r.Stderr, "sluice: "+format+"\n", args...)
}

// complain reports a failure, once as long as the same operation keeps failing.
func (r *run) complain(what string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text == r.complaints[what] {
		return
	}
	r.complaints[what] = text
	if err == nil {
		r.say("%s: works again", own(what))
		return
	}
	hint := ""
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		hint = " (free some space; the job goes on meanwhile)"
	}
	r.say("%s: %v%s", own(what), err, own(hint))
}
