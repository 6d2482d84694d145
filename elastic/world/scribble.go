package world

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// Scribble appends raw text to the job's progress log, a line each, whether or not it
// runs: what a program, or its user, may put there.
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

// beat is how often a runner that lives writes its word, whatever stands there.
const beat = 10 * time.Second

// Garble puts raw text in the place of the runner's word, until it writes its next.
func (t *Trainer) Garble(text string) {
	t.w.Slurm.Do(func(time.Time) {
		t.box().garbled = []byte(text)
		if run := t.run; run != nil && t.word.State != checkpoint.Exited {
			run.After(beat, func() { t.box().garbled = nil })
		}
	})
}
