package reason

import (
	"time"

	"github.com/sluice-hpc/sluice/nodes"
)

// What keeps nodes from a job.
type (
	// Wish is what the job itself requests: its constraint, its GPU types, the nodes that it
	// excludes. Open are the nodes that are left, as Slurm writes lists of nodes; "" = none.
	// Mixed are nodes with several types, which only a job that names one may use.
	Wish struct {
		value
		Constraint string
		Types      []string
		Excluded   string
		Open       string
		Mixed      string
	}
	// BadConstraint: the constraint is not valid.
	BadConstraint struct {
		value
		Error string
	}
	// InReservation: the job is in a reservation of these nodes.
	InReservation struct {
		value
		Reservation, Nodes string
	}
	// ReservationKeeps: a reservation holds these nodes for some time.
	ReservationKeeps struct {
		value
		Reservation, Nodes string
		From, To           time.Time
	}
	// Reserved is how reservations affect a job, which may have no time limit.
	Reserved struct {
		value
		Of      []Reason
		NoLimit bool
	}
	// OthersFirst: other nodes are tried before these, on which Slurm did not start it.
	OthersFirst struct {
		value
		Nodes string
	}
)

// Why moves are opened that no policy requested.
type (
	// RunnerKilled: a signal ended its batch script.
	RunnerKilled struct {
		value
		Signal int
	}
	// CountedStill: Slurm still counts the job on nodes where it no longer runs.
	CountedStill struct {
		value
		Nodes []string
	}
	// EndsSoon: its time limit, or its Reservation, ends it in this many seconds. It saves;
	// Again says that it waits again.
	EndsSoon struct {
		value
		Reservation string
		// Seconds from when the move was opened.
		In    float64
		Again bool
	}
)

// MoveClosed is how a move ended: Because is why, Outcome is the journal's word for it.
type MoveClosed struct {
	value
	Kind         string
	From, Target nodes.Placement
	Outcome      string
	Because      Reason
}

// SlurmSaid is a reason or an error of Slurm itself.
type SlurmSaid struct {
	value
	Text string
}

// Text is a sentence that an older sluice stored.
type Text struct {
	value
	Text string
}
