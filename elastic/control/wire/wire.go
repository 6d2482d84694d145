package wire

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Version is the version of the types below. Fields are only added. A change of meaning raises
// the version, and the client refuses a higher one.
const Version = 1

// Times are RFC 3339 and left out if unknown; durations are in seconds.

// Status is the state of the daemon.
type Status struct {
	Version  int       `json:"version"`
	Program  string    `json:"program"` // sluiced's own version
	PID      int       `json:"pid"`
	User     string    `json:"user"` // account the daemon runs as
	Mode     string    `json:"mode"` // "system" or "user"
	Policy   string    `json:"policy"`
	Service  string    `json:"service_account,omitempty"` // whose jobs belong to the users that they name
	Promises bool      `json:"policy_promises_deadlines,omitempty"`
	Started  time.Time `json:"started"`
	Cycled   time.Time `json:"cycled,omitzero"` // last cycle; absent before the first
	Took     float64   `json:"took_seconds"`
	Next     time.Time `json:"next,omitzero"`
	Blind    string    `json:"blind,omitempty"` // why Slurm cannot be seen
	BlindFor float64   `json:"blind_seconds,omitempty"`
	Jobs     int       `json:"jobs"`  // number of jobs that have not ended
	Moves    int       `json:"moves"` // number of moves under way
	GPUs     int       `json:"gpus"`
	GPUsFree int       `json:"gpus_free"`
	// What the daemon reports of itself; the rest is known to the kernel.
	Goroutines int    `json:"goroutines,omitempty"`
	Cycles     uint64 `json:"cycles,omitempty"`     // cycles begun since Started
	Live       uint64 `json:"live_bytes,omitempty"` // memory in use at the last garbage collection
	// Overdue is by how many seconds the next cycle is late: the one under way hangs, most
	// likely on the disk of the daemon's store. 0 = not late.
	Overdue float64 `json:"overdue_seconds,omitempty"`
	// Unread is how many jobs' folders have not answered for long, the first of them since
	// UnreadSince.
	Unread      int       `json:"unread,omitempty"`
	UnreadSince time.Time `json:"unread_since,omitzero"`
	// Learned speeds that wait to be stored, and those dropped because too many waited.
	SpeedsWaiting int    `json:"speeds_waiting,omitempty"`
	SpeedsDropped uint64 `json:"speeds_dropped,omitempty"`
	Streams       int    `json:"streams,omitempty"` // streams of events that are open
	// NoShares is why the tree of shares cannot be read now, and SharesRead when it was read last;
	// absent = never.
	NoShares   string    `json:"no_shares,omitempty"`
	SharesRead time.Time `json:"shares_read,omitzero"`
	// Messages is what became of messages to users and administrators.
	Messages Messages `json:"messages,omitzero"`
	// Troubles are what keeps the daemon from working until a person repairs it.
	Troubles []Trouble `json:"troubles,omitempty"`
}

// Messages counts messages since the daemon started.
type Messages struct {
	Sent    int `json:"sent,omitempty"`
	Waiting int `json:"waiting,omitempty"`
	// Failed could not be sent, and Dropped did not fit into the queue; those to users' webhooks
	// are in Users instead.
	Failed  int    `json:"failed,omitempty"`
	Dropped int    `json:"dropped,omitempty"`
	Users   int    `json:"users_webhooks_failed,omitempty"`
	Why     string `json:"why,omitempty"` // why the last one was not sent
}

// Trouble is a condition that only an administrator can repair.
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
	Type       string   `json:"gpu_type,omitempty"`  // all types joined by +, if there are several
	Types      []OfType `json:"gpu_types,omitempty"` // set if there are several types
	GPUs       int      `json:"gpus"`
	Used       int      `json:"gpus_used"`    // by jobs of any kind
	Elastic    int      `json:"gpus_elastic"` // of these, by sluice's jobs
	Free       int      `json:"gpus_free"`    // unused and usable
	Usable     bool     `json:"usable"`
	// Why is why it is not usable, and State its first word: Slurm's state, or UNFIT or
	// RETURNED.
	Why       string    `json:"why,omitempty"`
	State     string    `json:"state,omitempty"`
	Note      string    `json:"note,omitempty"` // an administrator's comment, or what is wrong with its GPUs
	Until     time.Time `json:"until,omitzero"` // end of the state RETURNED
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
	Free int    `json:"free"` // unused and usable
}

