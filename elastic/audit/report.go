package audit

import (
	"fmt"
	"strings"
	"time"
)

// ViolationKind tells a violation from others of the same invariant.
type ViolationKind string

// The kinds that somebody asks for.
const (
	GivenAgain ViolationKind = "given_again" // I1: an incarnation
	Unnoticed  ViolationKind = "unnoticed"   // I2: the end of a job
)

// Violation is one broken invariant.
type Violation struct {
	Invariant string        // I1 to I5
	Kind      ViolationKind // which it is, of those that somebody asks for
	Job       int64
	At        time.Time
	What      string
	Lines     []Line // of both sources, as far as both have one
}

// String names the invariant, the job and the time, and shows the lines.
func (v Violation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s job %d at %s: %s", v.Invariant, v.Job, v.At.UTC().Format("2006-01-02T15:04:05.000Z"), plain(v.What))
	for _, l := range v.Lines {
		fmt.Fprintf(&b, "\n    %s", l)
	}
	return b.String()
}

// Tally counts what an audit had to look at: an audit of nothing finds nothing.
type Tally struct {
	Jobs        int // of sluice
	Runs        int // of all jobs, as Slurm allocated them
	Changes     int // of jobs, by sluiced, as Slurm carried them out
	Moves       int // opened
	Checkpoints int // verified for a move
	Starts      int // runs that said what they began from
	Boots       int // of slurmctld
	Lives       int // of sluiced
}

// Report is what came of an audit.
type Report struct {
	Violations []Violation
	Tally      Tally
	Notes      []string // what could not be checked, and why
}

// Clean reports whether nothing was broken.
func (r Report) Clean() bool { return len(r.Violations) == 0 }

// String is the report for people; its last line is for scripts.
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
