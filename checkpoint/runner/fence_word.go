package runner

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/gate"
	"github.com/sluice-hpc/sluice/checkpoint/ranks"
	"github.com/sluice-hpc/sluice/nodes"
)

// own is a text of the runner itself, without any word of the program.
type own string

// withheld replaces, in a message of a confined job, what the program may have chosen: names
// of checkpoints, contents of manifests, names of processes.
func withheld(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case own, int, time.Duration, syscall.Signal:
			out[i] = v
		case error:
			out[i] = plainError(v)
		default:
			out[i] = "(withheld)"
		}
	}
	return out
}

// plainError is an error without the words in it: the kernel's reason.
func plainError(err error) string {
	var code syscall.Errno
	switch {
	case errors.As(err, &code):
		return code.Error()
	case errors.Is(err, checkpoint.ErrMalformed):
		return checkpoint.ErrMalformed.Error()
	case errors.Is(err, checkpoint.ErrNotRegular):
		return checkpoint.ErrNotRegular.Error()
	case errors.Is(err, checkpoint.ErrTooLarge):
		return checkpoint.ErrTooLarge.Error()
	}
	return "(withheld)"
}

// outward is the runner's note of a confined job as sluiced and the user may read it: what
// the program chose is left out or replaced. err is not nil if the names of checkpoints could
// not be stored.
func (r *run) outward(w checkpoint.Runner) (checkpoint.Runner, error) {
	f := r.fence
	var resumed, answered string
	name := func(l gate.Ledger) (next gate.Ledger, more bool) {
		next, resumed = l.Outside(w.Resumed)
		if w.Answer != nil {
			next, answered = next.Outside(w.Answer.Checkpoint)
		}
		return next, len(next.Names) != len(l.Names) || next.First != l.First
	}
	if _, more := name(f.ledger); more {
		if err := r.recount(name); err != nil {
			return w, err
		}
	}
	w.Resumed = resumed
	if a := w.Answer; a != nil {
		out := checkpoint.Answer{Request: a.Request, Step: f.step, Epoch: f.epoch, Committed: a.Verified, Verified: a.Verified, Checkpoint: answered}
		if out.Checkpoint == "" {
			out.Error = "the checkpoint that the program saved cannot be used"
		}
		w.Answer = &out
	}
	w.Skipped, w.Note, w.Rhythm, w.Every, w.Cost = nil, r.again(), 0, 0, 0
	w.RetryAt, w.Beat = w.RetryAt.Truncate(time.Second), w.Beat.Truncate(time.Second)
	if r.starts > 1 { // Slurm and sluiced chose the first
		w.FirstLine = w.FirstLine.Truncate(time.Second)
	}
	if w.Exit != nil {
		w.Exit = &checkpoint.Exit{Code: r.outcome(w.Exit.Code), At: w.Exit.At.Truncate(time.Second)}
	}
	if f.why != "" {
		w.LastWords = checkpoint.NewLastWords(f.why, nil)
	}
	w.Devices = plainDevices(w.Devices)
	return w, nil
}

// apart is how long to wait before the next start, at least pause. Two starts of a confined job's script are
// Backoff apart, whatever the reason for the second: the program chooses when it ends, and others see the start.
func (r *run) apart(pause time.Duration) time.Duration {
	if r.fence == nil || r.starts == 0 {
		return pause
	}
	return max(pause, min(r.Backoff, r.Backoff-r.Now().Sub(r.first)))
}

// again says that the script was started again, and not how often: the program would choose the number.
func (r *run) again() string {
	if r.failures == 0 {
		return ""
	}
	return "the script failed and was started again in this run"
}

// plainDevices are the GPUs without what the program does on them: it could use their load
// and their memory as a signal. Why a GPU is unfit stays: the driver reports faults of the hardware.
func plainDevices(all []checkpoint.Devices) []checkpoint.Devices {
	var out []checkpoint.Devices
	for _, d := range all {
		plain := checkpoint.Devices{Node: d.Node, At: d.At}
		for _, g := range d.GPUs {
			plain.GPUs = append(plain.GPUs, nodes.Device{Index: g.Index, UUID: g.UUID, Name: g.Name, MIG: g.MIG, Memory: g.Memory, Utilisation: -1, Unfit: g.Unfit})
		}
		out = append(out, plain)
	}
	return out
}

// prepareInner makes the program's folder ready for a run. Whatever an earlier run put in
// the place of a file is removed, and no link is followed.
func (f folders) prepareInner() error {
	dir, err := checkpoint.OpenDir(f.inner)
	if err != nil {
		return fmt.Errorf("the program's folder: %w", err)
	}
	defer dir.Close()
	err = errors.Join(dir.Sweep(), dir.RemoveAll(checkpoint.RequestFile), dir.RemoveAll(ranks.Folder))
	if file, _, failed := dir.Open(checkpoint.ProgressFile); failed == nil {
		file.Close()
	} else {
		err = errors.Join(err, dir.RemoveAll(checkpoint.ProgressFile), dir.Create(checkpoint.ProgressFile, nil, 0o600))
	}
	if saved, failed := dir.Make(checkpoint.Checkpoints, 0o700); failed == nil {
		saved.Close()
		return err
	}
	err = errors.Join(err, dir.RemoveAll(checkpoint.Checkpoints))
	saved, failed := dir.Make(checkpoint.Checkpoints, 0o700)
	if failed == nil {
		saved.Close()
	}
	return errors.Join(err, failed)
}
