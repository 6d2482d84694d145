package wire

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Version is the version of the types below. Fields are only ever added;
// a change of meaning raises it, and the client refuses a higher one.
const Version = 1

// Times are RFC 3339 and left out when unknown; durations are in seconds.

// Status is the daemon in a few words.
type Status struct {
	Version  int       `json:"version"`
	Program  string    `json:"program"` // sluiced's own version
	PID      int       `json:"pid"`
	User     string    `json:"user"` // account the daemon runs as
	Mode     string    `json:"mode"` // "system" or "user"
	Policy   string    `json:"policy"`
	Promises bool      `json:"policy_promises_deadlines,omitempty"`
	Started  time.Time `json:"started"`
	Cycled   time.Time `json:"cycled,omitzero"` // last cycle; absent before the first
	Took     float64   `json:"took_seconds"`
	Next     time.Time `json:"next,omitzero"`
	Blind    string    `json:"blind,omitempty"` // why Slurm cannot be seen
	BlindFor float64   `json:"blind_seconds,omitempty"`
	Jobs     int       `json:"jobs"`  // not ended
	Moves    int       `json:"moves"` // in transition now
	GPUs     int       `json:"gpus"`
	GPUsFree int       `json:"gpus_free"`
	// What the daemon says of itself; the kernel knows the rest.
	Goroutines int    `json:"goroutines,omitempty"`
	Cycles     uint64 `json:"cycles,omitempty"`     // begun since Started
	Live       uint64 `json:"live_bytes,omitempty"` // of memory that were in use at the last collection of garbage
	// Overdue is by how much the next cycle is late: the one under way hangs, most likely in
	// the disk of the daemon's store. 0 = it is not.
	Overdue float64 `json:"overdue_seconds,omitempty"`
	// Unread is how many jobs' folders have not answered for long, the first since UnreadSince.
	Unread      int       `json:"unread,omitempty"`
	UnreadSince time.Time `json:"unread_since,omitzero"`
	// Learned speeds that wait to be stored, and those dropped because too many did.
	SpeedsWaiting int    `json:"speeds_waiting,omitempty"`
	SpeedsDropped uint64 `json:"speeds_dropped,omitempty"`
	// Troubles are what keeps the daemon from its work until a person does something.
	Troubles []Trouble `json:"troubles,omitempty"`
}

// Trouble is one thing that only an administrator can mend.
type Trouble struct {
	Code string `json:"code"` // "rights" or "outbox"
	Text string `json:"text"` // what is wrong
	Do   string `json:"do"`   // what to type
}

// Report is what the last cycle saw and decided, for queue, show and nodes.
type Report struct {
	Version  int       `json:"version"`
	At       time.Time `json:"at"`
	Took     float64   `json:"took_seconds"`
	Next     time.Time `json:"next,omitzero"`
	Policy   string    `json:"policy"`
	Blind    string    `json:"blind,omitempty"`
	BlindFor float64   `json:"blind_seconds,omitempty"`
	Nodes    []Node    `json:"nodes"`
	Jobs     []Job     `json:"jobs"`
	Demands  []Demand  `json:"demands"`
}

// Node is one node and what sluice's jobs hold of it.
type Node struct {
	Name       string   `json:"name"`
	Partitions []string `json:"partitions"`
	Type       string   `json:"gpu_type,omitempty"`  // of several all, joined by +
	Types      []OfType `json:"gpu_types,omitempty"` // where it has several
	GPUs       int      `json:"gpus"`
	Used       int      `json:"gpus_used"`    // by jobs of any kind
	Elastic    int      `json:"gpus_elastic"` // of these, by sluice's jobs
	Free       int      `json:"gpus_free"`    // nobody's, and usable
	Usable     bool     `json:"usable"`
	// Why is why not, and State its first word: Slurm's, or UNFIT or RETURNED.
	Why       string    `json:"why,omitempty"`
	State     string    `json:"state,omitempty"`
	Note      string    `json:"note,omitempty"` // what an administrator said, or what is wrong with its GPUs
	Until     time.Time `json:"until,omitzero"` // of RETURNED
	CPUs      int       `json:"cpus"`
	CPUsUsed  int       `json:"cpus_used"`
	MemoryMB  int64     `json:"memory_mb"`
	MemUsedMB int64     `json:"memory_used_mb"`
	Jobs      []int64   `json:"jobs"` // sluice's jobs on it, ascending
	Health    *Health   `json:"health,omitempty"`
}

