package lane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/searcher"
	"github.com/sluice-hpc/sluice/checkpoint/supervise"
	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// Config describes one run of a lane.
type Config struct {
	Sweep  string   // the sweep's folder, absolute
	Outbox string   // base of sluiced's folders
	Args   []string // of the user's script
	Env    []string // of the runner of this job
	Sluice string   // path of this program
	// Slot is the slot of the lane that is run, from 1; 0 = the whole lane, with all its slots.
	Slot int
	// Elastic: the job accepts several sizes, so that its speed is to be learned.
	Elastic bool

	Stdout, Stderr *os.File // the job's; a trial has its own file

	Now func() time.Time
	// Poll is how often files are looked at. Grace is how long a trial may take to save before it
	// is ended without. Idle is how long the lane waits for a trial before it ends and gives its
	// GPUs back. End is how long a trial's script may take to end once it has saved.
	Poll, Grace, Idle, End time.Duration
	// Measure is how long a trial's speed is measured at least, alone and beside others.
	Measure time.Duration
}

// WithDefaults fills in the times that are not set.
func (c Config) WithDefaults() Config {
	supervise.Default(&c.Poll, 200*time.Millisecond)
	supervise.Default(&c.Grace, 20*time.Second)
	supervise.Default(&c.Idle, 30*time.Minute)
	supervise.Default(&c.End, 10*time.Second)
	return c
}

// lane is one run of a lane.
type lane struct {
	Config
	vars     map[string]string
	family   *process.Family
	signals  chan os.Signal
	ended    bool // Slurm ends the job
	gone     <-chan struct{}
	sweep    sweep.Sweep
	script   []byte
	metric   *regexp.Regexp // nil: from the trial's progress log
	folder   string         // the lane's, as a job
	outbox   string         // of sluiced for it
	inner    string         // this lane's outbox for the runners of its trials
	job      int64
	number   int64 // of the sweep
	restarts int
	done     int                // trials that this lane ended, in all its runs
	work     float64            // epochs of its trials, in all its runs, if Elastic; else that number
	cold     bool               // its program did not take up a trial: each gets a process of its own
	asks     *searcher.Searcher // runs the program that the sweep asks for points; nil = it asks none
	host     *host              // trains trials one after the other in one process; nil = none was started

	complained bool // about checkpoints that cannot be removed
	crowded    bool // of a slot: its last trial ran out of memory beside others
}

// Run runs trials until there are none left, and returns the exit code of the job: 0 also if it
// got none. The calling process MUST have no other children.
func Run(c Config) int {
	c = c.WithDefaults()
	s, err := supervise.Begin(c.Env)
	if err != nil {
		fmt.Fprintln(c.Stderr, "sluice: error:", err)
		return 1
	}
	defer s.Close()
	l := &lane{Config: c, vars: s.Vars, family: s.Family, signals: s.Signals}
	if err := l.begin(); err != nil {
		fmt.Fprintln(c.Stderr, "sluice: error: lane:", err)
		return 1
	}
	switch {
	case l.Slot > 0:
		err = errors.Join(l.run(), l.leaves())
	case l.sweep.Slots() > 1:
		l.searches()
		err = newHub(l).run()
	default:
		l.searches()
		err = l.run()
	}
	if err != nil {
		fmt.Fprintln(c.Stderr, "sluice: error: lane:", err)
	} else if !l.ended {
		l.dismiss()
	}
	if l.asks != nil {
		l.asks.Stop(l.End)
	}
	l.family.KillAll(l.End)
	l.leaveHost()
	if err != nil {
		return 1
	}
	return 0
}

func (l *lane) say(format string, args ...any) {
	fmt.Fprintf(l.Stdout, "== sluice: "+format+"\n", args...)
}

