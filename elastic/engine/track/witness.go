package track

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/slurm"
)

// witness checks a run's reported speed against the daemon's clock.
type witness struct {
	speed.Witness
	of int // the run, counted from 1; 0 = none
}

// borneOut returns the seconds per unit that a line reports, corrected by the time that passed
// between lines on the daemon's clock and, while that says too little, held against the job's
// earlier speeds; 0 if they are not to be used yet. The line was written since progress was last
// read; its own time stamp is not trusted. While a move is open, or Slurm has suspended the job,
// the program may wait, so that the check starts anew. expected is called only if needed. A line that
// reports no speed returns what it reported. Without earlier samples expected returns 0, and the
// first speed is used as it is (decision 27).
func (open Moves) borneOut(js *Job, line checkpoint.Progress, expected func() float64, now time.Time) float64 {
	if open.has(js.Rec.ID) || js.Shown.Slurm.State != slurm.Running || line.Restarts != js.Restarts() || js.Learnt.witness.of != line.Restarts+1 {
		js.Learnt.witness = witness{of: line.Restarts + 1}
	}
	early := Later(js.Mail.Heard, js.Shown.Slurm.Start)
	seconds := js.Learnt.witness.Heard(line.Seconds, line.Done, early, now)
	if line.Seconds <= 0 {
		return line.Seconds // it claims none
	}
	if seconds == line.Seconds && js.Learnt.witness.Undecided(seconds, expected) {
		return 0
	}
	return seconds
}

// curveSeconds returns the seconds per unit that a curve of earlier samples has for a sample; 0 if
// there are none.
func curveSeconds(curve *speed.Curve, at speed.Sample) float64 {
	if curve.Samples() == 0 {
		return 0
	}
	seconds, _ := curve.On(at.Kind).Seconds(at.Shape)
	return seconds
}
