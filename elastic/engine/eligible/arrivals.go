package eligible

import (
	"iter"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// The tasks of an array are submitted one by one. If the submission is killed halfway, its user has
// seen no job number, so that no task may start before all tasks exist. The first task's comment
// says so, or the tasks are counted.

// Arrivals has the arrays whose first task says that more tasks follow.
type Arrivals map[arrayOf]*elastic.Arrival

// arrayOf identifies an array. The owner is part of it because the id comes from a comment, in which a
// user can write the id of another user's array (decision 38).
type arrayOf struct {
	owner uint32
	id    elastic.JobID
}

// Task is a known job as a task of its array.
type Task struct {
	ID        elastic.JobID
	Owner     uint32
	Array     elastic.Array
	Submitted time.Time // first submit
	Lives     bool      // it has not ended and is managed
}

// of returns the array of a task. The first task has its own id as the array's.
func (t Task) of() arrayOf { return arrayOf{t.Owner, t.Array.Of(t.ID)} }

// Arriving counts the tasks of incomplete arrays among all known jobs. It iterates over tasks twice.
// tasks MUST yield the same jobs both times, also those that have ended: they count as submitted. The
// result is nil if no array is open; nil is a valid Arrivals, in which every array is complete.
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

// Complete returns the first task of each array whose tasks all exist. They are in no particular
// order. An array for which more tasks exist than it was to have is complete too.
func (open Arrivals) Complete() (ids []elastic.JobID) {
	for _, a := range open {
		if a.Have >= a.Want {
			ids = append(ids, a.Job)
		}
	}
	return ids
}

// awaits returns the block of a job that never ran and whose array is incomplete.
//
//	tasks that exist          last submitted            result
//	all, or array unknown     -                         not blocked
//	some                      less than a minute ago    Arriving, until that minute is over
//	some                      earlier                   Incomplete, without an end: the submit was killed
//
// A later task ends either block at once. A job that ever ran is not blocked: its user saw it start.
func (open Arrivals) awaits(id elastic.JobID, own Job, now time.Time) elastic.Blocked {
	if !own.Array.Is() || own.Ran || own.Slurm.Restarts > 0 {
		return elastic.Blocked{}
	}
	counted := open[arrayOf{own.Owner, own.Array.Of(id)}]
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
