package world

import "time"

// Series keeps a job's checkpoints where the world cannot see them, on a real disk for
// one. Without one a checkpoint is its name.
type Series interface {
	// Commit saves and closes the checkpoint.
	Commit(name string) error
	// Newest returns the newest valid one, "" when there is none, and a line for each
	// newer one that was passed over.
	Newest() (name string, skipped []string, err error)
	// Spoil damages one, in one of many ways.
	Spoil(name string, way uint64) error
	// Abandon leaves what a power loss leaves of one that is being saved.
	Abandon(name string, way uint64) error
}

// Spoil damages the job's newest good checkpoint, in one of many ways: nothing that
// reads it may take it for good. Nothing happens where there is none. The present run
// may still be stopped for it: it was good when it was verified.
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

// PowerFails is the job's nodes losing power: of a checkpoint that is being saved, what
// was not synced is gone or torn. Slurm has to be told on its own.
func (t *Trainer) PowerFails(way uint64) (err error) {
	t.w.Slurm.Do(func(time.Time) {
		if t.run != nil && !t.moving && t.series != nil {
			err = t.series.Abandon(t.nextName(), way)
		}
	})
	return err
}

// found is the newest valid checkpoint as the series tells, with what was passed over.
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
