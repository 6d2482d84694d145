package present

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Folded merges the tasks of an array that wait for the same reason into one line, that
// of the first, and returns the text shown for their numbers.
func Folded(jobs []wire.Job) (out []wire.Job, names map[int64]string) {
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
		return key{j.UID, j.Array.JobID, Reason(j)}, true
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
			names[j.JobID] = fmt.Sprintf("%d_[%s%s]", j.Array.JobID, Ranges(waiting), throttle(*j.Array))
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

// Ranges formats numbers as "101-103,105".
func Ranges[N ~int | ~int64](numbers []N) string {
	numbers = slices.Sorted(slices.Values(numbers))
	var parts []string
	for i := 0; i < len(numbers); {
		last := i
		for last+1 < len(numbers) && numbers[last+1] == numbers[last]+1 {
			last++
		}
		if last == i {
			parts = append(parts, fmt.Sprint(numbers[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[last]))
		}
		i = last + 1
	}
	return strings.Join(parts, ",")
}

// ArrayLine says which task of which array a job is; "" if it is none.
func ArrayLine(j wire.Job) string {
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
