package present

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/sbatch"
)

// JobWord is one job, or some tasks of a job array, as written by a user. A number is
// always the job that Slurm knows by it, even if it is also an array's number.
type JobWord struct {
	text  string
	id    elastic.JobID // the job, or the array
	tasks *sbatch.Array // the tasks; nil = see all
	all   bool          // every task of the array
}

// Many reports whether the word names tasks of an array, which only a list of jobs tells.
func (w JobWord) Many() bool { return w.all || w.tasks != nil }

// JobWords parses 101, 101-103, 101_3, 101_[1-3,7], 101_* and lists of these separated by
// commas, or by colons as 'sluice submit --parsable' prints them.
func JobWords(args []string) (out []JobWord, err error) {
	for _, arg := range args {
		for _, word := range apart(arg) {
			id, rest, array := strings.Cut(word, "_")
			first, last, several := strings.Cut(id, "-")
			from, err := strconv.ParseInt(first, 10, 64)
			to := from
			if err == nil && several {
				to, err = strconv.ParseInt(last, 10, 64)
			}
			w := JobWord{text: word, all: array && rest == "*"}
			switch {
			case strings.Contains(word, "+") && first != "" && first[0] >= '0' && first[0] <= '9':
				return nil, fmt.Errorf("%s: heterogeneous jobs are not elastic; use Slurm's own commands", terminal.Escape(word))
			case err != nil || from < 1 || to < from || to-from >= maxRange || several && array:
				return nil, fmt.Errorf("invalid job id %q", word)
			case array && !w.all:
				tasks, err := sbatch.ParseArray(rest)
				if err != nil || tasks.Limit > 0 {
					return nil, fmt.Errorf("invalid job id %q: want tasks of an array such as %d_3, %d_[1-3,7] or %d_*", word, from, from, from)
				}
				w.tasks = &tasks
			}
			for n := from; n <= to; n++ {
				w.id = elastic.JobID(n)
				out = append(out, w)
			}
		}
	}
	return out, nil
}

// maxRange bounds ranges such as 101-5000.
const maxRange = 100_000

// apart splits a list at its commas and colons outside brackets.
func apart(list string) (words []string) {
	from, inside := 0, false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case c == '[':
			inside = true
		case c == ']':
			inside = false
		case (c == ',' || c == ':') && !inside:
			words, from = append(words, list[from:i]), i+1
		}
	}
	return append(words, list[from:])
}

// ArrayTask is a job that is part of an array.
type ArrayTask struct {
	Job   elastic.JobID
	UID   uint32
	Array elastic.JobID
	Index int
	Ended bool
}

// Reported are the tasks of arrays that sluiced reports.
func Reported(report wire.Report) (out []ArrayTask) {
	for _, j := range report.Jobs {
		if a := j.Array; a != nil {
			out = append(out, ArrayTask{elastic.JobID(j.JobID), j.UID, elastic.JobID(a.JobID), a.Index, j.Ended})
		}
	}
	return out
}

// Expand replaces words that name tasks of arrays by their jobs; if all tasks are meant,
// by those that have not ended. me is the caller, whose array is meant if a number is unknown.
func Expand(words []JobWord, known []ArrayTask, me uint32) (out []elastic.JobID, err error) {
	for _, w := range words {
		if !w.Many() {
			out = append(out, w.id)
			continue
		}
		owner, found := ArrayOwner(known, w.id, me), 0
		for _, t := range known {
			if t.Array == w.id && t.UID == owner && (w.tasks == nil && !t.Ended || w.tasks != nil && slices.Contains(w.tasks.Tasks, t.Index)) {
				out, found = append(out, t.Job), found+1
			}
		}
		if found == 0 {
			return nil, fmt.Errorf("%s: no such task of a sluice array; 'sluice queue --array' lists them", terminal.Escape(w.text))
		}
	}
	return out, nil
}

// ArrayOwner is the user whose jobs form an array: the user of its first job, or the
// caller. Comments can be written by any user.
func ArrayOwner(known []ArrayTask, array elastic.JobID, me uint32) uint32 {
	for _, t := range known {
		if t.Job == array && t.Array == array {
			return t.UID
		}
	}
	return me
}
