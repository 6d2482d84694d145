package audit

import (
	"fmt"
	"strings"
	"time"
)

// ViolationKind distinguishes violations of one invariant.
type ViolationKind string

// The kinds that callers test for.
const (
	GivenAgain ViolationKind = "given_again" // I1: an incarnation
	Unnoticed  ViolationKind = "unnoticed"   // I2: the end of a job
)

// Violation is one broken invariant.
type Violation struct {
	Invariant string        // I1 to I5, I8
	Kind      ViolationKind // set only for the kinds above
	Job       int64
	At        time.Time
	What      string
	Lines     []Line // of both sources, if both have one
}

// String returns the invariant, the job, the time and the lines.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s job %d at %s: %s", v.Invariant, v.Job, v.At.UTC().Format("2006-01-02T15:04:05.000Z"), plain(v.What))
	for _, l := range v.Lines {
		fmt.Fprintf(&b, "\n    %s", l)
	}
	return b.String()
}

// Tally counts what an audit checked: an audit of nothing finds nothing.
type Tally struct {
	Jobs        int // jobs of sluice
	Runs        int // runs of all jobs, as Slurm allocated them
	Changes     int // changes of jobs by sluiced, as Slurm carried them out
	Moves       int // opened
	Checkpoints int // verified checkpoints of moves
	Starts      int // runs that logged what they began from
	Boots       int // starts of slurmctld
	Lives       int // starts of sluiced
}

// Report is the result of an audit.
type Report struct {
	Violations []Violation
	Tally      Tally
	Notes      []string // what could not be checked, and why
}

// Clean reports whether there are no violations.
func (r Report) Clean() bool { return len(r.Violations) == 0 }

// String returns the report for people; its last line is for scripts.
func (r Report) String() string {
	var b strings.Builder
	for _, v := range r.Violations {
		fmt.Fprintln(&b, v)
	}
	for _, n := range r.Notes {
		fmt.Fprintln(&b, "note:", plain(n))
	}
	t := r.Tally
	fmt.Fprintf(&b, "audit: jobs=%d runs=%d changes=%d moves=%d checkpoints=%d starts=%d slurmctld_starts=%d sluiced_starts=%d violations=%d\n",
		t.Jobs, t.Runs, t.Changes, t.Moves, t.Checkpoints, t.Starts, t.Boots, t.Lives, len(r.Violations))
	return b.String()
}
