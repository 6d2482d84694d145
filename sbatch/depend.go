package sbatch

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
)

// Depend replaces the arrays that the request depends on by jobs: tasks returns the jobs
// of one of sluice's arrays, by index, or nil if there is no such array. Dependencies
// that sbatch itself understands are not changed. whole lists arrays that are named by
// their number only, which is also the id of their first job, and no task.
func (r Request) Depend(tasks func(array elastic.JobID) map[int]elastic.JobID) (_ Request, whole []elastic.JobID) {
	var out strings.Builder
	named := map[string]bool{}
	text, from, inside, job := r.Dependency, 0, false, false // job: after a colon
	for i := 0; i <= len(text); i++ {
		if i < len(text) && (inside || !strings.ContainsRune(",?:", rune(text[i]))) {
			inside = (inside || text[i] == '[') && text[i] != ']'
			continue
		}
		word := text[from:i]
		if job {
			named[word] = true
			word, whole = dependOn(word, tasks, whole)
		}
		if out.WriteString(word); i < len(text) {
			out.WriteByte(text[i])
			job = text[i] == ':'
		}
		from = i + 1
	}
	whole = slices.DeleteFunc(whole, func(array elastic.JobID) bool { // other tasks of it are named, too
		for _, id := range tasks(array) {
			if id != array && named[strconv.FormatInt(int64(id), 10)] {
				return true
			}
		}
		return false
	})
	if r.depends = out.String(); r.depends == r.Dependency {
		r.depends = ""
	}
	return r, whole
}

// dependOn is one job, array or list of tasks after a colon: 101, 101_3, 101_*,
// optionally followed by a delay such as +5.
func dependOn(word string, tasks func(elastic.JobID) map[int]elastic.JobID, whole []elastic.JobID) (string, []elastic.JobID) {
	name, delay, delayed := strings.Cut(word, "+")
	number, which, some := strings.Cut(name, "_")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return word, whole
	}
	known := tasks(elastic.JobID(id))
	if len(known) > 1 && !some {
		return word, append(whole, elastic.JobID(id))
	}
	var jobs []string
	for _, index := range slices.Sorted(maps.Keys(known)) {
		wanted, err := ParseArray(which)
		if some && (which == "*" || err == nil && slices.Contains(wanted.Tasks, index)) {
			job := strconv.FormatInt(int64(known[index]), 10)
			if delayed {
				job += "+" + delay
			}
			jobs = append(jobs, job)
		}
	}
	if len(jobs) == 0 {
		return word, whole
	}
	return strings.Join(jobs, ":"), whole
}
