package elastic

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
)

// Cause is why a job has to leave a node.
type Cause string

// The causes of departures.
const (
	Draining    Cause = "drain"       // an administrator, or Slurm, drained the node
	Maintenance Cause = "maintenance" // a maintenance reservation of the node begins soon or has begun
)

// Departure is a node that a running job has to leave.
type Departure struct {
	Node  string
	Cause Cause
	Name  string    // name of the reservation, or reason of the drain; may be ""
	At    time.Time // when the maintenance begins; zero for a drain
}

// Why returns the departure as a reason.
func (d Departure) Why() reason.Reason {
	if d.Cause == Maintenance {
		return reason.Maintenance{Node: d.Node, At: d.At, Reservation: d.Name}
	}
	return reason.Draining{Node: d.Node, Why: d.Name}
}

// Departs returns the departure to act on, and false if there is none. Maintenance comes BEFORE
// a drain, because the job must have left when it begins.
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
