package reason

import (
	"time"

	"github.com/sluice-hpc/sluice/nodes"
)

// What leads to decisions. Durations are in seconds; Assumed says that no speed of the job is
// known, so that they are based on an assumed one.
type (
	// IdleAndBack: this many GPUs are idle, and running jobs can give back this many.
	IdleAndBack struct {
		value
		Idle, Back int
	}
	// IdleElsewhere: these would be enough, but not on nodes as the job needs them.
	IdleElsewhere struct {
		value
		Idle, Back int
	}
	// NotAsNeeded: idle GPUs are not on nodes as the job needs them.
	NotAsNeeded struct {
		value
		Idle int
	}
	// TakesNoneBack: the policy gives a job what is idle, and takes nothing from other jobs.
	TakesNoneBack struct {
		value
		Idle   int
		Policy string
	}
	// SpareSaves: GPUs that no other job needs shorten its remaining time.
	SpareSaves struct {
		value
		Saves, Of float64
		Assumed   bool
	}
	// Takes: its remaining time changes from one to the other.
	Takes struct {
		value
		After, Before float64
		Assumed       bool
	}
	// RestTakes is Takes with the resize. Unseen is the GPU type on which its speed is not
	// known.
	RestTakes struct {
		value
		After, Before float64
		Assumed       bool
		Unseen        string
	}
	// Rest is its remaining time.
	Rest struct {
		value
		Seconds float64
		Assumed bool
	}
	// PinnedTo: its user set its size.
	PinnedTo struct {
		value
		GPUs int
	}
	// PinnedBut: its user set its size, which it does not have because of Because.
	PinnedBut struct {
		value
		GPUs    int
		Because Reason
	}
	// PinnedUnavailable: its user set its size, for which there are no GPUs now.
	PinnedUnavailable struct {
		value
		GPUs int
	}
	// NoSplit: no split of this many GPUs over nodes exists now.
	NoSplit struct {
		value
		GPUs int
	}
	// StartsFirst: a job waits to start, and comes first.
	StartsFirst struct {
		value
		Job int64
	}
	// MoreIdle: it needs this many more GPUs, of which this many are idle.
	MoreIdle struct {
		value
		More, Idle int
	}
	// FewerFaster: fewer GPUs were measured to be faster.
	FewerFaster struct {
		value
		Saves, Of, Cost float64
		Assumed         bool
	}
	// JobWaits: another job waits for this many GPUs.
	JobWaits struct {
		value
		Job      int64
		GPUs     int
		Ordinary bool
	}
	// Both: two jobs that wait.
	Both struct {
		value
		First, Second Reason
	}
	// AndMoreWait: the first of several waiting jobs, and how many more there are.
	AndMoreWait struct {
		value
		First Reason
		More  int
	}
	// Saves: growth shortens its remaining time by more than the resize costs.
	Saves struct {
		value
		Saves, Of, Cost float64
		Assumed         bool
		WereIdle        int
	}
	// ComesFirst: a job that waits for this many GPUs comes first.
	ComesFirst struct {
		value
		Job  int64
		GPUs int
	}
	// Rests: it was resized lately, and is not resized again before this time.
	Rests struct {
		value
		Moved, Until time.Time
	}
	// IdleKept: idle GPUs are kept for an ordinary job.
	IdleKept struct {
		value
		Job int64
	}
	// NextSize: its next larger size needs more GPUs than are idle.
	NextSize struct {
		value
		Next, Idle int
	}
	// NotFaster: more GPUs would not make it faster.
	NotFaster struct {
		value
		Idle int
	}
	// WouldSave: more GPUs would save less than the resize costs; Payback is how many times
	// its cost a resize has to save.
	WouldSave struct {
		value
		GPUs int
		// Saves and Cost are in seconds. Payback is 0 where the site sets none.
		Saves, Cost, Payback float64
		Assumed              bool
	}
	// IdleUnfit: idle GPUs are not on nodes as it could use them; Or: other jobs save more with
	// them.
	IdleUnfit struct {
		value
		Idle int
		Or   bool
	}
	// Deaf: number of checkpoint requests that it left unanswered.
	Deaf struct {
		value
		Requests int
	}
	// Unusable: number of checkpoints in a row that were verified on request and invalid at the
	// next start.
	Unusable struct {
		value
		Checkpoints int
		Job         int64
	}
	// FolderSilent: its folder has not answered since this time.
	FolderSilent struct {
		value
		Since time.Time
	}
	// Retry: its script failed, and is started again.
	Retry struct {
		value
		At time.Time
	}
	// WouldDelay: a resize restarts its time limit, which could delay an earlier job.
	WouldDelay struct {
		value
		Job int64
	}
	// Backfilled: it starts before an earlier job, which does not need these GPUs to start
	// (Beside), or can start only at At, when this one has ended.
	Backfilled struct {
		value
		Job    int64
		Beside bool
		At     time.Time
	}
	// CanStartAt: it can start at this time, by the time limits of running jobs.
	CanStartAt struct {
		value
		At time.Time
	}
	// OnEdge: it gets a node of an edge pool.
	OnEdge struct {
		value
		Node, Pool string
	}
	// TakesNothingNew: nothing is started on the node it runs on. State is Slurm's, or UNFIT or
	// RETURNED; Note is an administrator's comment, or what is wrong; Until is the end of the
	// state.
	TakesNothingNew struct {
		value
		Node, State, Note string
		Until             time.Time
	}
	// NothingNew is TakesNothingNew for a job that keeps its allocation because of it. Without
	// a State Slurm does not show the node.
	NothingNew struct {
		value
		Node, State, Note string
		Until             time.Time
	}
	// OrdinaryWaits: an ordinary job waits for the node.
	OrdinaryWaits struct {
		value
		Job  int64
		Node string
	}
	// Measures: its speed is measured at this size, one of several, on idle GPUs.
	Measures struct {
		value
		// Size is the position of the size among those to be measured, from 1; Sizes is their number.
		Size, Sizes int
		Idle        bool
	}
	// JobStarts: a job starts with what is given back, and this many more.
	JobStarts struct {
		value
		Job  int64
		More int
	}
	// RoomFor: an ordinary job waits for room.
	RoomFor struct {
		value
		Job int64
	}
	// UnseenFaster: it was never measured on GPUs of the type, and may be faster there.
	UnseenFaster struct {
		value
		Type string
	}
	// NextDeadline is the rule of the policy edf; zero = it has no deadline.
	NextDeadline struct {
		value
		Deadline time.Time
	}
	// Attained is the rule of the policy tiresias.
	Attained struct {
		value
		GPUHours float64
	}
	// ShortestRest is the rule of the policy srpt.
	ShortestRest struct {
		value
		Seconds float64
		GPUs    int
		Assumed bool
	}
	// NeverResizes: the policy resizes no job.
	NeverResizes struct {
		value
		Policy string
	}
	// Draining: the node it runs on is drained; Why is the administrator's reason.
	Draining struct {
		value
		Node, Why string
	}
	// Maintenance: a maintenance reservation of its node begins.
	Maintenance struct {
		value
		Node        string
		At          time.Time
		Reservation string
	}
	// NoRoomBeside: it was to move there, and there is no room for it beside the other jobs.
	NoRoomBeside struct {
		value
		To nodes.Placement
	}
	// Circle: it was to move there, and would wait for jobs that wait for its GPUs.
	Circle struct {
		value
		To nodes.Placement
	}
	// NoPlace: this many GPUs are not free in a split that Slurm can allocate.
	NoPlace struct {
		value
		GPUs int
	}
	// CannotGiveBack: no split of the remaining GPUs over its own nodes is possible.
	CannotGiveBack struct {
		value
		GPUs int
	}
)

// How a job's deadline affects its size.
type (
	// EndsBy: its expected end, and how long before its deadline that is, with what is planned
	// for it.
	EndsBy struct {
		value
		Ends  time.Time
		Spare float64
	}
	// DeadlinePassed: it is treated as a job without a deadline.
	DeadlinePassed struct {
		value
		Deadline time.Time
	}
	// DeadlineUnknown: it cannot be admitted, because its speed is not known yet.
	DeadlineUnknown struct {
		value
		Deadline time.Time
	}
	// DeadlineUnjudged: it is judged when the job can be moved.
	DeadlineUnjudged struct {
		value
		Deadline time.Time
	}
	// DeadlineUnmet: it cannot be met; Ends is the earliest possible end, zero = not known.
	DeadlineUnmet struct {
		value
		Deadline, Ends time.Time
	}
)
