package runner

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
)

// run carries out what step decides. All of it except the background work belongs to the
// goroutine of loop.
type run struct {
	Config
	job    folders
	alone  bool // not a sluice job: there is no sluiced to communicate with
	vars   map[string]string
	family *process.Family
	child  *process.Child // nil while no script runs
	state  state
	done   bool
	code   int

	// Background work: one operation at a time.
	results chan result
	cancel  context.CancelFunc // nil if there is none
	work    int                // number of the operation whose result counts

	watch  watch
	target checkpoint.Target
	where  where
	from   origin
	dirty  bool      // the runner's note must be written
	first  time.Time // time of the script's start
	starts int       // number of starts of the script in this run
	held   string    // the job's GPUs that a process still holds at its end

	sentry   sentry
	outputs  []*output
	settled  bool      // the script was ended because Slurm is about to stop the job
	killed   int       // processes of the job killed for memory before the script was started
	counted  bool      // that number is known
	failures int       // how often a failed script was started again
	retryAt  time.Time // time at which the failed script is started again; zero = no restart is pending
	last     *checkpoint.LastWords
	lost     <-chan struct{} // closes when the daemon that runs the job on this node has ended
	signals  <-chan os.Signal

	adopted  adoption
	freezing freezing
	periodic periodic
	offset   int64 // size of the progress log at the script's start
	gauge    gauge
	measured measurement
	hang     hang
	fence    *fence // nil = the job is not confined

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
			r.passNumbers()
		case <-beat.C:
			r.dirty = true
			r.verifyOwnSave()
		}
		r.write()
		poll.Reset(r.pace())
	}
	r.end()
	return r.code
}

// happen handles an event and carries out its effects.
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
		r.watch.since = r.Now() // the time for the stop counts from the answer
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
			r.passTo(r.child, syscall.SIGTERM)
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
	if r.Config.Fence != nil {
		if err := r.confine(); err != nil {
			r.dirty = true
			r.giveUp(err)
			return
		}
		r.complain("preparing the program's folder", r.job.prepareInner())
	}
	r.watch = watch{settled: r.job.lastAnswer()}
	r.adopted.log = r.newJournal()
	r.complain("preparing "+r.job.jobDir, r.job.prepare())
	r.aim()
	r.dirty = true
	r.write()
	r.background(r.findNewest())
}

// aim reads the Target of this run.
func (r *run) aim() {
	target, err := r.job.target()
	r.complain("reading what sluiced says", err)
	if r.fence != nil {
		target.Checkpoint = r.fence.ledger.Inside(target.Checkpoint)
	}
	r.target = target
	if err == nil && target.Version == 0 {
		target.GPUs = r.Config.GPUs
	}
	if r.Config.Trial.Sweep != 0 {
		target = inherited(r.vars)
	}
	r.where = look(r.vars, target)
}

// ending is the channel that closes when the script ends; nil if none runs.
func (r *run) ending() <-chan struct{} {
	if r.child == nil {
		return nil
	}
	return r.child.Done()
}

// over handles the script's end and writes a banner into the job's output.
func (r *run) over() {
	r.melt()
	r.clear()
	r.readSignals() // Slurm ends script and runner at once: a script that got the signal first did not fail
	if r.done {
		return
	}
	if r.fence != nil && r.child.Exit().Signal == "" && !r.fence.built(r.Now().Add(r.Grace)) && !r.state.stopping {
		r.child = nil
		r.unbuilt()
		return
	}
	if r.unconnected() {
		return
	}
	e := r.scriptEnded()
	if r.settled {
		e.exit, e.complete = process.Exit{}, false // it was ended after its work was saved
		r.happen(e)
		return
	}
	switch again := r.answeredByItsEnd(e); {
	case again:
		e.again = true
		r.happen(withdrawn{}) // of the next request, which may already exist
		r.endsWhenAsked()
	case r.ownStands() && e.exit.Code != 0:
		r.periodic.request = "" // it failed, whatever it was asked in the meantime
		r.happen(withdrawn{})
	}
	r.happen(e)
	r.announce(true, r.ended(e))
}

