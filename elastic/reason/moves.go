package reason

import "github.com/sluice-hpc/sluice/nodes"

// Steps and ends of a move that have arguments. Reason is Slurm's own.
type (
	// AwaitsSlurm: the move waits for Slurm, where the job is in this phase.
	AwaitsSlurm struct {
		value
		Phase string
	}
	// NewerMove: the move is of a kind, or at a step, that only a newer sluice knows.
	NewerMove struct {
		value
		Error string
	}
	// NotSaved: the job could not save.
	NotSaved struct {
		value
		Error string
	}
	// JobEnded: State is Slurm's.
	JobEnded struct {
		value
		State string
	}
	// CheckpointVerified: the job answered with this checkpoint.
	CheckpointVerified struct {
		value
		Checkpoint string
	}
	// SavedTrainsOn: it saved, and was not to be stopped.
	SavedTrainsOn struct {
		value
		Checkpoint string
	}
	// StoppedAfter: it was stopped, and waits again.
	StoppedAfter struct {
		value
		Checkpoint string
	}
	// Runs: the job runs. Meant is where it should run, if that is another size; Silent: its
	// runner has not reported; Verifies: it is still verifying checkpoints; Elsewise: it
	// resumed from another checkpoint than the move's.
	Runs struct {
		value
		On, Meant                  nodes.Placement
		Silent, Verifies, Elsewise bool
		Resumed, Checkpoint        string
	}
	// Late: it did not start in time. Back: it returns to the last good size; else it is placed
	// anew.
	Late struct {
		value
		Reason string
		Back   bool
	}
	// Unsatisfiable: Slurm cannot satisfy the size as written to the job.
	Unsatisfiable struct {
		value
		Reason string
		Back   bool
	}
	// TurnedAway: Slurm does not start it at this size or on these nodes.
	TurnedAway struct {
		value
		Reason string
		Back   bool
	}
	// TurnedAwayAtAll: Slurm does not start it now on any nodes; its GPUs are given to other
	// jobs.
	TurnedAwayAtAll struct {
		value
		Reason string
	}
	// ResumesAfter: it was stopped to wait again because of After; Because is why it runs now.
	ResumesAfter struct {
		value
		After, Because Reason
	}
	// OutsideSluice: it was requeued by another program or user; Because is why it runs now.
	OutsideSluice struct {
		value
		Because Reason
	}
)
