package runner

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
)

// run performs what step decides. All of it but the background work belongs to
// the one goroutine of loop.
type run struct {
	Config
	job    folders
	alone  bool // no job of sluice's: there is nobody to talk to
	vars   map[string]string
	family *process.Family
	child  *process.Child // nil while no script runs
	state  state
	done   bool
	code   int

	// Background work: one thing at a time.
	results chan result
	cancel  context.CancelFunc // nil when there is none
	work    int                // number of the piece that counts

	watch  watch
	target checkpoint.Target
	where  where
	from   origin
	dirty  bool      // the runner's word has to be written
	first  time.Time // when the script was started
	starts int       // times the script was started in this run
	held   string    // which of the job's GPUs something holds at its end

	sentry   sentry
	outputs  []*output
	settled  bool      // the script was ended because Slurm is about to stop the job
	killed   int       // processes of the job killed for memory before the script was started
	counted  bool      // that is known
	failures int       // times a script that failed was started again
	retryAt  time.Time // when the script that failed is started again; zero = it is not waited for
	last     *checkpoint.LastWords
	lost     <-chan struct{} // closes when what runs the job on this node is gone
	signals  <-chan os.Signal

	adopted  adoption
	freezing freezing
	periodic periodic
	offset   int64 // of the progress log, where the script was started
	gauge    gauge
	measured measurement
	hang     hang

	complaints map[string]string
}

// loop runs until the run has ended and returns its exit code.
func (r *run) loop(signals <-chan os.Signal) int {
	r.signals = signals
	r.begin()
	poll, beat := time.NewTicker(r.Poll), time.NewTicker(r.Beat)
	defer poll.Stop()
	defer beat.Stop()
	for !r.done {
		r.sentry.turns.Add(1)
		select {
		case s := <-signals:
			r.signalled(s.(syscall.Signal))
		case <-r.ending():
			r.over()
		case <-r.lost:
			r.abandoned()
		case done := <-r.results:
			r.finished(done)
		case <-poll.C:
			r.adopt()
			r.measure()
			r.look()
			r.safeguard()
			r.profile()
			r.unhang()
			r.thaw()
		case <-beat.C:
			r.dirty = true
			r.tidy()
		}
		r.write()
		poll.Reset(r.pace())
	}
	r.end()
	return r.code
}

// happen takes an event and performs what follows.
func (r *run) happen(event any) {
	if event == nil {
		return
	}
	before := r.state
	next, effects := r.state.step(event)
	r.state = next
	r.sentry.waits.Store(next.request != nil || next.hung > 0)
	r.sentry.tries.Store(next.retries > 0)
	if next.phase != before.phase || next.answer != before.answer {
		r.dirty = true
	}
	if next.phase == checkpoint.Waiting && before.phase != checkpoint.Waiting {
		r.watch.since = r.Now() // the time to be stopped in counts from the answer
	}
	for _, e := range effects {
		r.perform(e)
	}
}

func (r *run) perform(effect any) {
	switch e := effect.(type) {
	case relay:
		r.relay(e.request)
	case unrelay:
		r.unrelay()
	case find:
		r.background(r.findNewest())
	case start:
		r.start()
	case verify:
		r.background(r.proveAnswer(e.name))
	case forward:
		if r.child != nil {
			r.child.Signal(syscall.SIGTERM)
		}
	case drain:
		r.drain()
	case settle:
		r.settle()
	case quit:
		r.done, r.code = true, e.code
	}
}

// begin prepares the job's folder and looks for the checkpoint to start from.
func (r *run) begin() {
	r.state = state{phase: checkpoint.Starting, retries: r.Retries, judged: r.Judge}
	if r.alone {
		r.happen(ready{})
		return
	}
	r.watch = watch{settled: r.job.lastAnswer()}
	r.adopted.log = r.newJournal()
	r.complain("preparing "+r.job.jobDir, r.job.prepare())
	r.aim()
	r.dirty = true
	r.write()
	r.background(r.findNewest())
}

// aim reads what this run is meant to be.
func (r *run) aim() {
	target, err := r.job.target()
	r.complain("reading what sluiced says", err)
	r.target = target
	r.where = look(r.vars, target)
}

// ending is the channel that closes when the script ends; nil without one.
func (r *run) ending() <-chan struct{} {
	if r.child == nil {
		return nil
	}
	return r.child.Done()
}

