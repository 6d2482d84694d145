package runner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Array is a job's part of a job array, passed to its script in variables.
type Array struct {
	Job            int64 // the array's id; 0 = the job's own
	Index          int
	Count          int // number of tasks; 0 = the job is part of none
	Min, Max, Step int // of the indices
}

// arrayWords are the suffixes of the variables for it, as in sbatch.
var arrayWords = []string{"JOB_ID", "TASK_ID", "TASK_COUNT", "TASK_MIN", "TASK_MAX", "TASK_STEP"}

// ofArray reports whether the variable is one of them: a job submitted inside a task
// inherits that task's.
func ofArray(name string) bool {
	rest, ok := strings.CutPrefix(name, "SLURM_ARRAY_")
	if !ok {
		rest, ok = strings.CutPrefix(name, "SLUICE_ARRAY_")
	}
	return ok && slices.Contains(arrayWords, rest)
}

// variables are the script's variables: under sluice's names and under sbatch's.
func (a Array) variables(own int64) (out []variable) {
	if a.Count == 0 {
		return nil
	}
	if a.Job != 0 {
		own = a.Job
	}
	for i, n := range []int64{own, int64(a.Index), int64(a.Count), int64(a.Min), int64(a.Max), int64(a.Step)} {
		for _, whose := range []string{"SLUICE_ARRAY_", "SLURM_ARRAY_"} {
			out = append(out, variable{whose + arrayWords[i], strconv.FormatInt(n, 10), true})
		}
	}
	return out
}

// String is "101_3/16:0-15:1": task 3 of array 101, of 16 with indices from 0 to 15 in
// steps of 1.
func (a Array) String() string {
	if a.Count == 0 {
		return ""
	}
	return fmt.Sprintf("%d_%d/%d:%d-%d:%d", a.Job, a.Index, a.Count, a.Min, a.Max, a.Step)
}

// Set parses the form of String.
func (a *Array) Set(text string) error {
	var v Array
	_, err := fmt.Sscanf(text, "%d_%d/%d:%d-%d:%d", &v.Job, &v.Index, &v.Count, &v.Min, &v.Max, &v.Step)
	if err != nil || v.Count < 1 || v.String() != text || v.Job < 0 || v.Index < v.Min || v.Index > v.Max || v.Min < 0 || v.Step < 1 {
		return fmt.Errorf("want JOB_INDEX/COUNT:MIN-MAX:STEP")
	}
	*a = v
	return nil
}

// Type is what --help calls it.
func (a *Array) Type() string { return "JOB_INDEX/COUNT:MIN-MAX:STEP" }
