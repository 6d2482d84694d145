package lane

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// A slot is one of the trials that a lane runs at once (sweep.PerGPU): a process of its own, `sluice lane
// --slot=N`, with the asks, the lines and the trial of a lane, started by the lane (hub). The lane passes requests
// to save on to it in a file, and it answers in another one. So what ends one trial, and what that trial leaves
// running, does not affect the others.

// Files between a lane and its slots. The first two are in the slot's folder.
const (
	// checkpoint.RequestFile, of the lane: the trial is to be saved
	answerFile = "answer.json" // of the slot: it was
	// Of the lane, beside the slots' folders, while so:
	crowdFile   = "crowd"    // more than one trial may run
	measureFile = "measures" // the speeds of trials are measured
)

// mostMeasured bounds the reports of a trial in one start for which it goes on although it lost at a rung, because
// it is being measured: with asha most trials end after a few epochs, and none would be.
const mostMeasured = 16

// answered is answerFile.
type answered struct {
	Request string `json:"request"`
	Trial   int    `json:"trial"` // that was saved; 0 = none ran
}

// slotFolder is the folder between a lane and a slot, in that of the lane.
func slotFolder(inner string, slot int) string {
	return filepath.Join(inner, fmt.Sprintf("slot-%d", slot))
}

// besides is what differs in the environment of a trial that shares its GPUs. It does not wait until the device
// files of its GPUs are free, since other trials hold them. Its steps of Slurm overlap those of the other trials: else
// they would wait for them to end.
var besides = []string{"SLUICE_GPU_FILES=none", "SLURM_OVERLAP=1"}

// hears reports whether the lane says so to its slots now.
func (l *lane) hears(file string) bool {
	if l.Slot == 0 {
		return false
	}
	_, err := os.Stat(filepath.Join(filepath.Dir(l.inner), file))
	return err == nil
}

// leaves says that the slot wants no trial any more: what it was told and has not begun is handed back.
func (l *lane) leaves() error {
	return leaveSlot(l, l.Slot)
}

// leaveSlot is leaves for a slot, also by its lane.
func leaveSlot(l *lane, slot int) error {
	ask := sweep.NewAsk(l.sweep.Token, l.job, l.restarts, l.Now())
	ask.Leaves = true
	return l.write(sweep.SlotFile(sweep.AskFile, slot), ask)
}
