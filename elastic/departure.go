package elastic

import (
	"fmt"
	"time"
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

// String says it to people.
func (d Departure) String() string {
	switch {
	case d.Cause == Maintenance:
		return fmt.Sprintf("%s is in maintenance from %s on (reservation %s)", d.Node, d.At.Format("15:04:05"), d.Name)
	case d.Name != "":
		return fmt.Sprintf("%s is draining (%s)", d.Node, d.Name)
	}
	return d.Node + " is draining"
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
