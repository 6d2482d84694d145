package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control"
)

// folded puts the tasks of an array that wait for the same in one line, that of the first.
func folded(jobs []control.Job) []control.Job {
	type key struct {
		uid   uint32
		array int64
		why   string
	}
	same := func(j control.Job) (key, bool) {
		if j.Array == nil || j.Ended || j.GPUs > 0 || j.Move != nil || j.ST != "PD" || len(j.Problems) > 0 {
			return key{}, false
		}
		return key{j.UID, j.Array.JobID, reason(j)}, true
	}
	tasks := map[key][]int{}
	for _, j := range jobs {
		if k, ok := same(j); ok {
			tasks[k] = append(tasks[k], j.Array.Index)
		}
	}
	var out []control.Job
	for _, j := range jobs {
		k, ok := same(j)
		waiting := tasks[k]
		switch {
		case !ok || len(waiting) == 1:
			out = append(out, j)
		case waiting != nil: // the first of them
			a := *j.Array
			a.Folded = fmt.Sprintf("%d_[%s%s]", a.JobID, ranges(waiting), throttle(a))
			j.Array, tasks[k] = &a, nil
			out = append(out, j)
		}
	}
	return out
}

// throttle is the %N of an array, "" without.
func throttle(a control.Array) string {
	if a.Limit == 0 {
		return ""
	}
	return fmt.Sprintf("%%%d", a.Limit)
}

// jobNumber is the job's own number, or the tasks that a line stands for.
func jobNumber(j control.Job, _ time.Time) string {
	if j.Array != nil && j.Array.Folded != "" {
		return j.Array.Folded
	}
	return fmt.Sprint(j.JobID)
}

// arrayLine says which task of which array a job is; "" of a job that is none.
func arrayLine(j control.Job) string {
	a := j.Array
	if a == nil {
		return ""
	}
	text := fmt.Sprintf("task %d of array %d, of %s", a.Index, a.JobID, plural(a.Count, "task"))
	if a.Limit > 0 {
		text += fmt.Sprintf(", at most %d at once", a.Limit)
	}
	return text
}

// wordsOf are the jobs of -j: the flag has cut them at each comma, also within brackets.
func (o queueOptions) wordsOf() []string {
	if len(o.jobs) == 0 {
		return nil
	}
	return []string{strings.Join(o.jobs, ",")}
}
