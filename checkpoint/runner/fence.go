package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

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
	confine.Fence
	bwrap  string
	tally  *tally
	status *os.File      // bwrap's, of the present start
	output chan struct{} // closed when the output of the present start is in the log

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
	f := &fence{Fence: *r.Config.Fence, ledger: gate.New()}
	r.fence = f
	r.job.inner = f.Inner
	switch {
	case os.Geteuid() == 0:
		return &confine.Impossible{Why: confine.Privileged, Hint: "sluice-vaultd must run as the service account"}
	case r.Adopt != (Adopt{}) && (r.Adopt.Glob != "" || r.Adopt.Progress != ""), r.Trial.Sweep != 0, r.Array != (Array{}), r.Profile != (Profile{}):
		return fmt.Errorf("%w: --glob, --progress, --trial, --array and --profile; submit the job without them", errConfined)
	}
	if hosts, err := slurm.Expand(r.vars["SLURM_JOB_NODELIST"]); err == nil && len(hosts) > 1 {
		return fmt.Errorf("%w: %d nodes; a confined job has one: submit it with --nodes=1", errConfined, len(hosts))
	}
	delete(r.vars, "SLUICE_GPU_FILES") // it would show any file of the service account inside
	if err := f.Valid(); err != nil {
		return err
	}
	if err := f.missing(); err != nil {
		return err
	}
	var err error
	if f.bwrap, err = confine.Program(); err != nil {
		return err
	}
	if f.tally, err = newTally(f.vault(), r.Host, r.Now); err != nil {
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
	if err := noCores(); err != nil {
		return fmt.Errorf("switching core dumps off: %w", err)
	}
	return closeOnExec()
}

// missing returns an error that names the first folder of the fence that does not exist.
func (f *fence) missing() error {
	folders := map[string]string{"the program's folder": f.Inner, "the job's code": f.Code, "the folder for its output": f.Output}
	for name, set := range f.Data {
		folders["the data set "+name] = set
	}
	for _, what := range slices.Sorted(maps.Keys(folders)) {
		if info, err := os.Stat(folders[what]); err != nil || !info.IsDir() {
			return fmt.Errorf("%s is not on this node, or no folder: %s; ask the owner of the data", what, folders[what])
		}
	}
	return nil
}

// vault is the job's folder in the vault.
func (f *fence) vault() string { return filepath.Dir(f.Inner) }

// noCores prevents core dumps. The limit is 1 byte: with it the kernel neither writes a file
// nor calls a handler, which it does with a limit of 0.
func noCores() error {
	err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1})
	if errors.Is(err, unix.EPERM) { // the hard limit is 0
		return nil
	}
	return err
}

// closeOnExec keeps what this process inherited open from the programs that it starts: bwrap
// passes on every descriptor.
func closeOnExec() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range open {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
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
	plan := confine.Build(confine.Start{Fence: f.Fence, Token: r.job.id.Token, Script: script, Sluice: r.Sluice, Python: r.Python,
		Env: r.environment(), GPUs: ranks.GPUFiles(r.vars), UID: os.Geteuid(), GID: os.Getegid()}, confine.Look(f.Fence))
	var files []*os.File // the child's, closed here once it has them
	defer func() {
		for _, file := range files {
			file.Close()
		}
	}()
	memory := func(name string, content []byte) {
		if err == nil {
			var file *os.File
			if file, err = confine.Memory(name, content); err == nil {
				files = append(files, file)
			}
		}
	}
	memory("options", plan.Data())
	memory("filter", f.tally.filter)
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	f.status = read
	files = append(files, write)
	for _, content := range plan.Files {
		memory("file", []byte(content.Content))
	}
	out, in, failed := os.Pipe()
	if err = errors.Join(err, failed); err != nil {
		return nil, err
	}
	if argv, files, err = f.tally.guard(argv, files); err != nil {
		return nil, errors.Join(err, out.Close(), in.Close())
	}
	command := process.Command{Argv: confine.Argv(f.bwrap, argv), Env: []string{"PATH=/usr/bin:/bin"}, Stdout: in, Stderr: in, More: files}
	files = append(slices.Clone(files), in)
	f.output = make(chan struct{})
	go pump(out, r.Stdout, f.Log, f.output) // ends when nothing inside has the pipe open
	return r.family.Start(command)
}

// built reports whether the program was started inside of the fence, once bwrap has ended.
// What bwrap said is read until late at most: a process that cannot be ended may keep the pipe
// open.
func (f *fence) built(late time.Time) bool {
	if f.status == nil {
		return false
	}
	defer func() {
		f.status.Close()
		f.status = nil
	}()
	if err := f.status.SetReadDeadline(late); err != nil {
		return true
	}
	said, err := io.ReadAll(io.LimitReader(f.status, smallFile))
	for line := range bytes.Lines(said) {
		var status struct {
			Exit *int `json:"exit-code"`
		}
		if json.Unmarshal(line, &status) == nil && status.Exit != nil {
			return f.tally.started
		}
	}
	return err != nil
}

// unbuilt ends the job because the fence could not be built. What bwrap said is in the log.
func (r *run) unbuilt() {
	err := confine.Possible(context.Background())
	if err == nil {
		err = fmt.Errorf("bubblewrap could not build it as fence.json says, or not start the script's interpreter; its message is in the job's log")
	}
	r.giveUp(fmt.Errorf("the fence of the job cannot be built, and its program was not started: %w", err))
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
