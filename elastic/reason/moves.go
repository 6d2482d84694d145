package reason

import "github.com/sluice-hpc/sluice/nodes"

// Steps and ends of a move that have arguments. Reason is Slurm's own.
type (
	// AwaitsSlurm: the move waits for Slurm, in which the job is in this phase.
	AwaitsSlurm struct {
		value
		Phase string
	}
	// NewerMove: the move is of a kind, or at a step, that a newer sluice knows.
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
	// StoppedAfter: it was stopped, and waits for its turn.
	StoppedAfter struct {
		value
		Checkpoint string
	}
	// Runs: the job runs. Meant is where it was to run, where that is another size; Silent:
	// its runner has said nothing; Verifies: it still verifies checkpoints; Elsewise: it
	// resumed from another checkpoint than the move's.
	Runs struct {
		value
		On, Meant                  nodes.Placement
		Silent, Verifies, Elsewise bool
		Resumed, Checkpoint        string
	}
	// Late: it did not start in time. Back: to the last good size; else it is placed afresh.
	Late struct {
		value
		Reason string
		Back   bool
	}
	// Unsatisfiable: Slurm cannot satisfy the size as written.
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
	// TurnedAwayAtAll: Slurm does not start it now; its GPUs are for others.
	TurnedAwayAtAll struct {
		value
		Reason string
	}
	// ResumesAfter: it was stopped to wait again, for what After says; Because is what it runs on
	// now for.
	ResumesAfter struct {
		value
		After, Because Reason
	}
	// OutsideSluice: it was requeued by somebody else; Because is what it runs on now for.
	OutsideSluice struct {
		value
		Because Reason
	}
)
