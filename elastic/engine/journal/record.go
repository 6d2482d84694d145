package journal

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// JobRecord is what is stored about a job, live or ended. Token identifies it: Slurm gives a job's
// number again, also while the record is kept.
type JobRecord struct {
	Token string // key
	Identity
	Tag elastic.Tag
	Life
	LastRun
	Signs
	Moved time.Time // when the last move closed, a start or a save apart
	Price elastic.Price
	// Promised: the job was admitted; it ends by its deadline.
	Promised bool `json:",omitempty"`
	// Barred: Slurm itself holds the job (JobHeldAdmin) because its dependency cannot be
	// satisfied. The hold stays when the dependency is removed.
	Barred bool `json:",omitempty"`
	// Ending is how it ended; zero before.
	Ending Ending `json:",omitzero"`
}

// Identity identifies a job and its users.
type Identity struct {
	ID   elastic.JobID
	Name string
	// Owner is the user that every rule counts the job for. It is decided when the job is adopted.
	Owner elastic.Owner
	// SlurmUID is the user that Slurm runs the job as: the job's files belong to that user, and Slurm
	// and accounting show it. It differs from the Owner's for confined jobs only.
	SlurmUID  uint32
	Partition string
	Account   Account `json:",omitzero"` // as it was seen last
}

// Account is the account that a job counts for: of the site's own tree of shares if it has one, else
// the one in Slurm.
type Account struct {
	Name  string // "" = it has none
	Known bool   // false in records of releases that did not store it
}

// Life is when the job was submitted, ran first and ended.
type Life struct {
	Submitted time.Time // first submit
	FirstRun  time.Time // first time seen running; zero before
	Ended     time.Time // zero before
	State     string    // Slurm's last state
}

// LastRun is the placement of the present run, or of the last one.
type LastRun struct {
	Place    nodes.Placement // the last known split
	Restarts int             // Slurm's restart count of that run
}

// Signs are what the job's program and its runner have reported. A restart reads on at Offset, so
// that no line counts twice.
type Signs struct {
	Speaks bool    // see elastic.Job
	Deaf   int     // requests in a row without an answer
	Done   float64 // units of work done
	Offset int64   // bytes read so far of progress.jsonl
}

// Segment is one run of a job between two moves. DoneFrom and DoneTo are units of the job's work.
// (Token, Restarts) is its key: a requeue begins a new one.
type Segment struct {
	Token       string          `json:"-"`
	Restarts    int             `json:"restarts"`
	Incarnation int             `json:"incarnation"`
	Place       nodes.Placement `json:"place"`
	Started     time.Time       `json:"started"`
	Ended       time.Time       `json:"ended"` // zero while it runs
	DoneFrom    float64         `json:"done_from"`
	DoneTo      float64         `json:"done_to"`
	Seconds     float64         `json:"seconds"` // per unit of work, as last reported; 0 = unknown
	Cause       reason.Reason   `json:"-"`
	Price       elastic.Price   `json:"price"` // cost of the resize that began it
}

// Held returns the GPU-seconds that the segment has used by now; 0 if it has no end and now is
// zero. A clock that was set back gives 0, not a negative time.
func (s Segment) Held(now time.Time) float64 {
	if !s.Ended.IsZero() {
		now = s.Ended
	}
	return max(0, now.Sub(s.Started).Seconds()) * float64(s.Place.GPUs())
}

// Beyond returns the part of the segment's work that lies beyond end, from 0 to 1.
//
// A run that worked from unit 40 to 100 did half of it beyond 70, all beyond 40 or less, nothing
// beyond 100.
func (s Segment) Beyond(end float64) float64 {
	if s.DoneTo <= max(end, s.DoneFrom) {
		return 0
	}
	return min(1, (s.DoneTo-end)/(s.DoneTo-s.DoneFrom))
}
