package elastic

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Step is the last step of a move that is known to be durable: R1 to R7 of the resize protocol.
type Step int

// The steps of a move. A start begins at Requeued, since there is nothing to save. A park ends
// at Requeued, since nothing is to be started. A save ends with the answer to its request,
// since nothing is stopped. A revival and a clearing begin at Verified, after the job's last
// checkpoint, and end as a park does.
const (
	Intended  Step = 1 // R1: durable in the journal, no effect yet
	Asked     Step = 2 // R2: a checkpoint was asked for
	Verified  Step = 3 // R3: the job's runner verified a checkpoint
	Requeued  Step = 4 // R4: the job is pending and held
	Written   Step = 5 // R5: size and incarnation are written to the held job
	Released  Step = 6 // R6: Slurm may start it
	Confirmed Step = 7 // R7: runs at the new incarnation; the intent is closed
)

// Kind is the purpose of a move.
type Kind string

// The kinds of move. A new one MUST be added to Kinds, with a new schema number of the store.
const (
	Start   Kind = "start"  // a held job gets GPUs
	Resize  Kind = "resize" // a running job changes size or nodes
	Park    Kind = "park"   // a running job saves and gives up its GPUs, then waits again
	Revival Kind = "revive" // a job that Slurm ended by mistake is brought back, then waits again
	// A pending job that Slurm still counts on nodes is cancelled and brought back, then waits
	// again.
	Clearing Kind = "clear"
	// A running job saves before its time limit ends it, and trains on where it is.
	Save Kind = "save"
)

// Intent is one move of one job. It MUST be durable BEFORE any effect of it.
type Intent struct {
	ID   int64 // given by the journal, ascending
	Job  JobID
	Kind Kind
	Step Step
	// To is the job's incarnation once the move is done.
	To int
	// From and Target are the placements before and after. AnyNodes is set if a fallback lets
	// Slurm choose the nodes.
	From, Target nodes.Placement
	AnyNodes     bool
	// Restarts is Slurm's restart count when the intent was opened. The move is done when the
	// job runs with a higher one (or, for a start, runs at all).
	Restarts   int
	Request    string        // id of the checkpoint request, unique to the intent
	Checkpoint string        // chosen at R3
	Cause      reason.Reason // why
	Opened     time.Time
	Moved      time.Time // when Step last changed
	// Times of the move's events, zero until known. ReleasedAt is zero again once sluice has
	// taken its release back.
	AskedAt, SavedAt, RequeuedAt, PendingAt, ReleasedAt time.Time
	Fallbacks                                           int // number of times the move fell back to the last good size
}

// RequestID returns the id of a move's checkpoint request. by is the name of the daemon that
// makes it: two daemons with separate stores may open a move of one job at the same moment, and
// the answer to one MUST NOT count for the other. The id has at most 100 letters, digits and
// dots.
func RequestID(job JobID, to int, now time.Time, by string) string {
	id := fmt.Sprintf("%d.%d.%d", job, to, now.UnixMilli())
	if by != "" {
		id += "." + by
	}
	return id
}

// requeuePatience is how long sluice waits for a requeue to be seen before it asks again. Slurm
// answers the request at once and acts within 1 to 2 s.
const requeuePatience = 15 * time.Second

// Honoured is how long a job waits beyond the deadline of a request that is not withdrawn.
// After that its runner assumes that sluiced is gone and lets the job train on.
const Honoured = time.Minute

// StopBy returns the latest time at which a job that was asked to save, with this grace, may be
// stopped. A stop that is asked of Slurm later could take effect when the job trains again, and
// lose its progress.
func (in Intent) StopBy(grace time.Duration) time.Time {
	return in.AskedAt.Add(grace + Honoured - requeuePatience)
}

// BeingStopped reports whether a stop that was asked of Slurm may still take effect.
func (in Intent) BeingStopped(now time.Time) bool {
	return in.Step == Verified && !now.After(in.RequeuedAt.Add(requeuePatience))
}

// Stopped reports whether the run at the start of the move was stopped for it.
func (in Intent) Stopped() bool {
	return (in.Kind == Resize || in.Kind == Park) && in.Step >= Verified && !in.RequeuedAt.IsZero()
}

// Outcome is how an intent was closed.
type Outcome string

// The outcomes of a move.
const (
	Done      Outcome = "done"      // confirmed
	Abandoned Outcome = "abandoned" // the job keeps, or kept, its size
	UserWon   Outcome = "user"      // cancelled, held, changed or released by its user
	Fellback  Outcome = "fellback"  // runs, but not at the target
	Lost      Outcome = "ended"     // the job ended by itself during the move
)

// Lends reports whether the move has waited for its checkpoint longer than the site's grace
// (Limits.Grace), whatever grace its job was granted. The job trains on meanwhile. Until it
// answers, the GPUs of the move's target, and its slot, are available to other jobs.
func (in Intent) Lends(s *Snapshot) bool {
	return in.Kind == Resize && in.Step == Asked && s.Limits.Grace > 0 && s.Now.After(in.AskedAt.Add(s.Limits.Grace))
}

// Lent returns the snapshot in which a move that lends binds its job to its present place only.
func (s Snapshot) Lent() Snapshot {
	cloned := false
	for i, in := range s.Intents {
		if !in.Lends(&s) {
			continue
		}
		if !cloned {
			s.Intents, cloned = slices.Clone(s.Intents), true
		}
		s.Intents[i].Target, s.Intents[i].AnyNodes = in.From, false
	}
	return s
}

// Times are the moments at which things happened in the move, for those who have to put them right
// after a clock was set or a journal was read. Those that have not come are zero.
func (in *Intent) Times() []*time.Time {
	return []*time.Time{&in.Opened, &in.Moved, &in.AskedAt, &in.SavedAt, &in.RequeuedAt, &in.PendingAt, &in.ReleasedAt}
}
