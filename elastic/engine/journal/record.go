package journal

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// JobRecord is what the daemon remembers about a job, live or ended.
type JobRecord struct {
	Token     string // key
	ID        elastic.JobID
	Name      string
	User      string
	UID       uint32
	Partition string
	Tag       elastic.Tag
	Submitted time.Time // first submit
	FirstRun  time.Time // first time seen running; zero before
	Ended     time.Time // zero while alive
	State     string    // Slurm's last word
	// Place is the last known split, Restarts the run it belongs to.
	Place    nodes.Placement
	Restarts int
	Speaks   bool
	Deaf     int
	Done     float64
	Offset   int64 // read so far of progress.jsonl
	Moved    time.Time
	Price    elastic.Price
	// Promised: it was told that it ends by its deadline.
	Promised bool `json:",omitempty"`
	// Barred: Slurm itself holds the job, as an administrator would, since its dependency
	// cannot be satisfied. It goes on doing so once the dependency is gone.
	Barred bool `json:",omitempty"`
	// Ending is how it ended; zero while it lives.
	Ending Ending `json:",omitzero"`
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