// Health is what running jobs reported against a node's GPUs; absent if nothing.
type Health struct {
	Excluded bool      `json:"excluded"` // no new job is placed on the node
	Why      string    `json:"why"`
	Note     string    `json:"note,omitempty"` // why the reports have no effect
	Jobs     []int64   `json:"jobs"`           // jobs that reported it and that the caller may see
	Until    time.Time `json:"until,omitzero"` // when it is used again; absent = once a job reports it well
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
	Sweep     string `json:"sweep,omitempty"` // token of the sweep whose lane it is
	Name      string `json:"name"`
	User      string `json:"user"`
	UID       uint32 `json:"uid"`
	SlurmUID  uint32 `json:"slurm_uid,omitempty"` // of a confined job: the user that Slurm runs it as, who owns its files
	Partition string `json:"partition"`
	Account   string `json:"account,omitempty"` // absent without slurmdbd, or not known
	QOS       string `json:"qos,omitempty"`     // absent also of ended jobs

	State string `json:"state"` // Slurm's state
	// ST is squeue's compact code of the state; RS while sluice moves the job.
	ST    string `json:"st"`
	Ended bool   `json:"ended"`

	GPUs    int             `json:"gpus"` // GPUs that it has now
	Min     int             `json:"gpus_min"`
	Max     int             `json:"gpus_max"` // 0 = no bound known
	Place   nodes.Placement `json:"place"`
	Target  nodes.Placement `json:"target"` // its place according to the plan
	Pinned  int             `json:"pinned,omitempty"`
	OnHold  bool            `json:"on_hold,omitempty"` // held by order of its user
	Step    int             `json:"gpu_step,omitempty"`
	Sizes   []int           `json:"gpu_sizes,omitempty"`
	Uneven  bool            `json:"allow_uneven,omitempty"`
	Types   []string        `json:"gpu_types,omitempty"` // GPU types that it accepts; absent = any
	Model   string          `json:"model,omitempty"`
	Comment string          `json:"comment,omitempty"`
	Array   *Array          `json:"array,omitempty"` // absent if it is part of none
	Trial   *Trial          `json:"trial,omitempty"` // that it runs, or ran last, as a lane of a sweep

	Done    float64   `json:"done"`
	Total   float64   `json:"total,omitempty"` // declared work in units; 0 = not declared
	Unit    string    `json:"unit"`            // "epoch" or "step"
	Seconds float64   `json:"seconds_per_unit,omitempty"`
	Source  string    `json:"speed_source,omitempty"` // measured, fitted or prior
	ETA     time.Time `json:"eta,omitzero"`
	// Deadline is when its user wants it to have ended. Promised: it is admitted, that is, it
	// will end by then whatever jobs come later. Ends is when it will end, or the earliest it
	// could; zero = not known.
	Deadline time.Time `json:"deadline,omitzero"`
	Soft     bool      `json:"deadline_soft,omitempty"`
	Promised bool      `json:"deadline_promised,omitempty"`
	Ends     time.Time `json:"ends,omitzero"`
	// Due is "promised", "unknown_speed", "unmet", "passed", or "" if nothing was decided.
	Due string `json:"due,omitempty"`
	// Busy is the recent mean utilisation of its GPUs, from 0 to 1; absent if not known.
	Busy *float64 `json:"gpus_busy,omitempty"`
	MIG  bool     `json:"mig,omitempty"` // its GPUs are MIG slices, of a fixed number

	Reason string `json:"reason"` // why this size, why now, what it waits for
	// Why is the same reason as a code with arguments (elastic/say/REASONS.md).
	Why reason.Value `json:"why,omitzero"`
	// SlurmReason is Slurm's reason: Resources, Priority, BeginTime ...
	SlurmReason string `json:"slurm_reason,omitempty"`
	// Priority is, of a job that waits, what Slurm would start it by, the highest first: its
	// priority in Slurm and the part for its age, which Slurm adds from its begin time on.
	Priority int64 `json:"priority,omitempty"`
	// StartOrder is, in a Report, the job's place among the jobs that wait for GPUs alone, in the order
	// in which they start, 1 = the next; absent if it does not wait, or not for GPUs alone.
	StartOrder int          `json:"start_order,omitempty"`
	Move       *Move        `json:"move,omitempty"` // the open move
	Last       string       `json:"last_move,omitempty"`
	LastWhy    reason.Value `json:"last_move_why,omitzero"`
	Problems   []string     `json:"problems,omitempty"`
	Ending     *Ending      `json:"ending,omitempty"` // once the job has ended
	// LastWords are set once the job has ended without success.
	LastWords *LastWords `json:"last_words,omitempty"`

	Speaks      bool  `json:"speaks"` // it has answered a checkpoint request before
	Deaf        int   `json:"deaf,omitempty"`
	Incarnation int   `json:"incarnation"`
	Restarts    int   `json:"restarts"`
	Price       Price `json:"price"`

	Submitted  time.Time `json:"submitted,omitzero"`
	FirstRun   time.Time `json:"first_run,omitzero"`
	Started    time.Time `json:"started,omitzero"` // start of the present run
	Moved      time.Time `json:"moved,omitzero"`
	EndedAt    time.Time `json:"ended_at,omitzero"`
	TimeLeft   float64   `json:"time_left_seconds,omitempty"`
	Heartbeat  time.Time `json:"heartbeat,omitzero"`
	Quiet      time.Time `json:"quiet_since,omitzero"` // since when the job has written nothing, if that is long
	RetryAt    time.Time `json:"retry_at,omitzero"`    // when its failed script is started again
	Checkpoint string    `json:"checkpoint,omitempty"` // the last one verified on request
	Resumed    string    `json:"resumed,omitempty"`    // the checkpoint that this run started from
	Saved      *Saved    `json:"saved,omitempty"`      // the last save that was asked for
	// SavesEvery is the interval of checkpoints, SaveCost how long one blocks the program, in
	// seconds; 0 = none is made, or not known.
	SavesEvery float64 `json:"saves_every_seconds,omitempty"`
	SaveCost   float64 `json:"save_cost_seconds,omitempty"`
	// Stretch is how many times its declared work the job is expected to take, learned from
	// StretchJobs ended jobs of its user; 0 = its declared work is used. Overruns: it trains on
	// beyond its declared end, and its length is not known.
	Stretch     float64 `json:"stretch,omitempty"`
	StretchJobs int     `json:"stretch_jobs,omitempty"`
	Overruns    bool    `json:"overruns,omitempty"`
}

