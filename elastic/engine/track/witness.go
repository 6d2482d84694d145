package track

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/slurm"
)

// witness is a run's claims about its speed held against the daemon's own clock.
type witness struct {
	speed.Witness
	of int // the run, counted from 1; 0 = none
}

// borneOut is the seconds a unit that a line claims, as far as the time bears them out
// that passed since lines before it. The line was written since progress was last read:
// what it says of the time itself is its own word. While a move is under way, or Slurm
// has the job stopped, it may wait and not train, and nothing is held against it.
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
