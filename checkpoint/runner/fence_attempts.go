package runner

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/attempts"
	"github.com/sluice-hpc/sluice/checkpoint/confine"
)

// tally counts the denied calls of a confined job on this node, in a file of the job's folder in the vault.
type tally struct {
	folder, file string
	now          func() time.Time
	filter       []byte          // what bubblewrap installs
	plain        bool            // the kernel tells of nothing
	watch        *attempts.Watch // of the present start; nil = it has ended, or plain
	started      bool            // the script of the last start was started, or may have been

	mu      sync.Mutex
	counts  attempts.Counts
	changed bool
	writing sync.Mutex // held while the file is written
}

// writeEvery is the time between two writes of the counts.
const writeEvery = time.Second

// newTally reads what earlier runs counted on the node.
func newTally(folder, node string, now func() time.Time) (*tally, error) {
	t := &tally{folder: folder, now: now, file: attempts.Prefix + strings.ReplaceAll(node, "/", "_") + attempts.Suffix, changed: true}
	layer := confine.Under
	data, err := checkpoint.ReadIn(folder, t.file, attempts.MaxFile)
	if err == nil {
		t.counts, err = attempts.Parse(data)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.counts.Uncounted = attempts.Lost
	}
	if t.plain = !attempts.Possible(); t.plain {
		layer, t.counts.Uncounted = confine.Alone, attempts.OldKernel
	}
	program, err := confine.Filter(runtime.GOARCH, layer)
	if err != nil {
		return nil, err
	}
	t.filter = confine.Bytes(program)
	return t, nil
}

// guard makes the next start one that is counted: it returns the command line inside, and the files with the
// guard's socket.
func (t *tally) guard(argv []string, files []*os.File) ([]string, []*os.File, error) {
	t.watch, t.started = nil, true
	if t.plain {
		return argv, files, nil
	}
	w, err := attempts.New()
	if err != nil {
		return argv, files, err
	}
	t.watch = w
	over := make(chan struct{})
	go func() { // ends when nothing inside can call any more
		defer close(over)
		w.Serve(t.add)
	}()
	go t.keepUntil(over)
	return confine.Guarded(confine.First+len(files), argv), append(files, w.Inside()), nil
}

// keepUntil writes the counts while they change. It alone waits for the file system.
func (t *tally) keepUntil(over <-chan struct{}) {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for {
		t.keep()
		select {
		case <-over:
			return
		case <-tick.C:
		}
	}
}

// add counts a call. The process that made it waits.
func (t *tally) add(call, process string) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Add(call, process, 1, now, now)
	t.changed = true
}

// keep writes the counts if they changed. What cannot be written is tried again with the next change.
func (t *tally) keep() {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.mu.Lock()
	data, changed := t.counts.Data(), t.changed
	t.changed = false
	t.mu.Unlock()
	if changed && checkpoint.WriteIn(t.folder, t.file, data, 0o600) != nil {
		t.mu.Lock()
		t.changed = true
		t.mu.Unlock()
	}
}

// settle counts nothing more of a command that has ended, and writes the counts if the file system answers within
// patience.
func (t *tally) settle(patience time.Duration) {
	if t == nil {
		return // the fence could not even be prepared
	}
	if t.watch != nil {
		b := t.watch.Ended(patience)
		t.watch, t.started = nil, b.Started
		if b.Started && !b.Counted {
			t.mu.Lock()
			t.counts.Uncounted, t.changed = attempts.Refused, true
			t.mu.Unlock()
		}
	}
	done := make(chan struct{})
	go func() { // ends when the file system answers
		defer close(done)
		t.keep()
	}()
	select {
	case <-done:
	case <-time.After(patience):
	}
}
