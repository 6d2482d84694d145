package world

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// Strand is a node that loses what runs on it unnoticed by Slurm: the script is
// ended, and the runner says that the job is stranded. Nothing happens while the
// job does not run, or its script has ended though slurmctld has not heard of it.
func (t *Trainer) Strand() {
	t.w.Slurm.Do(func(time.Time) {
		if t.run == nil || t.word.State == checkpoint.Exited {
			return
		}
		t.pause()
		t.from = t.newest() // the rest was lost with the node: nobody is to blame for it later
		t.word.State, t.word.Stranded = checkpoint.Starting, true
		t.write()
	})
}
