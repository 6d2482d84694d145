package runner

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// journal reads progress from the job's output. While busy, all fields but last belong to
// the goroutine beside the loop.
type journal struct {
	tails []*tail
	words *expression
	track tracker
	last  checkpoint.Progress // result of the last read

	busy  bool
	done  chan read
	after time.Time
	start int // which start of the script in this run
}

// read is the result of one read.
type read struct {
	last checkpoint.Progress
	err  error
}

// newJournal follows the job's output from its present end; nil if nothing is to be read
// from it.
func (r *run) newJournal() *journal {
	e := newExpression(r.Adopt.Progress)
	if e == nil {
		return nil
	}
	j := &journal{words: e, done: make(chan read, 1), track: r.newTracker(), start: r.starts}
	var seen []os.FileInfo
	for _, f := range []*os.File{r.Stdout, r.Stderr} {
		t := newTail(f)
		if t == nil {
			continue
		}
		info, err := t.file.Stat()
		if err == nil && len(seen) > 0 && os.SameFile(info, seen[0]) {
			t.file.Close() // both go to one file, as by default
			continue
		}
		seen = append(seen, info)
		j.tails = append(j.tails, t)
	}
	if len(j.tails) == 0 {
		r.say("the job's output is no file: no progress can be read from it")
	}
	return j
}

func (r *run) newTracker() tracker { return tracker{unit: r.Unit, total: r.Adopt.Total} }

// follow starts the next read.
func (r *run) follow() {
	j := r.adopted.log
	if j == nil {
		return
	}
	select {
	case v := <-j.done:
		j.busy = false
		j.last = v.last
		r.complain("reading progress from the output", v.err)
	default:
	}
	if j.busy || r.Now().Before(j.after) {
		return
	}
	if j.start != r.starts { // started again in this run: it may continue from an earlier state
		j.track, j.start = r.newTracker(), r.starts
	}
	j.after = r.Now().Add(min(tellEvery, 2*r.Poll))
	j.busy = true
	go func() { j.done <- r.readOn(j, false) }() // done has room
}

// readOn reads new output and returns new progress.
func (r *run) readOn(j *journal, end bool) read {
	var errs []error
	for _, t := range j.tails {
		errs = append(errs, t.read(func(line string) {
			if w, ok := j.words.read(line); ok {
				j.track.take(w, r.Now())
			}
		}))
	}
	if p, ok := j.track.next(r.Now(), end); ok {
		errs = append(errs, r.job.appendProgress(r.stamp(p)))
	}
	return read{j.track.latest, errors.Join(errs...)}
}

// lastRead bounds the wait for the last lines at the end of a run.
const lastRead = time.Second

// conclude reads the last lines of a run.
func (r *run) conclude() {
	j := r.adopted.log
	if j == nil {
		return
	}
	late := time.After(lastRead)
	if j.busy {
		select {
		case <-j.done:
		case <-late:
			return
		}
	}
	go func() { j.done <- r.readOn(j, true) }() // done has room
	select {
	case <-j.done:
	case <-late:
	}
}

// stamp completes a line of progress that the runner writes for the program.
func (r *run) stamp(p checkpoint.Progress) checkpoint.Progress {
	p.Time = float64(r.Now().UnixMicro()) / 1e6
	p.Restarts, p.GPUs, p.Nodes = r.job.restarts, r.where.gpus, len(r.where.hosts)
	return p
}

// appendProgress appends a line to the progress log, as the library does.
func (f folders) appendProgress(p checkpoint.Progress) error {
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	name := filepath.Join(f.jobDir, checkpoint.ProgressFile)
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	return errors.Join(err, file.Close())
}
