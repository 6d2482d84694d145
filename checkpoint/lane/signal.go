package lane

import (
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
)

// asksBy is the signal that goes with each request to save; false = none does.
func (t *trial) asksBy() (syscall.Signal, bool) {
	for _, option := range t.sweep.Run {
		if name, is := strings.CutPrefix(option, "--checkpoint-signal="); is {
			s, known := process.Asking[name]
			return s, known
		}
	}
	return 0, false
}

// signals sends the signal of a request, once its runner has handed the request to the program: a checkpoint that was begun
// before does not answer it. The runner itself sends one only for a request that it made, and then to what it has started,
// which is not the program if a host trains the trial.
func (t *trial) signals() {
	s, asks := t.asksBy()
	if !asks || t.ending {
		return
	}
	data, err := readIn(t.folder, checkpoint.RequestFile)
	if err != nil || data == nil {
		return
	}
	r, err := checkpoint.ParseRequest(data)
	if err != nil || r.ID == t.signalled {
		return
	}
	t.signalled = r.ID
	switch {
	case t.host.alive():
		t.host.child.Signal(s)
	case t.saving != nil && t.saving.ID == r.ID:
		t.child.Signal(s)
	}
}

// deaf lets a stand-in live through the signals of requests. They are for the program of the host, and reach all processes of
// the job that have a handler.
func deaf() {
	ignored := make(chan os.Signal, 1)
	for _, s := range process.Asking {
		signal.Notify(ignored, s)
	}
}
