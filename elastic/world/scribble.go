package world

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// Scribble appends raw lines to the job's progress log, as a program or its user may, whether or not
// the job runs.
func (t *Trainer) Scribble(lines ...string) {
	t.w.Slurm.Do(func(time.Time) {
		b := t.box()
		for _, text := range lines {
			b.lines = append(b.lines, line{raw: []byte(text)})
		}
	})
}

// Rewrite replaces the job's progress log by an empty one.
func (t *Trainer) Rewrite() {
	t.w.Slurm.Do(func(time.Time) { t.box().lines = nil })
}

// beat is the interval at which a live runner writes its status over whatever is in the file.
const beat = 10 * time.Second

// Garble replaces the runner's status by raw text, until the runner writes the next one.
func (t *Trainer) Garble(text string) {
	t.w.Slurm.Do(func(time.Time) {
		t.box().garbled = []byte(text)
		if run := t.run; run != nil && t.word.State != checkpoint.Exited {
			run.After(beat, func() { t.box().garbled = nil })
		}
	})
}
