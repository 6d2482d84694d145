package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/gate"
)

// behind is how far the program's progress log may be ahead of its reader, in bytes.
const behind = 1 << 20

// passNumbers lets the program's newest progress through the gate.
func (r *run) passNumbers() {
	f := r.fence
	if f == nil {
		return
	}
	if size := r.job.progressSize(); size-f.read > behind {
		f.read = size - progressTail
	}
	dir, err := checkpoint.OpenDir(f.Inner)
	if err != nil {
		r.complain("reading the program's progress", err)
		return
	}
	lines, next, _, err := dir.Progress(f.read)
	dir.Close()
	r.complain("reading the program's progress", err)
	f.read = next
	f.queue.Add(lines)
	if f.ledger.May(r.Now()) {
		if p, ok := f.queue.Next(); ok {
			r.passOne(p)
		}
	}
}

// passOne writes one line into the job's folder outside, unless the gate holds it back. It
// is counted BEFORE it is written.
func (r *run) passOne(p checkpoint.Progress) {
	f := r.fence
	self := gate.Self{Restarts: r.job.restarts, GPUs: r.where.gpus, Nodes: max(1, len(r.where.hosts))}
	var line []byte
	early := false // another runner of the job has just passed a line
	err := r.recount(func(l gate.Ledger) (next gate.Ledger, ok bool) {
		now := r.Now()
		early = !l.May(now)
		next, line, ok = l.Pass(p, self, f.Numbers, now)
		return next, ok
	})
	if err != nil || early {
		f.queue.Add([]checkpoint.Progress{p})
		return
	}
	if line == nil {
		return
	}
	r.complain("writing "+checkpoint.ProgressFile, appendLine(filepath.Join(r.job.jobDir, checkpoint.ProgressFile), line))
	if out, err := checkpoint.ParseProgress(line); err == nil {
		f.step, f.epoch = out.Step, out.Epoch
	}
}

// passLast lets the last line of a script that has ended through, which may have to wait.
func (r *run) passLast() {
	f := r.fence
	if f == nil || f.why != "" {
		return
	}
	r.passNumbers()
	for try := 0; try < 20; try++ {
		if f.ledger.May(r.Now()) {
			p, ok := f.queue.Last()
			if !ok {
				return
			}
			if r.passOne(p); f.queue.Empty() {
				return
			}
		}
		time.Sleep(gate.Pause / 10)
	}
}

// appendLine appends to a file in one write.
func appendLine(name string, line []byte) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(line)
	return errors.Join(err, file.Close())
}

// pump copies the output of a start into the log, up to a limit for the job's life, and drops
// the rest: the program has no access to the file itself.
func pump(from, to *os.File, limit int64, done chan<- struct{}) {
	defer close(done)
	defer from.Close()
	left := limit
	if info, err := to.Stat(); err == nil && info.Mode().IsRegular() {
		left = max(0, limit-info.Size())
	}
	buffer := make([]byte, 64<<10)
	for full := left == 0; ; {
		n, err := from.Read(buffer)
		if write := min(int64(n), left); write > 0 {
			to.Write(buffer[:write]) // a full disk or a closed pipe is ignored
			left -= write
		}
		if n > 0 && left == 0 && !full {
			full = true
			fmt.Fprintf(to, "\nsluice: the log has reached its limit of %d bytes; what follows is left out\n", limit)
		}
		if err != nil {
			return
		}
	}
}

// settleOutput waits until the output of a script that has ended is in the log.
func (r *run) settleOutput() {
	if r.fence == nil || r.fence.output == nil {
		return
	}
	select {
	case <-r.fence.output:
	case <-time.After(r.Grace): // the log's file system does not answer, or a process cannot be ended
	}
	r.fence.output = nil
}
