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
// between lines on the daemon's clock. The line was written since progress was last read; its own
// time stamp is not trusted. While a move is open, or Slurm has suspended the job, the program may
// wait, so that the check starts anew.
func (open Moves) borneOut(js *Job, line checkpoint.Progress, now time.Time) float64 {
	if open.has(js.Rec.ID) || js.Shown.Slurm.State != slurm.Running || line.Restarts != js.Restarts() || js.Learnt.witness.of != line.Restarts+1 {
		js.Learnt.witness = witness{of: line.Restarts + 1}
	}
	early := Later(js.Mail.Heard, js.Shown.Slurm.Start)
	seconds := js.Learnt.witness.Heard(line.Seconds, line.Done, early, now)
	if line.Seconds <= 0 {
		return line.Seconds // it claims none
	}
	return seconds
}
