package wire

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Bounds on one page of history: rows if the caller names no limit, and the most it may ask for.
const (
	PastRows     = 200
	PastRowsMost = 1000
)

// The values of Past.Of: what one page lists.
const (
	OfJobs      = "jobs"      // jobs that were there in the range, with their runs
	OfMoves     = "moves"     // moves that were opened in the range, with their cost
	OfDecisions = "decisions" // decisions, each when it changed
	OfNodes     = "nodes"     // samples of the cluster and its nodes
	OfShares    = "shares"    // samples of shares
)

// PastKinds are all values of Past.Of.
var PastKinds = []string{OfJobs, OfMoves, OfDecisions, OfNodes, OfShares}

// Past is one page of history, oldest first except jobs, which have no order in time. Only the list
// that Of names is set.
type Past struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	Of      string    `json:"of"`
	From    time.Time `json:"from"` // in the range
	To      time.Time `json:"to"`   // not in the range; at most the time of the answer
	// Kept is since when ended jobs are stored: what ended before is missing. Absent = not known.
	Kept time.Time `json:"kept_since,omitzero"`
	// Own: only the caller's own jobs are listed, since this site keeps jobs private.
	Own  bool   `json:"own_jobs_only,omitempty"`
	Next string `json:"next,omitempty"` // cursor of the next page; absent = this is the last one

	Jobs      []PastJob      `json:"jobs,omitempty"`
	Moves     []PastMove     `json:"moves,omitempty"`
	Decisions []PastDecision `json:"decisions,omitempty"`
	Clusters  []PastCluster  `json:"nodes,omitempty"`
	Shares    []PastShares   `json:"shares,omitempty"`
}

// PastJob is a job with its runs.
type PastJob struct {
	JobID     int64     `json:"job_id"`
	Token     string    `json:"token"`
	Name      string    `json:"name"`
	User      string    `json:"user"`
	UID       uint32    `json:"uid"`
	Account   string    `json:"account,omitempty"`
	Partition string    `json:"partition"`
	Model     string    `json:"model,omitempty"`
	Min       int       `json:"gpus_min"`
	Max       int       `json:"gpus_max"` // 0 = no bound
	Submitted time.Time `json:"submitted,omitzero"`
	FirstRun  time.Time `json:"first_run,omitzero"`
	EndedAt   time.Time `json:"ended_at,omitzero"`
	State     string    `json:"state"` // Slurm's state at its end; "" = it has not ended
	Ending    *Ending   `json:"ending,omitempty"`
	Deadline  time.Time `json:"deadline,omitzero"`
	Soft      bool      `json:"deadline_soft,omitempty"`
	Promised  bool      `json:"deadline_promised,omitempty"` // it was admitted
	Done      float64   `json:"done"`
	Total     float64   `json:"total,omitempty"`
	Unit      string    `json:"unit"`
	// Runs are all runs of the job, also those outside the range. Each begins with a reason and with the
	// cost of the move before it; it ends where the next begins, or with the job.
	Runs []Segment `json:"runs"`
}

// PastMove is one move: from where, to where, why, how it ended, and what it cost.
type PastMove struct {
	JobID   int64           `json:"job_id"`
	User    string          `json:"user,omitempty"`
	Kind    string          `json:"kind"`
	From    nodes.Placement `json:"from"`
	Target  nodes.Placement `json:"target"`
	Cause   string          `json:"cause"`
	Why     reason.Value    `json:"why,omitzero"` // the cause as a code with arguments
	Opened  time.Time       `json:"opened,omitzero"`
	Closed  time.Time       `json:"closed,omitzero"`   // absent while it is open
	Outcome string          `json:"outcome,omitempty"` // done, fellback, abandoned, user or ended
	Result  string          `json:"result,omitempty"`  // why it closed so
	Closing reason.Value    `json:"closing,omitzero"`  // Result as a code with arguments
	Step    int             `json:"step"`              // the last step that was done
	// What it cost, in seconds; 0 = that step was not reached, or is not part of the move. Save is from
	// the request to the checkpoint, Stop from there until the job waits, Wait until it is released,
	// Start until the move was closed.
	Save  float64 `json:"save_seconds"`
	Stop  float64 `json:"stop_seconds"`
	Wait  float64 `json:"wait_seconds"`
	Start float64 `json:"start_seconds"`
}

// PastDecision is a decision about a job, from the time at which it was made.
type PastDecision struct {
	At     time.Time    `json:"at"`
	JobID  int64        `json:"job_id"`
	User   string       `json:"user,omitempty"`
	GPUs   int          `json:"gpus"`             // that it had
	Target int          `json:"gpus_target"`      // that the plan gave it
	Nodes  string       `json:"target,omitempty"` // "gpu1:4+gpu2:2"
	Reason string       `json:"reason"`
	Why    reason.Value `json:"why,omitzero"`
}

// PastCluster is the cluster at one time, or over the time that a thinned sample stands for.
type PastCluster struct {
	At      time.Time  `json:"at"`
	Seconds float64    `json:"seconds"` // that the sample stands for
	GPUs    int        `json:"gpus"`
	Used    int        `json:"gpus_used"`    // by jobs of any kind
	Elastic int        `json:"gpus_elastic"` // of these, by sluice's jobs
	Free    int        `json:"gpus_free"`    // unused and usable
	Running int        `json:"jobs_running"`
	Waiting int        `json:"jobs_waiting"`
	Moves   int        `json:"moves"`
	Blind   bool       `json:"blind,omitempty"` // Slurm did not answer
	Nodes   []PastNode `json:"nodes"`
}

// PastNode is one node in a PastCluster.
type PastNode struct {
	Name    string `json:"name"`
	GPUs    int    `json:"gpus"`
	Used    int    `json:"gpus_used"`
	Elastic int    `json:"gpus_elastic"`
	Usable  bool   `json:"usable"`
	State   string `json:"state,omitempty"` // as in Node
}

// PastShares is how the GPUs were divided by shares at one time.
type PastShares struct {
	At      time.Time   `json:"at"`
	Seconds float64     `json:"seconds"`
	GPUs    int         `json:"gpus"`
	Lines   []PastShare `json:"lines"`
}

// PastShare is an account, or a user of an account, in a PastShares.
type PastShare struct {
	Account  string `json:"account"`
	User     string `json:"user,omitempty"`
	Deserved int    `json:"gpus_deserved"`
	Used     int    `json:"gpus_used"`
	Wanted   int    `json:"gpus_wanted"`
}