// begin reads what the sweep is, and makes the lane known to it.
func (l *lane) begin() (err error) {
	l.folder = l.vars["SLUICE_JOB_DIR"]
	token := filepath.Base(l.folder)
	l.job, err = strconv.ParseInt(l.vars["SLUICE_JOB_ID"], 10, 64)
	if err != nil || !checkpoint.ValidToken(token) {
		return errors.New("sluice lane is what the jobs of a sweep run; make one with sluice submit --sweep")
	}
	l.number, err = strconv.ParseInt(l.vars["SLUICE_ARRAY_JOB_ID"], 10, 64)
	if err != nil || l.number < 1 {
		l.number = l.job // its first lane
	}
	l.restarts, _ = strconv.Atoi(l.vars["SLUICE_RESTARTS"])
	l.outbox, l.inner = filepath.Join(l.Outbox, token), filepath.Join(l.folder, "lane")
	if l.Slot > 0 {
		l.inner = slotFolder(l.inner, l.Slot)
	}
	runner, _ := strconv.Atoi(l.vars["SLUICE_RUNNER"])
	l.gone = supervise.Abandoned(func(pid int) bool { return pid == runner })
	dir, err := checkpoint.OpenDir(l.Sweep)
	if err != nil {
		return fmt.Errorf("the sweep's folder: %w", err)
	}
	defer dir.Close()
	data, err := dir.Read(sweep.File, sweep.MaxFile)
	if err == nil {
		l.sweep, err = sweep.Parse(data)
	}
	if err == nil {
		l.script, err = dir.Read(checkpoint.Script, 4<<20)
	}
	if err == nil && l.sweep.Regex != "" {
		l.metric, err = regexp.Compile(l.sweep.Regex)
	}
	if err != nil {
		return err
	}
	for _, name := range []string{sweep.LaneFolder, sweep.Trials} {
		mode := fs.FileMode(0o755) // sluiced reads which lanes there are
		if name == sweep.Trials {
			mode = 0o700
		}
		sub, failed := dir.Make(name, mode)
		if failed != nil {
			return failed
		}
		if name == sweep.LaneFolder {
			var mine *checkpoint.Dir
			if mine, failed = sub.Make(token, 0o755); failed == nil {
				mine.Close()
			}
		}
		sub.Close()
		if failed != nil {
			return failed
		}
	}
	if err := os.MkdirAll(l.inner, 0o700); err != nil {
		return err
	}
	// A process of an earlier run of the lane that still waits for a trial ends by this.
	if err := os.RemoveAll(filepath.Join(l.inner, hosts)); err != nil {
		return err
	}
	if l.Slot > 0 {
		return nil // the lane's progress is that of all its slots
	}
	l.done, l.work = l.earlier()
	if l.sweep.OwnJobs {
		return nil // the trial's own progress is the job's
	}
	return l.progress("hello", "progress")
}

// searches runs the program that the sweep asks for points, where sluiced names this lane.
func (l *lane) searches() {
	if !l.sweep.Asks() {
		return
	}
	l.asks = searcher.Start(searcher.Config{
		Sweep: l.Sweep, Jobs: filepath.Dir(l.folder), Outbox: l.Outbox, Lane: filepath.Base(l.folder), Restarts: l.restarts, Number: l.number,
		Env: l.Env, Family: l.family, Now: l.Now, Complain: func(err error) { fmt.Fprintln(l.Stderr, "sluice: the searcher:", err) },
	})
}

// run asks for trials and runs them.
func (l *lane) run() error {
	for !l.ended && !l.crowded {
		ask, tell, err := l.ask()
		if err != nil {
			return err
		}
		if tell.Trial == 0 {
			return nil // none is left, or Slurm ends the job
		}
		if err := l.begun(ask, tell); err != nil {
			return err
		}
		if err := l.trial(ask, tell); err != nil {
			return err
		}
	}
	return nil
}

// ask asks for a trial and waits for the answer; a Tell without a trial ends the lane.
func (l *lane) ask() (sweep.Ask, sweep.Tell, error) {
	ask := sweep.NewAsk(l.sweep.Token, l.job, l.restarts, l.Now())
	if err := l.write(sweep.SlotFile(sweep.AskFile, l.Slot), ask); err != nil {
		return ask, sweep.Tell{}, err
	}
	began := l.Now()
	for {
		tell, ok := l.told(ask)
		l.drop(ask, tell.Drop)
		switch {
		case ok && tell.Over:
			l.say("no trial is left for this lane of sweep %d", l.number)
			return ask, sweep.Tell{}, l.event(sweep.Event{Kind: sweep.Left, End: tell.End})
		case ok && tell.Trial > 0:
			return ask, tell, nil
		case l.Now().Sub(began) > l.Idle:
			l.say("no trial within %v: the lane ends and gives its GPUs back", l.Idle)
			return ask, sweep.Tell{}, nil
		}
		pace := l.Poll
		if l.Now().Sub(began) < soon {
			pace /= quick
		}
		if l.waitFor(pace, nil) {
			return ask, sweep.Tell{}, nil
		}
		if r := l.request(); r != nil { // there is nothing to save
			if err := l.answer(*r, 0); err != nil {
				return ask, sweep.Tell{}, err
			}
			l.withdrawn(*r)
			return l.ask()
		}
	}
}

// While its GPUs wait for what is in a file, a lane looks at the file quick times as often; for a new trial only
// in the time soon.
const (
	quick = 20
	soon  = 5 * time.Second
)

// wait waits for the next look, a signal, or a child's end. True: the lane is to end.
func (l *lane) wait(child <-chan struct{}) bool { return l.waitFor(l.Poll, child) }

// waitFor is wait with another time until the next look.
func (l *lane) waitFor(pace time.Duration, child <-chan struct{}) bool {
	timer := time.NewTimer(pace)
	defer timer.Stop()
	select {
	case s := <-l.signals:
		l.ended = l.ended || s == syscall.SIGTERM || s == syscall.SIGINT
	case <-l.gone:
		l.ended = true
	case <-child:
	case <-timer.C:
	}
	return l.ended
}

// write replaces a file of the lane's folder.
func (l *lane) write(name string, value any) error {
	return writeIn(l.folder, name, value)
}
