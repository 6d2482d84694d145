package elastic

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Step is the last thing of a move known to be durable: R1 to R7 of the resize
// protocol.
type Step int

// The steps of a move. A start begins at Requeued: there is nothing to save. A
// park ends there: nothing is to be started. A save ends with the answer to its request:
// nothing is stopped. A revival and a clearing begin at Verified,
// behind the job's last checkpoint, and end as a park does.
const (
	Intended  Step = 1 // R1: written down, nothing done
	Asked     Step = 2 // R2: a checkpoint was asked for
	Verified  Step = 3 // R3: a checkpoint was verified by the job's runner
	Requeued  Step = 4 // R4: the job is pending and held
	Written   Step = 5 // R5: size and incarnation stand on the held job
	Released  Step = 6 // R6: Slurm may start it
	Confirmed Step = 7 // R7: runs at the new incarnation; the intent is closed
)

// Kind tells what a move is for.
type Kind string

// The kinds of move. A new one is for Kinds, too, and a new schema of the store.
const (
	Start   Kind = "start"  // a held job gets its first, or its next, GPUs
	Resize  Kind = "resize" // a running job changes size or nodes
	Park    Kind = "park"   // a running job saves and gives up its GPUs; it waits again
	Revival Kind = "revive" // a job that Slurm ended wrongly is brought back; it waits again
	// A pending job that Slurm still counts on nodes is cancelled and brought back; it
	// waits again.
	Clearing Kind = "clear"
	// A running job saves, before its time limit ends it, and trains on where it is.
	Save Kind = "save"
)

// Intent is one move of one job, durable before any effect of it.
type Intent struct {
	ID   int64 // given by the journal, ascending
	Job  JobID
	Kind Kind
	Step Step
	// To is the incarnation the job has once the move is done.
	To int
	// From and Target are the placements before and after. AnyNodes is
	// set when a fallback lets Slurm choose the nodes.
	From, Target nodes.Placement
	AnyNodes     bool
	// Restarts is Slurm's restart count when the intent was opened; the move is
	// done when the job runs with a higher one (or, for a start, runs at all).
	Restarts   int
	Request    string        // id of the checkpoint request, unique to the intent
	Checkpoint string        // chosen at R3
	Cause      reason.Reason // why
	Opened     time.Time
	Moved      time.Time // when Step last changed
	// Marks of the move's timing, zero until known; ReleasedAt also once sluice takes its
	// release back.
	AskedAt, SavedAt, RequeuedAt, PendingAt, ReleasedAt time.Time
	Fallbacks                                           int // times the move fell back to the last good size
}

// RequestID names the checkpoint request of a move. By is the name of the daemon that makes
// it: two with a store each may open a move of one job in the same moment, and the answer to
// one is none to the other. At most 100 letters, digits and dots.
func RequestID(job JobID, to int, now time.Time, by string) string {
	id := fmt.Sprintf("%d.%d.%d", job, to, now.UnixMilli())
	if by != "" {
		id += "." + by
	}
	return id
}

// requeuePatience is how long a requeue may go unseen before it is asked for
// again. Slurm answers the request at once and acts within a second or two.
const requeuePatience = 15 * time.Second

// Honoured is how long a job waits beyond the deadline of a request that nobody withdraws;
// then its runner takes sluiced for gone and has it train on.
const Honoured = time.Minute

// StopBy is when a job that was asked to save, and given so long, is stopped at the latest:
// a stop asked of Slurm later could come when the job trains again, and lose what it does.
func (in Intent) StopBy(grace time.Duration) time.Time {
	return in.AskedAt.Add(grace + Honoured - requeuePatience)
}

// BeingStopped reports whether a stop that was asked of Slurm may still come.
func (in Intent) BeingStopped(now time.Time) bool {
	return in.Step == Verified && !now.After(in.RequeuedAt.Add(requeuePatience))
}

// Stopped reports whether the run that the move found was stopped for it.
func (in Intent) Stopped() bool {
	return (in.Kind == Resize || in.Kind == Park) && in.Step >= Verified && !in.RequeuedAt.IsZero()
}

// Outcome is how an intent was closed.
type Outcome string

// The ways an intent closes.
const (
	Done      Outcome = "done"      // confirmed
	Abandoned Outcome = "abandoned" // the job keeps, or kept, its size
	UserWon   Outcome = "user"      // cancelled, held, changed or released by its user
	Fellback  Outcome = "fellback"  // runs, but not as meant
	Lost      Outcome = "ended"     // the job ended by itself during the move
)

// Lends reports whether the move has waited for its checkpoint for as long as the site gives
// one (Limits.Grace), whatever its job was granted. The job trains on meanwhile: the GPUs meant
// for it, and its slot, are others' until it answers.
func (in Intent) Lends(s *Snapshot) bool {
	return in.Kind == Resize && in.Step == Asked && s.Limits.Grace > 0 && s.Now.After(in.AskedAt.Add(s.Limits.Grace))
}

// Lent is the snapshot in which a move that lends promises its job what it has, and no more.
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

// Times are the moments at which things happened in the move, for whoever has to put them right
// after a clock was set or a journal was read. Those that have not come are zero.
func (in *Intent) Times() []*time.Time {
	return []*time.Time{&in.Opened, &in.Moved, &in.AskedAt, &in.SavedAt, &in.RequeuedAt, &in.PendingAt, &in.ReleasedAt}
}