// Array is a job's place in a job array.
type Array struct {
	JobID int64 `json:"job_id"`          // id of the array: that of its first job
	Index int   `json:"task_id"`         // SLURM_ARRAY_TASK_ID
	Count int   `json:"tasks"`           // number of tasks in all
	Limit int   `json:"limit,omitempty"` // number of tasks that may run at once; 0 = any number
}

// Trial is a trial of a sweep.
type Trial struct {
	Sweep  int64    `json:"sweep"` // its number
	Trial  int      `json:"trial"` // from 1
	Epoch  float64  `json:"epoch"` // of its last report; 0 = none
	Metric string   `json:"metric"`
	Value  *float64 `json:"value"`            // of the metric then; null = not reported yet
	Beside []Trial  `json:"beside,omitempty"` // the others that the lane runs at once, ascending; at most 7
}

// Saved is a verified checkpoint that was asked for.
type Saved struct {
	Request    string    `json:"request"`
	Checkpoint string    `json:"checkpoint"`
	Step       int64     `json:"step"`
	Epoch      float64   `json:"epoch"`
	At         time.Time `json:"at,omitzero"`
}

// LastWords are why a job ended without success, and the last lines it printed.
type LastWords struct {
	Why   string   `json:"why"`
	Lines []string `json:"lines,omitempty"` // at most 20
}

// Ending is how a job ended; its Reason says so in English.
type Ending struct {
	// How is "completed", "failed" with Code, "killed" by Signal, "no_output": Output could not
	// be opened, "not_launched", "cancelled", "time_limit", "out_of_memory", "node_failed",
	// "preempted", "slurm_deadline" or "forgotten": Slurm has no record of it any more.
	How    string `json:"how"`
	Code   int    `json:"exit_code"`
	Signal string `json:"signal,omitempty"`
	Ran    bool   `json:"ran"` // its script was started
	Output string `json:"output,omitempty"`
}

// Price is the cost of a resize for a job, in seconds.
type Price struct {
	Save     float64 `json:"save"`
	Drain    float64 `json:"drain"`
	Start    float64 `json:"start"`
	Load     float64 `json:"load"`
	Total    float64 `json:"total"`
	Measured int     `json:"measured"` // number of moves averaged over; 0 = the site's defaults
}

// Move is a start, a resize or a stop under way.
type Move struct {
	Kind   string          `json:"kind"` // "start", "resize", "park": stopped, to wait again, or "revive": ended by Slurm by mistake, brought back
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
	Promises bool      `json:"policy_promises_deadlines,omitempty"` // the policy admits jobs with deadlines
	Blind    string    `json:"blind,omitempty"`
	BlindFor float64   `json:"blind_seconds,omitempty"`
	Job      Job       `json:"job"`
	Type     string    `json:"gpu_type,omitempty"` // the GPU type of Sizes, if there are several
	Sizes    []Size    `json:"sizes"`
	// LeftOut are nodes of its partition that get no new job because of reports against their
	// GPUs.
	LeftOut []LeftOut `json:"left_out,omitempty"`
	// Again is the work of earlier runs that was repeated, over all runs.
	Again Again `json:"trained_again,omitzero"`
	// Rank is where a job that waits stands.
	Rank *Rank `json:"rank,omitempty"`
}

// Again is work that was repeated.
type Again struct {
	Runs    int     `json:"runs"` // number of runs that began with repeated work
	Work    float64 `json:"work"` // in the job's unit
	Seconds float64 `json:"seconds"`
}

// LeftOut is a node that gets no new job.
type LeftOut struct {
	Node  string    `json:"node"`
	Why   string    `json:"why"`
	Until time.Time `json:"until,omitzero"` // as in Health
}

// Size is one size that a job accepts and its speed at that size.
type Size struct {
	GPUs    int     `json:"gpus"`
	Nodes   int     `json:"nodes"` // fewest nodes of the inventory that can hold it
	Seconds float64 `json:"seconds_per_unit,omitempty"`
	Source  string  `json:"speed_source,omitempty"`
	// Relative is the speed relative to 1 GPU. It is set while only steps were timed and the
	// seconds of a unit are not known.
	Relative float64 `json:"relative_speed,omitempty"`
	// Left is the time to finish at this size, including Dead, the dead time of the resize to
	// it; 0 if unknown.
	Left float64 `json:"left_seconds,omitempty"`
	Dead float64 `json:"dead_seconds,omitempty"`
	Now  bool    `json:"now,omitempty"` // the present size
}
