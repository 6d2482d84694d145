package world

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// Strand simulates a node that loses the job's processes unnoticed by Slurm: the script has ended,
// and the runner reports that the job is stranded. It does nothing if the job does not run, or
// its script has ended and slurmctld does not know yet.
func (t *Trainer) Strand() {
	t.w.Slurm.Do(func(time.Time) {
		if t.run == nil || t.word.State == checkpoint.Exited {
			return
		}
		t.pause()
		t.from = t.newest() // work since then was lost with the node, which is no violation
		t.word.State, t.word.Stranded = checkpoint.Starting, true
		t.write()
	})
}
