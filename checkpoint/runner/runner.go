package runner

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/supervise"
)

// Config is one run.
type Config struct {
	Script string   // the user's script; its folder is the job's
	Args   []string // its arguments
	Outbox string   // base of the daemon's folders; "" = outbox beside the jobs'
	Keep   int      // complete checkpoints to keep, at least 1
	Unit   string   // what the job counts its work in: epoch or step
	Array  Array    // its part in a job array; zero = it is none of one
	// Retries is how often a script that failed is started again from its newest
	// valid checkpoint, in a row without a newer one; 0 = its end is the job's.
	Retries int
	// Judge, in place of Retries: twice, but not a failure of the program's own (see
	// state.own), and with a pause before each: Backoff, then four times that.
	Judge   bool
	Backoff time.Duration
	// Every is how often the program is asked for a checkpoint by time; First is how
	// long after a start, as long as it is not known what a save takes. MTBF is the mean
	// time between failures of one node. Signal goes beside the request, as for
	// sluiced's: USR1, USR2, HUP; "" = none.
	Every       Every
	First, MTBF time.Duration
	Signal      string
	Sluice      string   // path of this program, for the script
	Python      string   // folder of the training library, for PYTHONPATH; "" = none
	Host        string   // this machine's name
	Env         []string // the environment as Slurm gave it

	// Adopt says how to find the checkpoints and the progress of a program that
	// knows nothing of sluice; zero = it speaks for itself.
	Adopt Adopt
	// Gauge is the path of the program that looks at the node's GPUs; "" = none.
	Gauge string
	// Profile says how the run's speed is measured; zero = it is not.
	Profile Profile

	Stdin, Stdout, Stderr *os.File // the script's, passed on untouched

	Now func() time.Time
	// Poll is how often the request and the checkpoints are looked at, Beat
	// how often a sign of life is written, Grace how long a script whose work is
	// saved may take to end before it is killed, Patience how long a request is
	// honoured beyond its time when nobody withdraws it, and how long a job that is
	// stranded waits for sluiced, Stuck how long a file
	// system may not answer before signals, and the script's end, go past it.
	Poll, Beat, Grace, Patience, Stuck time.Duration
	// Stands is how long the answer of a program that trains on meanwhile is good:
	// what is trained after it would be lost by a stop.
	Stands time.Duration
	// Linger is how long a script may go on whose step failed and does not end on
	// all nodes, before it is ended and the job has to be started afresh.
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

// UsualMTBF is assumed of a node where a site says nothing: 30 days.
const UsualMTBF = 30 * 24 * time.Hour

// judgedRetries is how often a job is tried again that its user said nothing about.
const judgedRetries = 2

// Run runs the script to its end and returns the exit code of the job: the
// script's own, 128+n when signal n ended it. It returns after everything the
// script started is gone. The calling process must have no other children.
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
	r.job, err = findFolders(c.Script, c.Outbox, r.vars)
	if err != nil {
		r.alone = true
		r.say("%v: the script runs as it is, at a fixed size", err)
	}
	return r.watchOver(s.Signals)
}

// say tells the user something on standard error. A full disk or closed pipe
// there is none of the job's business.
func (r *run) say(format string, args ...any) {
	fmt.Fprintf(r.Stderr, "sluice: "+format+"\n", args...)
}

// complain says what failed, once as long as the same keeps failing.
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
		r.say("%s: works again", what)
		return
	}
	hint := ""
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		hint = " (free some space; the job goes on meanwhile)"
	}
	r.say("%s: %v%s", what, err, hint)
}
