package elastic

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
)

// Block is the kind of reason that keeps a waiting job from starting now, however many GPUs are
// free.
type Block string

// Reasons for which Slurm itself would not start a job.
const (
	BeginsLater  Block = "begin"       // its begin time is in the future
	Depends      Block = "dependency"  // its dependency is not fulfilled yet
	NeverDepends Block = "never"       // its dependency can never be fulfilled
	NotBegun     Block = "reservation" // its reservation is in the future
	Obstructed   Block = "obstacle"    // a reason that Slurm gives only after a release
)

// Uncleared: Slurm still counts the job on nodes of its last run. It would get no GPUs, and those
// chosen for it would be counted as used until slurmctld restarts.
const Uncleared Block = "uncleared"

// Unreachable: the job's folder has not answered for long, so its run could not be given its
// incarnation and size.
const Unreachable Block = "folder"

// Reasons for which sluice would not start a job: its array is incomplete.
const (
	Arriving   Block = "arriving"   // other tasks are still being submitted
	Incomplete Block = "incomplete" // submission stopped; no task came for ArrayPatience
)

// ArrayPatience is how long after the last submitted task of an array the missing ones are
// still expected. It is longer than one sbatch takes while slurmctld is not very busy.
const ArrayPatience = time.Minute

// SweepEnded: it is a lane of a sweep that is over, and is cancelled next.
const SweepEnded Block = "ended"

// Blocked is a Block with its details; the zero value is none.
type Blocked struct {
	Code  Block
	Until time.Time // when it ends by itself; zero = not known
	On    string    // of dependencies: "job 12 (afterok)"; of Uncleared: the nodes, separated by commas; else the reservation or Slurm's reason
	Since time.Time // of Obstructed: when Slurm last gave the reason; of Unreachable: since when
	Times int       // how many times in a row Slurm gave the reason
	Array Arrival   // of Arriving and Incomplete
	Sweep JobID     // of SweepEnded: the number of the sweep
}

// Arrival is how much of an array has been submitted.
type Arrival struct {
	Job        JobID // id of the array
	Have, Want int   // number of tasks submitted, and in all
	Last       time.Time
}

// why returns it as a reason.
func (b Blocked) why(id JobID) reason.Reason {
	switch b.Code {
	case BeginsLater:
		return reason.Begins{At: b.Until}
	case NotBegun:
		return reason.ReservationBegins{Reservation: b.On, At: b.Until}
	case Obstructed:
		return b.obstructed(id)
	case Uncleared:
		return reason.CountedStill{Nodes: strings.Split(b.On, ",")}
	case SweepEnded:
		return reason.SweepEnded{Sweep: int64(b.Sweep)}
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

// WaitsOutside returns why Slurm would not start the held job now; nil if it would.
func (j *Job) WaitsOutside() reason.Reason {
	if j.Phase != Waiting || j.Blocked.Code == "" {
		return nil
	}
	return j.Blocked.why(j.ID)
}

// DependsOn joins the terms of a dependency, for people: with "or" if oneIsEnough, else with
// "and".
func DependsOn(terms []string, oneIsEnough bool) string {
	const most = 4 // as many as an array has tasks
	if n := len(terms); n > most {
		terms = append(slices.Clone(terms[:most-1]), fmt.Sprintf("%d more", n-most+1))
	}
	if oneIsEnough {
		return strings.Join(terms, " or ")
	}
	return strings.Join(terms, " and ")
}
