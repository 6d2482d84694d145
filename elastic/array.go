package elastic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Array is a job's part in a job array: the jobs of one submit that run the same script,
// each with an index of its own. To Slurm they are single jobs. It travels in the comment,
// so that %N holds whatever else is lost.
type Array struct {
	// Job is the id of the array, which is that of its first job. That one was submitted
	// before it was known: 0 = its own.
	Job   JobID
	Index int // SLURM_ARRAY_TASK_ID
	Count int // tasks in all, at least 1; 0 = the job is part of no array
	Limit int // how many of them may run at once; 0 = any number
	// Open: the others are still being submitted. The first job says so, until all are
	// there; none of them is started before. Of other jobs it means nothing.
	Open bool
}

// Is reports whether the job is part of an array.
func (a Array) Is() bool { return a.Count > 0 }

// Of is the id of the array of which a job is part.
func (a Array) Of(own JobID) JobID {
	if a.Job == 0 {
		return own
	}
	return a.Job
}

// String is the array as the comment has it: "101_3/16%4", and "0_0/16%4+" while it is open.
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

// MaxIndex is the largest index of a task, whatever Slurm's MaxArraySize.
const MaxIndex = 4_000_000

// maxID bounds the ids of jobs in comments; Slurm's own end at 2^26 or so.
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

// arrayKey names an array. A user's comments tell of this user's jobs only.
type arrayKey struct {
	uid uint32
	id  JobID
}

// ArrayCaps are the %N of job arrays as limits on how many of their jobs run at once. A
// task counts from the moment it is to be started until Slurm has cleaned its run away or
// has it held again, also while it is between two sizes.
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
		if j.Phase != Held && len(j.Place) == 0 && len(bound[j.ID]) == 0 {
			c.Others++ // Slurm may start it by itself, or has not yet cleaned it away
			continue
		}
		c.Jobs[j.ID] = true
	}
	return slices.DeleteFunc(out, func(c Cap) bool { return len(c.Jobs) == 0 })
}