func (r *run) scriptEnded() ended {
	e := ended{exit: r.child.Exit(), hung: r.hang.over, reached: r.reached()}
	e.exit = r.plainExit(e.exit)
	r.child = nil
	r.sentry.child.Store(nil)
	if !r.alone {
		e.complete = r.job.complete() || (r.adopted.habit != nil && e.exit.Code == 0)
		e.candidate = r.answering()
	}
	return e
}

// readSignals reads the signals that have come.
func (r *run) readSignals() {
	for {
		select {
		case s := <-r.signals:
			r.signalled(s.(syscall.Signal))
		default:
			return
		}
	}
}

// signalled passes signals on. Signals with a meaning for a program go to the processes
// that handle them, at any depth below the script: a shell without a trap would be ended
// by them.
func (r *run) signalled(s syscall.Signal) {
	r.melt() // a stopped process gets no signal
	switch s {
	case syscall.SIGPIPE, syscall.SIGCONT:
	case syscall.SIGTERM:
		r.happen(terminated{})
	case syscall.SIGINT, syscall.SIGQUIT:
		if r.child == nil {
			r.happen(terminated{})
			return
		}
		r.passTo(r.child, s)
	default:
		r.look() // a request comes beside the signal: pass it on first
		if r.child != nil && r.family.Tell(s) == 0 {
			r.say("SIG%s came, and nothing in the job listens for it", process.SignalName(s))
		}
	}
}

// politely is how long a script whose work is saved may take to end by itself. All it
// could lose is the end of a log.
const politely = 100 * time.Millisecond

// drain ends a script whose work is saved. The daemons of a step report its end to srun,
// and the node is not free before that: srun is left running to receive it.
func (r *run) drain() {
	if r.child != nil {
		r.endNetwork()
		r.remains(r.family.Drain(politely, r.Grace, "srun"))
	}
}

// start starts the script.
func (r *run) start() {
	argv, err := commandFor(r.Script, r.Args)
	if err == nil {
		r.prologue()
		r.starts++
		r.child, err = r.launch(argv)
	}
	r.sentry.child.Store(r.child)
	if err != nil {
		r.say("error: the script cannot be started: %v", err)
		r.done, r.code = true, 127 // as a shell does
		return
	}
	r.first = r.Now()
	r.dirty = true
	r.startedOwn()
}

// launch starts the script's command, inside of the fence if the job is confined.
func (r *run) launch(argv []string) (*process.Child, error) {
	if r.fence != nil {
		return r.launchInside(argv)
	}
	return r.family.Start(process.Command{Argv: argv, Env: r.environment(), Stdin: r.Stdin, Stdout: r.Stdout, Stderr: r.Stderr})
}

// prologue records the state before the script is started.
func (r *run) prologue() {
	r.unsettled()
	r.hang.started()
	r.retryAt = time.Time{}
	if r.state.tried > 0 && !r.hang.again {
		r.failures++
	}
	if r.starts > 0 && !r.alone {
		r.complain("clearing "+r.job.jobDir, ranks.Forget(r.job.program()))
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
	f.job, f.jobDir, f.restarts = r.job.id.Job, r.job.program(), r.job.restarts
	f.runner = os.Getpid()
	f.request, f.checkpoints = r.job.relay(), r.job.checkpoints()
	if r.from.name != "" {
		f.resume = r.resumeFrom(r.from.name)
	}
	if r.fence != nil {
		return environment(confine.Environment(r.fence.Fence, r.Env), r.fence.paths(f, r.job.id.Token))
	}
	return environment(r.Env, f)
}

// end leaves no process running and no request pending.
func (r *run) end() {
	if r.cancel != nil {
		r.cancel()
	}
	r.melt()
	running := r.child != nil
	r.child = nil
	r.clear()
	r.passLast()
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
