package reason

import (
	"time"

	"github.com/sluice-hpc/sluice/nodes"
)

// What leads to decisions. Lengths are in seconds; Assumed says that no speed of the job is
// known, so that they rest on an assumed one.
type (
	// IdleAndBack: so many GPUs are idle, and jobs that run can give back so many.
	IdleAndBack struct {
		value
		Idle, Back int
	}
	// IdleElsewhere: these would be enough, but are not on nodes as the job needs them.
	IdleElsewhere struct {
		value
		Idle, Back int
	}
	// NotAsNeeded: idle GPUs are not on nodes as the job needs them.
	NotAsNeeded struct {
		value
		Idle int
	}
	// TakesNoneBack: the policy gives a job what is idle, and takes nothing from others.
	TakesNoneBack struct {
		value
		Idle   int
		Policy string
	}
	// SpareSaves: GPUs that nobody else needs shorten the rest of its work.
	SpareSaves struct {
		value
		Saves, Of float64
		Assumed   bool
	}
	// Takes: the rest of its work takes so long instead of so long.
	Takes struct {
		value
		After, Before float64
		Assumed       bool
	}
	// RestTakes is Takes with the resize. Unseen is the type of GPU on which its speed is not known.
	RestTakes struct {
		value
		After, Before float64
		Assumed       bool
		Unseen        string
	}
	// Rest is how long the rest of its work takes.
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
	// PinnedBut: its user set its size, which it does not have for what Because says.
	PinnedBut struct {
		value
		GPUs    int
		Because Reason
	}
	// PinnedUnavailable: its user set its size, which cannot be had now.
	PinnedUnavailable struct {
		value
		GPUs int
	}
	// NoSplit: no split of so many GPUs on nodes exists now.
	NoSplit struct {
		value
		GPUs int
	}
	// StartsFirst: a job waits to start, and comes first.
	StartsFirst struct {
		value
		Job int64
	}
	// MoreIdle: of so many more that it needs so many are idle.
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
	// JobWaits: another job waits for so many GPUs.
	JobWaits struct {
		value
		Job      int64
		GPUs     int
		Ordinary bool
	}
	// Both: two that wait.
	Both struct {
		value
		First, Second Reason
	}
	// AndMoreWait: the first of several that wait, and how many more.
	AndMoreWait struct {
		value
		First Reason
		More  int
	}
	// Saves: growth shortens the rest of its work by more than the resize costs.
	Saves struct {
		value
		Saves, Of, Cost float64
		Assumed         bool
		WereIdle        int
	}
	// ComesFirst: a job that waits for so many GPUs comes first.
	ComesFirst struct {
		value
		Job  int64
		GPUs int
	}
	// Rests: it was resized a moment ago, and is not again before.
	Rests struct {
		value
		Moved, Until time.Time
	}
	// IdleKept: what is idle is kept for an ordinary job.
	IdleKept struct {
		value
		Job int64
	}
	// NextSize: its next larger size needs more than is idle.
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
		GPUs                 int
		Saves, Cost, Payback float64
		Assumed              bool
	}
	// IdleUnfit: idle GPUs are not on nodes as it could use them; Or others save more with them.
	IdleUnfit struct {
		value
		Idle int
		Or   bool
	}
	// Deaf: requests for checkpoints that it left without one.
	Deaf struct {
		value
		Requests int
	}
	// FolderSilent: its folder has not answered since.
	FolderSilent struct {
		value
		Since time.Time
	}
	// Retry: its script failed, and is started again.
	Retry struct {
		value
		At time.Time
	}
	// WouldDelay: a resize, after which its time limit starts anew, could delay a job that came first.
	WouldDelay struct {
		value
		Job int64
	}
	// Backfilled: it starts though a job came first, which does not need these GPUs to
	// start (Beside), or can start at At only, when this one has ended.
	Backfilled struct {
		value
		Job    int64
		Beside bool
		At     time.Time
	}
	// CanStartAt: by the time limits of jobs that run it can start then.
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
	// RETURNED; Note what an administrator said, or what is wrong; Until when it is over.
	TakesNothingNew struct {
		value
		Node, State, Note string
		Until             time.Time
	}
	// NothingNew is TakesNothingNew, of a job that keeps what it has therefore. Without a State
	// Slurm does not show the node.
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
	// Measures: its speed is measured at this size, one of several; on idle GPUs.
	Measures struct {
		value
		Size, Sizes int
		Idle        bool
	}
	// JobStarts: a job starts with what is given back, and so many more.
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
	// UnseenFaster: it was never seen on GPUs of the type, and may be faster there.
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
	// Draining: the node it runs on is drained; Why is what the administrator said.
	Draining struct {
		value
		Node, Why string
	}
	// Maintenance: a reservation for maintenance begins on its node.
	Maintenance struct {
		value
		Node        string
		At          time.Time
		Reservation string
	}
	// NoRoomBeside: it was to move there, and there is no room for it beside the others.
	NoRoomBeside struct {
		value
		To nodes.Placement
	}
	// Circle: it was to move there, and would wait for jobs that wait for its GPUs.
	Circle struct {
		value
		To nodes.Placement
	}
	// NoPlace: so many GPUs are not free in a split that Slurm can give.
	NoPlace struct {
		value
		GPUs int
	}
	// CannotGiveBack: no split of the rest on its own nodes is possible.
	CannotGiveBack struct {
		value
		GPUs int
	}
)

// What a job's deadline does to its size.
type (
	// EndsBy: it ends then, so much before its deadline, on what is planned for it.
	EndsBy struct {
		value
		Ends  time.Time
		Spare float64
	}
	// DeadlinePassed: it counts as a job without a deadline.
	DeadlinePassed struct {
		value
		Deadline time.Time
	}
	// DeadlineUnknown: it cannot be promised, for its speed is not known yet.
	DeadlineUnknown struct {
		value
		Deadline time.Time
	}
	// DeadlineUnjudged: it is judged when the job can be moved.
	DeadlineUnjudged struct {
		value
		Deadline time.Time
	}
	// DeadlineUnmet: it cannot be met; Ends is the earliest end, zero = none in sight.
	DeadlineUnmet struct {
		value
		Deadline, Ends time.Time
	}
)

// Limits of the site.
type (
	// Limit is one, as Slurm's tools name it, and who uses it.
	Limit struct {
		value
		Name  string
		Users []Use
		More  int  // users that are not named
		None  bool // nobody uses any
	}
	// Within: it would have to be within the limit to start.
	Within struct {
		value
		Limit Reason
	}
	// NoMoreWithin: the limit is why it has no more.
	NoMoreWithin struct {
		value
		Limit Reason
	}
	// AnotherWaitsWithin: a job waits that the limit lets start once this one has less.
	AnotherWaitsWithin struct {
		value
		Limit Reason
	}
	// RestartBeyond: started again, it would not be within the limit.
	RestartBeyond struct {
		value
		Limit Reason
	}
	// FewerThan: so many GPUs are fewer than the limit asks for.
	FewerThan struct {
		value
		GPUs  int
		Limit Reason
	}
	// Beyond: the place is beyond the limit by itself.
	Beyond struct {
		value
		To    nodes.Placement
		Limit Reason
	}
	// BeyondShared: the place would be beyond it with what others use.
	BeyondShared struct {
		value
		To    nodes.Placement
		Limit Reason
	}
)

// Use is what a job has of a limit, as the limit counts it.
type Use struct {
	Job  int64  `json:"job"`
	User string `json:"user"`
	Has  string `json:"has"`
}
