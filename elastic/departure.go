package elastic

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
)

// Cause is why a job should leave a node.
type Cause string

// The causes of departures.
const (
	Draining    Cause = "drain"       // an administrator, or Slurm, drained the node
	Maintenance Cause = "maintenance" // a maintenance reservation begins on it soon, or has begun
)

// Departure is a node that a running job should leave.
type Departure struct {
	Node  string
	Cause Cause
	Name  string    // of the reservation, or the reason for the drain; may be ""
	At    time.Time // when the maintenance begins; zero for a drain
}

// Why is the departure as a reason.
func (d Departure) Why() reason.Reason {
	if d.Cause == Maintenance {
		return reason.Maintenance{Node: d.Node, At: d.At, Reservation: d.Name}
	}
	return reason.Draining{Node: d.Node, Why: d.Name}
}

// Departs returns the departure that decides, and false when there is none: maintenance
// comes before a drain, for the job must be gone by then.
func (j *Job) Departs() (Departure, bool) {
	for _, d := range j.Departures {
		if d.Cause == Maintenance {
			return d, true
		}
	}
	if len(j.Departures) == 0 {
		return Departure{}, false
	}
	return j.Departures[0], true
}
