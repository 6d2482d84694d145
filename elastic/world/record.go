package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// Work is a stretch of training: units From to To.
type Work struct {
	From, To float64
	Ended    time.Time
}

// RunRecord is one run of a job, from the script's first line to its end.
type RunRecord struct {
	Job      slurm.JobID
	Restarts int
	Split    []slurm.GPUShare
	Aim      nodes.Placement // the daemon's target; empty if it let Slurm choose
	Began    time.Time
	Ended    time.Time // zero while it runs
	Resumed  string    // checkpoint it started from
	Start    float64   // units done then
	Best     float64   // units of the newest valid checkpoint then
	Work     []Work
	Done     float64 // units done at the end
	Saved    float64 // units of the newest valid checkpoint at the end
	Why      fake.Cause
	Code     int
}

// gpus is how many the run had.
func (r RunRecord) gpus() (n int) {
	for _, s := range r.Split {
		n += s.GPUs
	}
	return n
}

// Runs returns the job's runs in order.
func (t *Trainer) Runs() (out []RunRecord) {
	t.w.Slurm.Do(func(time.Time) { out = append(out, t.runs...) })
	return out
}

// Checkpoints returns what the job committed, in order.
func (t *Trainer) Checkpoints() (out []Checkpoint) {
	t.w.Slurm.Do(func(time.Time) { out = append(out, t.checkpoints...) })
	return out
}

// Done returns the units of work finished by now; after a stop, those of the
// last run.
func (t *Trainer) Done() (units float64) {
	t.w.Slurm.Do(func(time.Time) {
		switch n := len(t.runs); {
		case t.run != nil:
			units = t.done()
		case n > 0:
			units = t.runs[n-1].Done
		}
	})
	return units
}

// State returns the job's Slurm state; "" = Slurm has purged the job.
func (t *Trainer) State() slurm.State {
	d, err := t.w.User("root").Job(context.Background(), t.id)
	if err != nil {
		return ""
	}
	return d.State
}

// Ended reports whether the job has ended in Slurm or was purged.
func (t *Trainer) Ended() bool {
	d, err := t.w.User("root").Job(context.Background(), t.id)
	return errors.Is(err, slurm.ErrNotFound) || err == nil && d.State.Ended()
}

// newest returns the units of the newest valid checkpoint.
func (t *Trainer) newest() float64 {
	units := 0.0
	for _, c := range t.checkpoints {
		if !c.Bad {
			units = c.Done
		}
	}
	return units
}

func (t *Trainer) begin(r *fake.Run) {
	var aim nodes.Placement
	if target := t.box().target; target != nil {
		aim = target.Split
	}
	for _, c := range t.checkpoints {
		if c.Bad && c.Name == t.word.Resumed {
			t.w.fault(fmt.Errorf("I3 job %d: run %d resumed from %s, which is bad", r.Job, r.Restarts, c.Name))
		}
	}
	t.runs = append(t.runs, RunRecord{
		Aim: aim, Job: r.Job, Restarts: r.Restarts, Split: r.Split, Began: r.Now(),
		Resumed: t.word.Resumed, Start: t.from, Best: t.newest(), Done: t.from,
	})
}

func (t *Trainer) worked(from, to float64) {
	run := &t.runs[len(t.runs)-1]
	run.Work = append(run.Work, Work{From: from, To: to, Ended: t.run.Now()})
	run.Done = to
}

func (t *Trainer) over(why fake.Cause, code int) {
	run := &t.runs[len(t.runs)-1]
	run.Ended, run.Why, run.Code = t.run.Now(), why, code
	run.Done, run.Saved = t.from, t.newest()
	for _, c := range t.checkpoints {
		if c.spoiled.After(run.Began) { // it was good when the run was stopped for it
			run.Saved = max(run.Saved, c.Done)
		}
	}
}