// over takes the script's end and says so in the job's output.
func (r *run) over() {
	r.melt()
	r.clear()
	r.hear() // Slurm ends script and runner at once: a script that heard first did not fail
	if r.done {
		return
	}
	e := r.scriptEnded()
	if r.settled {
		e.exit, e.complete = process.Exit{}, false // it was ended, with its work saved
		r.happen(e)
		return
	}
	switch again := r.answeredByItsEnd(e); {
	case again:
		e.again = true
		r.happen(withdrawn{}) // of the next, which may stand by now
		r.endsWhenAsked()
	case r.ownStands() && e.exit.Code != 0:
		r.periodic.request = "" // it failed, whatever it was asked meanwhile
		r.happen(withdrawn{})
	}
	r.happen(e)
	r.announce(true, r.ended(e))
}

func (r *run) scriptEnded() ended {
	e := ended{exit: r.child.Exit(), hung: r.hang.over, reached: r.reached()}
	r.child = nil
	r.sentry.child.Store(nil)
	if !r.alone {
		e.complete = r.job.complete() || (r.adopted.habit != nil && e.exit.Code == 0)
		e.candidate = r.answering()
	}
	return e
}

// hear takes the signals that have come.
func (r *run) hear() {
	for {
		select {
		case s := <-r.signals:
			r.signalled(s.(syscall.Signal))
		default:
			return
		}
	}
}

// signalled passes signals on. Those that ask something of a program go to those
// that listen for them, wherever they are below the script: a shell without a
// trap would die of them.
func (r *run) signalled(s syscall.Signal) {
	r.melt() // what stands still hears nothing
	switch s {
	case syscall.SIGPIPE, syscall.SIGCONT:
	case syscall.SIGTERM:
		r.happen(told{})
	case syscall.SIGINT, syscall.SIGQUIT:
		if r.child == nil {
			r.happen(told{})
			return
		}
		r.child.Signal(s)
	default:
		r.look() // a request comes beside the signal: hand it on first
		if r.child != nil && r.family.Tell(s) == 0 {
			r.say("SIG%s came, and nothing in the job listens for it", process.SignalName(s))
		}
	}
}

// politely is how long a script whose work is saved gets to end by itself. What
// it could still lose is the end of a log.
const politely = 100 * time.Millisecond

// drain ends a script whose work is saved. The daemons of a step report its end
// to srun, and the node is not free before: srun is left to hear it.
func (r *run) drain() {
	if r.child != nil {
		r.remains(r.family.Drain(politely, r.Grace, "srun"))
	}
}

// start starts the script.
func (r *run) start() {
	argv, err := commandFor(r.Script, r.Args)
	if err == nil {
		r.prologue()
		r.starts++
		r.child, err = r.family.Start(process.Command{
			Argv: argv, Env: r.environment(), Stdin: r.Stdin, Stdout: r.Stdout, Stderr: r.Stderr,
		})
	}
	r.sentry.child.Store(r.child)
	if err != nil {
		r.say("error: the script cannot be started: %v", err)
		r.done, r.code = true, 127 // as a shell
		return
	}
	r.first = r.Now()
	r.dirty = true
	r.startedOwn()
}

// prologue notes how things stand before the script is started.
func (r *run) prologue() {
	r.unsettled()
	r.hang.started()
	r.retryAt = time.Time{}
	if r.state.tried > 0 && !r.hang.again {
		r.failures++
	}
	if r.starts > 0 && !r.alone {
		r.complain("clearing "+r.job.jobDir, ranks.Forget(r.job.jobDir))
	}
	r.offset = r.job.progressSize()
	r.killed, r.counted = process.OOMKills(process.Cgroups)
	r.announce(false, r.beginning()...)
}

func (r *run) environment() []string {
	f := facts{
		where: r.where, largest: r.target.Largest, incarnation: r.target.Incarnation, unit: r.Unit,
		master: r.from.master, port: r.from.port, sluice: r.Sluice, python: r.Python,
		profile: r.Profile.String(), array: r.Array, overlap: r.hang.times > 0,
	}
	if r.alone {
		return environment(r.Env, f)
	}
	f.job, f.jobDir, f.restarts = r.job.id.Job, r.job.jobDir, r.job.restarts
	f.runner = os.Getpid()
	f.request, f.checkpoints = r.job.relay(), r.job.checkpoints()
	if r.from.name != "" {
		f.resume = r.resumeFrom(r.from.name)
	}
	return environment(r.Env, f)
}

// end leaves nothing running and nothing asked.
func (r *run) end() {
	if r.cancel != nil {
		r.cancel()
	}
	r.melt()
	running := r.child != nil
	r.child = nil
	r.clear()
	if running || r.settled {
		r.announce(true, r.stopped())
	} else if e := r.state.exit; e != nil {
		r.last = r.lastWords(*e)
	}
	if !r.alone {
		r.adoptedLast()
		r.conclude()
		r.unrelay()
		r.dirty = true
		r.write()
	}
}
