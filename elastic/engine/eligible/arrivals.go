package eligible

import (
	"iter"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// The jobs of an array are submitted one by one. A submit that is killed on the way must
// leave nothing that runs and that nobody was told of, so none starts before all are there.
// That they are is what the first job's comment says, or what can be counted.

// Arrivals are the arrays of which the first job says that others are to come.
type Arrivals map[arrayOf]*elastic.Arrival

type arrayOf struct {
	uid uint32
	id  elastic.JobID
}

// Task is a job that is known, as a task of its array.
type Task struct {
	ID        elastic.JobID
	UID       uint32
	Array     elastic.Array
	Submitted time.Time // first submit
	Lives     bool      // it has not ended and is looked after
}

func (t Task) of() arrayOf { return arrayOf{t.UID, t.Array.Of(t.ID)} }

// Arriving counts the tasks of open arrays among all jobs that are known. It goes through them
// twice.
func Arriving(tasks iter.Seq[Task]) Arrivals {
	open := Arrivals{}
	for t := range tasks {
		if t.Array.Open && t.Array.Job == 0 && t.Lives {
			open[t.of()] = &elastic.Arrival{Job: t.ID, Want: t.Array.Count}
		}
	}
	if len(open) == 0 {
		return nil
	}
	for t := range tasks {
		if a := open[t.of()]; a != nil && t.Array.Is() {
			a.Have, a.Last = a.Have+1, later(a.Last, t.Submitted)
		}
	}
	return open
}

// Complete lists the first jobs of the arrays of which all tasks are there.
func (open Arrivals) Complete() (ids []elastic.JobID) {
	for _, a := range open {
		if a.Have >= a.Want {
			ids = append(ids, a.Job)
		}
	}
	return ids
}

// awaits is what of the job's array is still to come, as long as it has never run.
func (open Arrivals) awaits(id elastic.JobID, own Job, now time.Time) elastic.Blocked {
	if !own.Array.Is() || own.Ran || own.Slurm.Restarts > 0 {
		return elastic.Blocked{}
	}
	counted := open[arrayOf{own.UID, own.Array.Of(id)}]
	switch a := counted; {
	case a == nil || a.Have >= a.Want:
		return elastic.Blocked{}
	case now.Sub(a.Last) < elastic.ArrayPatience:
		return elastic.Blocked{Code: elastic.Arriving, Array: *a, Until: a.Last.Add(elastic.ArrayPatience).In(now.Location())}
	}
	a := *counted
	a.Last = a.Last.In(now.Location())
	return elastic.Blocked{Code: elastic.Incomplete, Array: a}
}
