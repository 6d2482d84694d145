package world

import "time"

// Series stores a job's checkpoints outside of the world, for example on a real disk. Without a
// Series a checkpoint is only a name.
type Series interface {
	// Commit saves and closes the checkpoint.
	Commit(name string) error
	// Newest returns the newest valid checkpoint, "" = none, and a line for each newer one
	// that was skipped as invalid.
	Newest() (name string, skipped []string, err error)
	// Spoil damages a checkpoint; way selects how.
	Spoil(name string, way uint64) error
	// Abandon leaves what a power loss leaves of a checkpoint that is being saved.
	Abandon(name string, way uint64) error
}

// Spoil damages the job's newest valid checkpoint; way selects how. Readers must then reject it. It
// does nothing if there is none. The present run may still be stopped because of it, since it
// was valid when it was verified.
func (t *Trainer) Spoil(way uint64) (done bool, err error) {
	t.w.Slurm.Do(func(now time.Time) {
		for i := len(t.checkpoints) - 1; i >= 0 && !done; i-- {
			c := &t.checkpoints[i]
			if c.Bad {
				continue
			}
			c.Bad, c.spoiled, done = true, now, true
			if t.series != nil {
				err = t.series.Spoil(c.Name, way)
			}
		}
	})
	return done, err
}

// PowerFails simulates a power loss of the job's nodes: unsynced parts of a checkpoint that is being
// saved are gone or torn. The caller has to fail the nodes in Slurm.
func (t *Trainer) PowerFails(way uint64) (err error) {
	t.w.Slurm.Do(func(time.Time) {
		if t.run != nil && !t.moving && t.series != nil {
			err = t.series.Abandon(t.nextName(), way)
		}
	})
	return err
}

// found returns the progress of the newest valid checkpoint of the series.
func (t *Trainer) found() (done float64, ok bool) {
	if t.series == nil {
		return 0, false
	}
	name, skipped, err := t.series.Newest()
	if err != nil {
		t.w.fault(err)
		return 0, false
	}
	t.word.Skipped, t.word.Resumed = skipped, name
	for _, c := range t.checkpoints {
		if c.Name == name {
			done = c.Done
		}
	}
	return done, true
}

// On reports whether the job runs on the node now.
func (t *Trainer) On(node string) (yes bool) {
	t.w.Slurm.Do(func(time.Time) {
		if t.run == nil {
			return
		}
		for _, s := range t.run.Split {
			yes = yes || s.Node == node
		}
	})
	return yes
}
