package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/checkpoint/gate"
	"github.com/sluice-hpc/sluice/checkpoint/process"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
	"github.com/sluice-hpc/sluice/slurm"
)

// fence is what the runner of a confined job keeps. The program owns every file below
// Inner and may write anything there at any time.
type fence struct {
	builder
	status *status       // bwrap's, of the present start
	output chan struct{} // closed when the output of the present start is in the log
	net    *network      // of the present start; nil = the job is on one node

	ledger gate.Ledger
	queue  gate.Queue
	read   int64 // of the program's progress log, in bytes
	step   int64 // of the last line that left
	epoch  float64
	why    string // why the job ends without its program; "" = it does not
}

// errConfined: an option has no meaning for a confined job.
var errConfined = errors.New("not possible in a confined job")

// confine prepares the fence of the run. The program is never started without it.
func (r *run) confine() error {
	f := &fence{builder: builder{Fence: *r.Config.Fence}, ledger: gate.New()}
	r.fence = f
	r.job.inner = f.Inner
	switch {
	case os.Geteuid() == 0:
		return &confine.Impossible{Why: confine.Privileged, Hint: "sluice-vaultd must run as the service account"}
	case r.Adopt != (Adopt{}) && (r.Adopt.Glob != "" || r.Adopt.Progress != ""), r.Trial.Sweep != 0, r.Profile != (Profile{}):
		return fmt.Errorf("%w: --glob, --progress, --trial and --profile; submit the job without them", errConfined)
	}
	if hosts, err := slurm.Expand(r.vars["SLURM_JOB_NODELIST"]); err == nil && len(hosts) > 1 {
		if err := f.mayHave(len(hosts)); err != nil {
			return err
		}
	}
	delete(r.vars, "SLUICE_GPU_FILES") // it would show any file of the service account inside
	if err := f.prepare(r.Host, r.Now); err != nil {
		return err
	}
	if data, err := checkpoint.ReadIn(f.vault(), gate.LedgerFile, smallFile); err == nil {
		if f.ledger, err = gate.Parse(data); err != nil {
			r.say("%v: no more progress is passed on", own(gate.ErrLedger.Error()))
			f.ledger = gate.Spent(f.Numbers)
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: %w", gate.ErrLedger, err)
	}
	f.read = r.job.progressSize()
	return nil
}

// paths changes the paths of the script's variables to those inside.
func (f *fence) paths(v facts, token string) facts {
	inside := func(p string) string {
		if rel, err := filepath.Rel(f.Inner, p); err == nil && p != "" {
			return filepath.Join(confine.JobDir(token), rel)
		}
		return ""
	}
	v.jobDir, v.request, v.checkpoints, v.resume = inside(v.jobDir), inside(v.request), inside(v.checkpoints), inside(v.resume)
	v.sluice, v.runner = confine.Sluice, 0 // numbers of processes differ inside
	if v.python != "" {
		v.python = confine.PythonDir
	}
	if len(v.where.hosts) > 1 && f.Network != confine.OfSite {
		v.master = confine.Address(0).String()
	}
	return v
}

// launchInside starts a command inside of the fence.
func (r *run) launchInside(argv []string) (*process.Child, error) {
	f := r.fence
	argv = slices.Clone(argv)
	for i := range argv {
		if argv[i] == r.Script {
			argv[i] = confine.Script
			break
		}
	}
	script, err := filepath.Abs(r.Script)
	if err != nil {
		return nil, err
	}
	start := confine.Start{Fence: f.Fence, Token: r.job.id.Token, Script: script, Sluice: r.Sluice, Python: r.Python,
		Env: r.environment(), GPUs: ranks.GPUFiles(r.vars), Nodes: r.where.hosts}
	if f.Network == confine.OfSite {
		start.Site = confine.LookAtSite(r.vars["SLURMD_NODENAME"], address(r.from.master))
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	f.output = make(chan struct{})
	go pump(out, r.Stdout, f.Log, f.output) // ends when nothing inside has the pipe open
	e, err := f.enclose(r.family, start, argv, in)
	if err != nil {
		return nil, err
	}
	f.status, f.net = e.status, nil
	if e.release != nil {
		f.net = r.connect(e, script)
	}
	return e.child, nil
}

// built reports whether the program was started inside of the fence, once bwrap has ended.
// What bwrap said is read until late at most: a process that cannot be ended may keep the pipe
// open.
func (f *fence) built(late time.Time) bool {
	if f.status == nil {
		return false
	}
	defer func() {
		f.status.close()
		f.status = nil
	}()
	ran, known := f.status.exited(late)
	return !known || ran && f.tally.started
}

// unbuilt ends the job because the fence could not be built. What bwrap said is in the log.
func (r *run) unbuilt() {
	err := confine.Possible(context.Background())
	if err == nil {
		err = fmt.Errorf("bubblewrap could not build it as fence.json says, or not start the script's interpreter; its message is in the job's log")
	}
	r.giveUp(fmt.Errorf("the fence of the job cannot be built, and its program was not started: %w", err))
}

// endNetwork says that the program is about to be ended on all nodes.
func (r *run) endNetwork() {
	if r.fence != nil {
		r.fence.net.ends()
	}
}

// unconnected ends the job if its nodes could not be connected, and reports whether it does.
func (r *run) unconnected() bool {
	if r.fence == nil || r.state.stopping {
		return false
	}
	err := r.fence.net.failed()
	if err != nil {
		r.child = nil
		r.giveUp(err)
	}
	return err != nil
}

// giveUp ends the job with an error of the runner's own.
func (r *run) giveUp(err error) {
	r.fence.why = err.Error()
	r.say("error: %v", own(r.fence.why))
	r.done, r.code = true, 1
}

// passTo sends a signal to the script.
func (r *run) passTo(child *process.Child, s syscall.Signal) {
	if r.fence != nil {
		child.SignalWithin(s)
		return
	}
	child.Signal(s)
}

// plainExit is how a script ended as far as a confined job says.
func (r *run) plainExit(e process.Exit) process.Exit {
	if r.fence != nil {
		return process.Exit{Code: r.outcome(e.Code)}
	}
	return e
}

// outcome is all that an exit code of a confined job says outside: 0 or 1.
func (r *run) outcome(code int) int {
	if r.Config.Fence != nil && code != 0 {
		return 1
	}
	return code
}
