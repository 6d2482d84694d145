package main

import (
	"fmt"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// folded merges the tasks of an array that wait for the same reason into one line, that
// of the first, and returns the text shown for their numbers.
func folded(jobs []wire.Job) (out []wire.Job, names map[int64]string) {
	type key struct {
		uid   uint32
		array int64
		why   string
	}
	// A task with problems keeps its line, which is marked. uid is part of the key because any user can
	// write the number of another's array into a comment.
	same := func(j *wire.Job) (key, bool) {
		if j.Array == nil || j.Ended || j.GPUs > 0 || j.Move != nil || j.ST != "PD" || len(j.Problems) > 0 {
			return key{}, false
		}
		return key{j.UID, j.Array.JobID, reasonOf(j)}, true
	}
	tasks := map[key][]int{}
	for i := range jobs {
		if k, ok := same(&jobs[i]); ok {
			tasks[k] = append(tasks[k], jobs[i].Array.Index)
		}
	}
	if len(tasks) == 0 {
		return jobs, nil
	}
	names = map[int64]string{}
	for i := range jobs {
		j := &jobs[i]
		k, ok := same(j)
		waiting := tasks[k]
		switch {
		case !ok || len(waiting) == 1:
			out = append(out, *j)
		case waiting != nil: // the first of them
			names[j.JobID] = fmt.Sprintf("%d_[%s%s]", j.Array.JobID, ranges(waiting), throttle(*j.Array))
			tasks[k] = nil
			out = append(out, *j)
		}
	}
	return out, names
}

// throttle is the %N of an array, "" without one.
func throttle(a wire.Array) string {
	if a.Limit == 0 {
		return ""
	}
	return fmt.Sprintf("%%%d", a.Limit)
}

// arrayLine says which task of which array a job is; "" if it is none.
func arrayLine(j wire.Job) string {
	a := j.Array
	if a == nil {
		return ""
	}
	text := fmt.Sprintf("task %d of array %d, of %s", a.Index, a.JobID, terminal.Plural(a.Count, "task"))
	if a.Limit > 0 {
		text += fmt.Sprintf(", at most %d at once", a.Limit)
	}
	return text
}