// OfType is the GPUs of one type on a node that has several.
type OfType struct {
	Type string `json:"type"`
	GPUs int    `json:"gpus"`
	Used int    `json:"used"` // by jobs of any kind
	Free int    `json:"free"` // nobody's, and usable
}

// Health is what running jobs said against a node's GPUs; absent when nothing.
type Health struct {
	Excluded bool      `json:"excluded"` // nothing new is placed on the node
	Why      string    `json:"why"`
	Note     string    `json:"note,omitempty"` // why it changes nothing
	Jobs     []int64   `json:"jobs"`           // that said so and the caller may see
	Until    time.Time `json:"until,omitzero"` // used again then; absent = once a job says it is well
}

// Demand is an ordinary Slurm job that waits for GPUs.
type Demand struct {
	JobID     int64  `json:"job_id"`
	Partition string `json:"partition"`
	Nodes     int    `json:"nodes"`
	GPUs      int    `json:"gpus"`
}

// Job is one sluice job.
type Job struct {
	JobID     int64  `json:"job_id"`
	Token     string `json:"token"`
	Name      string `json:"name"`
	User      string `json:"user"`
	UID       uint32 `json:"uid"`
	Partition string `json:"partition"`

	State string `json:"state"` // Slurm's word
	// ST is squeue's compact code of the state; RS while sluice moves the job.
	ST    string `json:"st"`
	Ended bool   `json:"ended"`

	GPUs    int             `json:"gpus"` // now
	Min     int             `json:"gpus_min"`
	Max     int             `json:"gpus_max"` // 0 = no bound known
	Place   nodes.Placement `json:"place"`
	Target  nodes.Placement `json:"target"` // where the plan wants it
	Pinned  int             `json:"pinned,omitempty"`
	OnHold  bool            `json:"on_hold,omitempty"` // by order of its user
	Step    int             `json:"gpu_step,omitempty"`
	Sizes   []int           `json:"gpu_sizes,omitempty"`
	Uneven  bool            `json:"allow_uneven,omitempty"`
	Types   []string        `json:"gpu_types,omitempty"` // that it accepts; absent = any
	Model   string          `json:"model,omitempty"`
	Comment string          `json:"comment,omitempty"`
	Array   *Array          `json:"array,omitempty"` // absent of a job that is part of none

	Done    float64   `json:"done"`
	Total   float64   `json:"total,omitempty"` // 0 = the user did not say
	Unit    string    `json:"unit"`            // "epoch" or "step"
	Seconds float64   `json:"seconds_per_unit,omitempty"`
	Source  string    `json:"speed_source,omitempty"` // measured, fitted or prior
	ETA     time.Time `json:"eta,omitzero"`
	// Deadline is when its user wants it to have ended. Promised: it will have, whoever
	// comes after it; Ends is when, or the earliest it could; zero = not in sight.
	Deadline time.Time `json:"deadline,omitzero"`
	Soft     bool      `json:"deadline_soft,omitempty"`
	Promised bool      `json:"deadline_promised,omitempty"`
	Ends     time.Time `json:"ends,omitzero"`
	// Due is "promised", "unknown_speed", "unmet", "passed", or "" where nothing was decided.
	Due string `json:"due,omitempty"`
	// Busy is the mean share of time with work on its GPUs, lately, from 0 to 1;
	// absent when not known.
	Busy *float64 `json:"gpus_busy,omitempty"`
	MIG  bool     `json:"mig,omitempty"` // its GPUs are slices, of a fixed number

	Reason string `json:"reason"` // why this size, why now, what it waits for
	// Why is the same as a code with arguments (elastic/say/REASONS.md).
	Why reason.Value `json:"why,omitzero"`
	// SlurmReason is Slurm's own word: Resources, Priority, BeginTime ...
	SlurmReason string       `json:"slurm_reason,omitempty"`
	Move        *Move        `json:"move,omitempty"` // the open one
	Last        string       `json:"last_move,omitempty"`
	LastWhy     reason.Value `json:"last_move_why,omitzero"`
	Problems    []string     `json:"problems,omitempty"`
	Ending      *Ending      `json:"ending,omitempty"` // once the job has ended
	// LastWords are there once the job has ended and did not end well.
	LastWords *LastWords `json:"last_words,omitempty"`

	Speaks      bool  `json:"speaks"` // has shown that it answers requests
	Deaf        int   `json:"deaf,omitempty"`
	Incarnation int   `json:"incarnation"`
	Restarts    int   `json:"restarts"`
	Price       Price `json:"price"`

	Submitted  time.Time `json:"submitted,omitzero"`
	FirstRun   time.Time `json:"first_run,omitzero"`
	Started    time.Time `json:"started,omitzero"` // the present run
	Moved      time.Time `json:"moved,omitzero"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	TimeLeft   float64   `json:"time_left_seconds,omitempty"`
	Heartbeat  time.Time `json:"heartbeat,omitzero"`
	Quiet      time.Time `json:"quiet_since,omitzero"` // nothing has been heard of it since, for long
	RetryAt    time.Time `json:"retry_at,omitzero"`    // when its script, which failed, is started again
	Checkpoint string    `json:"checkpoint,omitempty"` // the last one verified on request
	Resumed    string    `json:"resumed,omitempty"`    // the one this run started from
	Saved      *Saved    `json:"saved,omitempty"`      // the last one asked for
	// SavesEvery is the time between checkpoints by time, SaveCost how long one blocks the
	// program; 0 = none is made, not known.
	SavesEvery float64 `json:"saves_every_seconds,omitempty"`
	SaveCost   float64 `json:"save_cost_seconds,omitempty"`
	// Stretch is how many times its declared work the job is expected to take, learned from
	// StretchJobs ended jobs of its user; 0 = it is taken at its word. Overruns: it trains
	// on past its declared end, and how long it will is not known.
	Stretch     float64 `json:"stretch,omitempty"`
	StretchJobs int     `json:"stretch_jobs,omitempty"`
	Overruns    bool    `json:"overruns,omitempty"`
}

// Array is a job's part in a job array.
type Array struct {
	JobID int64 `json:"job_id"`          // the array's: that of its first job
	Index int   `json:"task_id"`         // SLURM_ARRAY_TASK_ID
	Count int   `json:"tasks"`           // in all
	Limit int   `json:"limit,omitempty"` // of these may run at once; 0 = any number
}

// Saved is a verified checkpoint that was asked for.
type Saved struct {
	Request    string    `json:"request"`
	Checkpoint string    `json:"checkpoint"`
	Step       int64     `json:"step"`
	Epoch      float64   `json:"epoch"`
	At         time.Time `json:"at,omitzero"`
}

// LastWords are why a job did not end well, and what it printed last.
type LastWords struct {
	Why   string   `json:"why"`
	Lines []string `json:"lines,omitempty"` // at most 20
}

// Ending is how a job ended; its Reason says so in English.
type Ending struct {
	// How is "completed", "failed" with Code, "killed" by Signal, "no_output": Output could
	// not be opened, "not_launched", "cancelled", "time_limit", "out_of_memory",
	// "node_failed", "preempted", "slurm_deadline" or "forgotten": Slurm knows no more.
	How    string `json:"how"`
	Code   int    `json:"exit_code"`
	Signal string `json:"signal,omitempty"`
	Ran    bool   `json:"ran"` // its script was started
	Output string `json:"output,omitempty"`
}

// Price is what a move costs a job, in seconds.
type Price struct {
	Save     float64 `json:"save"`
	Drain    float64 `json:"drain"`
	Start    float64 `json:"start"`
	Load     float64 `json:"load"`
	Total    float64 `json:"total"`
	Measured int     `json:"measured"` // moves averaged over; 0 = the site's defaults
}

// Move is a start, a resize or a stop on its way.
type Move struct {
	Kind   string          `json:"kind"` // "start", "resize", "park": stopped, to wait again, or "revive": Slurm ended it wrongly
	Step   int             `json:"step"` // 1 to 7: R1 to R7
	Doing  string          `json:"doing"`
	From   nodes.Placement `json:"from"`
	Target nodes.Placement `json:"target"`
	Cause  string          `json:"cause"`
	Why    reason.Value    `json:"why,omitzero"` // the cause as a code with arguments
	Opened time.Time       `json:"opened,omitzero"`
	Since  time.Time       `json:"since,omitzero"` // in this step
}

// Explanation is one job and the sizes it could have.
type Explanation struct {
	Version  int       `json:"version"`
	At       time.Time `json:"at"`
	Policy   string    `json:"policy"`
	Promises bool      `json:"policy_promises_deadlines,omitempty"` // the policy admits jobs to their deadlines
	Blind    string    `json:"blind,omitempty"`
	BlindFor float64   `json:"blind_seconds,omitempty"`
	Job      Job       `json:"job"`
	Type     string    `json:"gpu_type,omitempty"` // what Sizes are of, where there are several
	Sizes    []Size    `json:"sizes"`
	// LeftOut are nodes of its partition on which nothing new is placed for what is
	// said of their GPUs.
	LeftOut []LeftOut `json:"left_out,omitempty"`
	// Again is the work of earlier runs that was done once more, all runs together.
	Again Again `json:"trained_again,omitzero"`
}

// Again is work that was done once more.
type Again struct {
	Runs    int     `json:"runs"` // that began with such work
	Work    float64 `json:"work"` // in the job's unit
	Seconds float64 `json:"seconds"`
}

// LeftOut is a node on which nothing new is placed.
type LeftOut struct {
	Node  string    `json:"node"`
	Why   string    `json:"why"`
	Until time.Time `json:"until,omitzero"` // as in Health
}

// Size is one size a job accepts and how fast it would be there.
type Size struct {
	GPUs    int     `json:"gpus"`
	Nodes   int     `json:"nodes"` // fewest nodes the inventory could do it on
	Seconds float64 `json:"seconds_per_unit,omitempty"`
	Source  string  `json:"speed_source,omitempty"`
	// Relative is the speed over that of one GPU, where so far only steps were
	// timed and the seconds of a unit are not known.
	Relative float64 `json:"relative_speed,omitempty"`
	// Left is the time to finish at this size, dead time of the move to it, which is
	// Dead, included; 0 when unknown.
	Left float64 `json:"left_seconds,omitempty"`
	Dead float64 `json:"dead_seconds,omitempty"`
	Now  bool    `json:"now,omitempty"` // the present size
}

// History is one job's runs.
type History struct {
	Version  int       `json:"version"`
	At       time.Time `json:"at"`
	Job      Job       `json:"job"`
	Segments []Segment `json:"segments"`
}

// Segment is one run between two moves.
type Segment struct {
	Restarts    int             `json:"restarts"`
	Incarnation int             `json:"incarnation"`
	Place       nodes.Placement `json:"place"`
	GPUs        int             `json:"gpus"`
	Started     time.Time       `json:"started,omitzero"`
	Ended       time.Time       `json:"ended,omitzero"` // absent while it runs
	DoneFrom    float64         `json:"done_from"`
	DoneTo      float64         `json:"done_to"`
	Seconds     float64         `json:"seconds_per_unit,omitempty"`
	Cause       string          `json:"cause"`
	Why         reason.Value    `json:"why,omitzero"` // the cause as a code with arguments
	Price       Price           `json:"price"`        // paid to get here
	// Again is the work of the run before that this one did once more, and AgainSeconds what
	// that had taken.
	Again        float64 `json:"trained_again,omitempty"`
	AgainSeconds float64 `json:"trained_again_seconds,omitempty"`
}

// Plan is what the next cycle would do.
type Plan struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`   // when Slurm was looked at
	Next    time.Time `json:"next"` // the next cycle, which was judged
	Policy  string    `json:"policy"`
	Moves   []Planned `json:"moves"`
	// Later are moves that only wait for a cooldown, as far as can be seen now. When is its end.
	Later []Planned `json:"later"`
	Stays []Planned `json:"stays"`
}

// Planned is the plan's word on one job.
type Planned struct {
	JobID  int64           `json:"job_id"`
	Name   string          `json:"name"`
	User   string          `json:"user"`
	Kind   string          `json:"kind,omitempty"` // "start", "resize" or "park"; "" = stays
	From   nodes.Placement `json:"from"`
	To     nodes.Placement `json:"to"`
	When   time.Time       `json:"when,omitzero"`
	Reason string          `json:"reason"`
	Why    reason.Value    `json:"why,omitzero"` // the reason as a code with arguments
}

// Event tells the daemon that something happened, so that it looks sooner. It
// carries no facts: the daemon asks Slurm.
type Event struct {
	JobID int64  `json:"job_id,omitempty"`
	Kind  string `json:"kind"` // "submit", "cancel", "end" or another short word
}
