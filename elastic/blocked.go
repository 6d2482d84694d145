package elastic

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
)

// Block says what keeps a waiting job from starting now, however many GPUs are free.
type Block string

// What Slurm itself would not start a job for.
const (
	BeginsLater  Block = "begin"       // its begin time lies ahead
	Depends      Block = "dependency"  // what it depends on has not happened
	NeverDepends Block = "never"       // what it depends on cannot happen any more
	NotBegun     Block = "reservation" // its reservation lies ahead
	Obstructed   Block = "obstacle"    // what Slurm says after a release only
)

// Unreachable: its folder has not answered for long, so that its run could not be told what
// it is.
const Unreachable Block = "folder"

// What sluice would not start it for: its array is not there whole.
const (
	Arriving   Block = "arriving"   // its other tasks are being submitted
	Incomplete Block = "incomplete" // they were, and no more have come for ArrayPatience
)

// ArrayPatience is how long after the last task of an array that came the others are taken
// to come: longer than one sbatch takes where slurmctld is not very busy.
const ArrayPatience = time.Minute

// Blocked is a Block with what there is to say of it; the zero value is none.
type Blocked struct {
	Code  Block
	Until time.Time // when it is over by itself; zero = not known
	On    string    // of dependencies: "job 12 (afterok)"; else the reservation, or Slurm's reason
	Since time.Time // of Obstructed: when Slurm last said so; of Unreachable: from when on
	Times int       // and how often in a row
	Array Arrival   // of Arriving and Incomplete
}

// Arrival is how far an array has been submitted.
type Arrival struct {
	Job        JobID // the array's
	Have, Want int   // tasks
	Last       time.Time
}

// why is it as a reason.
func (b Blocked) why(id JobID) reason.Reason {
	switch b.Code {
	case BeginsLater:
		return reason.Begins{At: b.Until}
	case NotBegun:
		return reason.ReservationBegins{Reservation: b.On, At: b.Until}
	case Obstructed:
		return b.obstructed(id)
	case Unreachable:
		return reason.FolderUnreadable{Since: b.Since}
	case Arriving:
		return reason.ArrayArriving{Have: b.Array.Have, Want: b.Array.Want}
	case Incomplete:
		return reason.ArrayIncomplete{Array: int64(b.Array.Job), Have: b.Array.Have, Want: b.Array.Want, Last: b.Array.Last}
	case NeverDepends:
		return reason.NeverDepends{Job: int64(id), On: b.On}
	}
	return reason.Depends{On: b.On}
}

// WaitsOutside says why Slurm would not start the held job now; nil where it would.
func (j *Job) WaitsOutside() reason.Reason {
	if j.Phase != Held || j.Blocked.Code == "" {
		return nil
	}
	return j.Blocked.why(j.ID)
}

// DependsOn joins the terms of a dependency, for people; oneIsEnough joins them with "or".
func DependsOn(terms []string, oneIsEnough bool) string {
	const most = 4 // as of an array's tasks
	if n := len(terms); n > most {
		terms = append(slices.Clone(terms[:most-1]), fmt.Sprintf("%d more", n-most+1))
	}
	if oneIsEnough {
		return strings.Join(terms, " or ")
	}
	return strings.Join(terms, " and ")
}
