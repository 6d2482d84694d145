package eligible

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/slurm"
)

// Look is what one look at Slurm showed and what is known beside it, as far as it decides what
// jobs may have. Nothing in this package changes it.
type Look struct {
	Jobs    []slurm.Job           // all that Slurm showed
	Nodes   []slurm.Node          // likewise
	Own     map[elastic.JobID]Job // the jobs that sluice looks after
	Site    Site
	Limited bool             // the site tells its limits; else there are none
	Edge    map[string]bool  // the partitions that are edge pools
	Open    []elastic.Intent // the open moves
	Arrays  Arrivals         // those of which tasks are still to come
	Ahead   time.Time        // the latest time that the clock has shown to this daemon
}

// Job is a job that sluice looks after, as far as it decides what the job may have.
type Job struct {
	Slurm      *slurm.Job // as it was seen last; MUST NOT be changed
	Counts     bool       // Slurm shows it in this look, and its limits bind it
	Partitions string     // that it may run in; while it runs Slurm shows the one that it is in
	Types      []string   // of GPU, one of which it takes; nil = any
	UID        uint32
	Array      elastic.Array
	Ran        bool            // at least once
	Unread     time.Time       // since when its folder has not answered; zero = it does, or not for long
	Refused    elastic.Refused // what Slurm refused lately
	Holders    []slurm.JobID   // jobs that had what Slurm would not start it for
	Lead       time.Duration   // how long before a maintenance it is asked to leave
}

// Restrict leaves each job the nodes that it may have by now, after Choose, and says which
// jobs are about to leave or wait for something else than GPUs.
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
