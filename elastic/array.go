package elastic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Array is a job's place in a job array: jobs of one submission that run the same script, each
// with its own index. Slurm sees single jobs. The place is written into the job's comment, so
// that %N still holds when everything else is lost.
type Array struct {
	// Job is the id of the array, which is the id of its first job. The first job has 0 here:
	// its id was not known when it was submitted.
	Job   JobID
	Index int // SLURM_ARRAY_TASK_ID
	Count int // number of tasks, at least 1; 0 = not part of an array
	Limit int // number of tasks that may run at once (%N); 0 = no limit
	// Open is set on the first task while the other tasks are being submitted. No task is
	// started BEFORE it is cleared. On other tasks it has no meaning.
	Open bool
}

// Is reports whether the job is part of an array.
func (a Array) Is() bool { return a.Count > 0 }

// Of returns the id of the array that job own is part of; 0 if it is part of none.
func (a Array) Of(own JobID) JobID {
	if a.Job == 0 {
		return own
	}
	return a.Job
}

// String returns the array as the comment has it: "101_3/16%4", or "0_0/16%4+" while it is
// open.
func (a Array) String() string {
	text := fmt.Sprintf("%d_%d/%d", a.Job, a.Index, a.Count)
	if a.Limit > 0 {
		text += "%" + strconv.Itoa(a.Limit)
	}
	if a.Open {
		text += "+"
	}
	return text
}

// MaxIndex is the largest task index that is accepted, whatever Slurm's MaxArraySize.
const MaxIndex = 4_000_000

// maxID bounds the job ids in comments. Slurm's own ids end near 2^26.
const maxID = 1 << 31

func parseArray(value string) (a Array, err error) {
	bad := fmt.Errorf("array=%q: want JOB_INDEX/COUNT or JOB_INDEX/COUNT%%LIMIT, and + behind while the first job waits for the others", value)
	text, open := strings.CutSuffix(value, "+")
	a.Open = open
	job, rest, ok1 := strings.Cut(text, "_")
	index, rest, ok2 := strings.Cut(rest, "/")
	count, limit, limited := strings.Cut(rest, "%")
	if !ok1 || !ok2 {
		return a, bad
	}
	id, err := natural("array", job, maxID)
	a.Job = JobID(id)
	if err == nil {
		a.Index, err = natural("array", index, MaxIndex)
	}
	if err == nil {
		a.Count, err = natural("array", count, MaxIndex+1)
	}
	if err == nil && limited {
		a.Limit, err = natural("array", limit, MaxIndex+1)
	}
	if err != nil || a.Count < 1 || limited && a.Limit < 1 || a.String() != value {
		return Array{}, bad
	}
	return a, nil
}

func (a Array) validate() error {
	switch {
	case a == Array{}:
	case a.Count < 1 || a.Count > MaxIndex+1 || a.Job < 0 || a.Job > maxID || a.Index < 0 || a.Index > MaxIndex || a.Limit < 0 || a.Limit > MaxIndex+1:
		return fmt.Errorf("--array %s: want indices from 0 to %d", a, MaxIndex)
	}
	return nil
}

// arrayKey names an array. It has the user, because a comment counts only for jobs of the user
// that wrote it.
type arrayKey struct {
	uid uint32
	id  JobID
}

// ArrayCaps returns the %N of job arrays as limits on how many of their jobs run at once. A
// task counts from the decision to start it until Slurm has cleaned up its run or holds it
// again; a task between two sizes counts.
func ArrayCaps(s *Snapshot) []Cap {
	var out []Cap
	at := map[arrayKey]int{}
	for i := range s.Jobs {
		a := s.Jobs[i].Spec.Array
		if a.Limit < 1 {
			continue
		}
		key := arrayKey{s.Jobs[i].UID, a.Of(s.Jobs[i].ID)}
		if _, known := at[key]; !known {
			at[key] = len(out)
			out = append(out, Cap{Name: fmt.Sprintf("--array=...%%%d of array %d", a.Limit, key.id), Of: Jobs, Most: a.Limit, Throttle: true, Jobs: map[JobID]bool{}})
		}
		out[at[key]].Most = min(out[at[key]].Most, a.Limit)
	}
	if len(out) == 0 {
		return nil
	}
	bound := s.Bound()
	for i := range s.Jobs {
		j := &s.Jobs[i]
		k, is := at[arrayKey{j.UID, j.Spec.Array.Of(j.ID)}]
		if !is || !j.Spec.Array.Is() {
			continue
		}
		c := &out[k]
		if j.Phase != Waiting && len(j.Place) == 0 && len(bound[j.ID]) == 0 {
			c.Others++ // Slurm may start it by itself, or has not cleaned it up yet
			continue
		}
		c.Jobs[j.ID] = true
	}
	return slices.DeleteFunc(out, func(c Cap) bool { return len(c.Jobs) == 0 })
}
