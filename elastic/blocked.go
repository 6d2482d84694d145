package elastic

import (
	"fmt"
	"slices"
	"strings"
	"time"
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

// words say it for people.
func (b Blocked) words(id JobID) string {
	switch b.Code {
	case BeginsLater:
		return fmt.Sprintf("waiting: begins %s (--begin)", b.Until.Format("2006-01-02T15:04:05"))
	case NotBegun:
		return fmt.Sprintf("waiting: its reservation %s begins %s", b.On, b.Until.Format("2006-01-02T15:04:05"))
	case Obstructed:
		return b.obstacleWords(id)
	case Unreachable:
		return fmt.Sprintf("waiting: its folder has not answered since %s; perhaps its file system hangs", b.Since.Format("2006-01-02T15:04:05"))
	case Arriving:
		return fmt.Sprintf("waiting: its array is being submitted, %d of %d tasks so far", b.Array.Have, b.Array.Want)
	case Incomplete:
		return fmt.Sprintf("not started: only %d of the %d tasks of its array were submitted, the last at %s; cancel them with sluice cancel '%d_*' and submit the array again",
			b.Array.Have, b.Array.Want, b.Array.Last.Format(time.TimeOnly), b.Array.Job)
	case NeverDepends:
		return fmt.Sprintf("never starts: its dependency on %s cannot be satisfied; cancel it with scancel %d, or take the dependency away with scontrol update JobId=%d Dependency=", b.On, id, id)
	}
	return "waiting: depends on " + b.On
}

// WaitsOutside says why Slurm would not start the held job now, "" where it would.
func (j *Job) WaitsOutside() string {
	if j.Phase != Held || j.Blocked.Code == "" {
		return ""
	}
	return j.Blocked.words(j.ID)
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
