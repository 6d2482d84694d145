package reason

import (
	"time"

	"github.com/sluice-hpc/sluice/nodes"
)

// What keeps nodes from a job.
type (
	// Wish is what the job asks for itself: its constraint, its types of GPU, the nodes that
	// it excludes. Open are the nodes that are left, as Slurm writes lists of nodes; "" =
	// none. Mixed are nodes with several types, which only a job that names one gets.
	Wish struct {
		value
		Constraint string
		Types      []string
		Excluded   string
		Open       string
		Mixed      string
	}
	// BadConstraint: the constraint cannot be read.
	BadConstraint struct {
		value
		Error string
	}
	// InReservation: the job is in a reservation, which has these nodes.
	InReservation struct {
		value
		Reservation, Nodes string
	}
	// ReservationKeeps: a reservation keeps these nodes for a while.
	ReservationKeeps struct {
		value
		Reservation, Nodes string
		From, To           time.Time
	}
	// Reserved is what reservations do to a job, which may have no time limit.
	Reserved struct {
		value
		Of      []Reason
		NoLimit bool
	}
	// OthersFirst: other nodes are tried first than these, where Slurm would not start it.
	OthersFirst struct {
		value
		Nodes string
	}
)

// Why moves are opened that no policy asked for.
type (
	// RunnerKilled: a signal ended its batch script.
	RunnerKilled struct {
		value
		Signal int
	}
	// CountedStill: Slurm counts the job on nodes where it no longer runs.
	CountedStill struct {
		value
		Nodes []string
	}
	// EndsSoon: its time limit, or its Reservation, ends it in so many seconds. It saves,
	// and Again says that it waits again.
	EndsSoon struct {
		value
		Reservation string
		In          float64
		Again       bool
	}
)

// MoveClosed is how a move ended: Because is why, Outcome how the journal has it.
type MoveClosed struct {
	value
	Kind         string
	From, Target nodes.Placement
	Outcome      string
	Because      Reason
}

// SlurmSaid is what Slurm itself gave as a reason or an error.
type SlurmSaid struct {
	value
	Text string
}

// Text is a sentence that an older sluice wrote down.
type Text struct {
	value
	Text string
}
