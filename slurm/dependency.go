package slurm

import (
	"strconv"
	"strings"
	"time"
)

// Dependency is what a job waits for before Slurm starts it. The zero value is no
// dependency.
type Dependency struct {
	Any   bool // one satisfied term is enough; else all terms must be satisfied
	Terms []DependencyTerm
}

// DependencyTerm is one condition of a Dependency.
type DependencyTerm struct {
	Kind   string        // Slurm's word: after, afterany, afterok, afternotok, aftercorr, singleton ...
	Job    JobID         // the job it names; 0 = none, or not a plain job number
	Delay  time.Duration // for "after": the delay after that job's start
	Failed bool          // Slurm reports that it can no longer be satisfied
}

// ParseDependency reads what squeue and scontrol print for a dependency:
// "afterok:12(unfulfilled),after:13+5(unfulfilled)", with "?" between terms of which one
// is enough. Slurm removes the terms that are satisfied. A term that cannot be read
// becomes a term whose kind is its text, so the job still waits for it.
func ParseDependency(text string) Dependency {
	var d Dependency
	d.Any = strings.Contains(text, "?")
	for _, term := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == '?' }) {
		term, state, _ := strings.Cut(term, "(")
		state = strings.TrimSuffix(state, ")")
		if state == "fulfilled" {
			continue
		}
		kind, job, _ := strings.Cut(term, ":")
		t := DependencyTerm{Kind: kind, Failed: state == "failed"}
		job, delay, _ := strings.Cut(job, "+")
		if n, err := strconv.ParseInt(job, 10, 64); err == nil && n > 0 { // not a member of an array: 12_3, 12_*
			t.Job = JobID(n)
		}
		if n, err := strconv.Atoi(delay); err == nil && n > 0 && n < 1<<30 {
			t.Delay = time.Duration(n) * time.Minute
		}
		d.Terms = append(d.Terms, t)
	}
	return d
}
