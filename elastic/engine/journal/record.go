package journal

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// JobRecord is what the daemon remembers about a job, live or ended.
type JobRecord struct {
	Token string // key
	Identity
	Tag elastic.Tag
	Life
	LastRun
	Signs
	Moved time.Time // when the last move closed, a start or a save apart
	Price elastic.Price
	// Promised: it was told that it ends by its deadline.
	Promised bool `json:",omitempty"`
	// Barred: Slurm itself holds the job, as an administrator would, since its dependency
	// cannot be satisfied. It goes on doing so once the dependency is gone.
	Barred bool `json:",omitempty"`
	// Ending is how it ended; zero while it lives.
	Ending Ending `json:",omitzero"`
}

// Identity is which job it is, and whose.
type Identity struct {
	ID        elastic.JobID
	Name      string
	User      string
	UID       uint32
	Partition string
}

// Life is when the job came and went.
type Life struct {
	Submitted time.Time // first submit
	FirstRun  time.Time // first time seen running; zero before
	Ended     time.Time // zero while alive
	State     string    // Slurm's last word
}

// LastRun is where the present run is, or the last one was.
type LastRun struct {
	Place    nodes.Placement // the last known split
	Restarts int             // the run that it belongs to, by Slurm's count of restarts
}

// Signs are what the job's program and its runner have shown.
type Signs struct {
	Speaks bool    // see elastic.Job
	Deaf   int     // requests in a row without an answer
	Done   float64 // units of work done
	Offset int64   // bytes read so far of progress.jsonl
}

// Segment is one run of a job between two moves.
type Segment struct {
	Token       string          `json:"-"`
	Restarts    int             `json:"restarts"`
	Incarnation int             `json:"incarnation"`
	Place       nodes.Placement `json:"place"`
	Started     time.Time       `json:"started"`
	Ended       time.Time       `json:"ended"` // zero while it runs
	DoneFrom    float64         `json:"done_from"`
	DoneTo      float64         `json:"done_to"`
	Seconds     float64         `json:"seconds"` // a unit of work, lately; 0 = unknown
	Cause       reason.Reason   `json:"-"`
	Price       elastic.Price   `json:"price"` // paid to get here
}

// Held is what the segment held of the cluster by now, in GPU-seconds; nothing
// when it has no end and now is zero.
func (s Segment) Held(now time.Time) float64 {
	if !s.Ended.IsZero() {
		now = s.Ended
	}
	return max(0, now.Sub(s.Started).Seconds()) * float64(s.Place.GPUs())
}

// Beyond is the part of the segment's work that lies beyond an end.
func (s Segment) Beyond(end float64) float64 {
	if s.DoneTo <= max(end, s.DoneFrom) {
		return 0
	}
	return min(1, (s.DoneTo-end)/(s.DoneTo-s.DoneFrom))
}
