package eligible

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// Look is the input of this package: one observation of Slurm and the state that determines what
// jobs may use. This package does not change it. A Look is for one snapshot: its slices and maps
// belong to the caller, and are only read. It MUST be made again for the next one: an effect changes
// the state between two.
type Look struct {
	Jobs    []slurm.Job           // all that Slurm showed
	Nodes   []slurm.Node          // all that Slurm showed
	Own     map[elastic.JobID]Job // the jobs that sluice manages
	Site    Site
	Limited bool             // the site's limits can be queried; otherwise there are none
	Edge    map[string]bool  // the partitions that are edge pools
	Open    []elastic.Intent // the open moves
	Arrays  Arrivals         // the incomplete arrays
	Ahead   time.Time        // the latest time that the clock has shown to this daemon
}

// Job is what this package needs of a job that sluice manages.
type Job struct {
	Slurm      *slurm.Job // as last seen; MUST NOT be changed
	Counts     bool       // Slurm shows it in this cycle, and limits apply to it
	Partitions string     // in which it may run; while it runs Slurm shows only the one it is in
	Types      []string   // acceptable types of GPU; a run uses one of them; nil = any
	Owner      uint32     // uid of the user that it counts for
	Array      elastic.Array
	Ran        bool            // at least once
	Begin      time.Time       // its user's own begin time; zero = none is known
	Unread     time.Time       // since when it counts as Unread; zero = it does not
	Refused    elastic.Refused // what Slurm refused lately
	Holders    []slurm.JobID   // jobs that had the license or limit for which Slurm did not start it
	Lead       time.Duration   // how long before maintenance it is asked to leave
}

// Restrict applies, after Choose, what depends on the time and on earlier refusals: reservations,
// edge pools, nodes to avoid, nodes to leave, and reasons why held jobs cannot start. Reservations
// come first, so that an edge pool gives a partition only for nodes that are left. Nodes to avoid
// come AFTER both, as they choose among the nodes that remain. Reasons come last.
func (l *Look) Restrict(s *elastic.Snapshot) {
	l.reserve(s)
	l.edges(s)
	l.shun(s)
	l.depart(s)
	l.Bar(s)
}

// moves reports whether the job has an open move.
func (l *Look) moves(id elastic.JobID) bool {
	for i := range l.Open {
		if l.Open[i].Job == id {
			return true
		}
	}
	return false
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
