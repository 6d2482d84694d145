package checkpoint

import (
	"time"

	"github.com/sluice-hpc/sluice/nodes"
)

// Version is the version of every file below. A reader refuses a higher one.
const Version = 1

// Request is sluiced's request to a running job to save and then wait.
type Request struct {
	Version     int    `json:"version"`
	Job         int64  `json:"job"`
	ID          string `json:"request"` // unique; the answer repeats it
	Incarnation int    `json:"incarnation"`
	// Restarts is Slurm's restart count of the run that is asked; other runs ignore the
	// request. 0 is the first run, or unknown.
	Restarts int             `json:"restarts"`
	Target   nodes.Placement `json:"target"` // the next allocation; nil if the job is to stop
	Asked    time.Time       `json:"asked"`
	Deadline time.Time       `json:"deadline"` // after it the request is no longer valid
	Why      string          `json:"why"`
	// Continue: the program continues training once it has saved, instead of waiting.
	Continue bool `json:"continue,omitempty"`
	// Stop: the job will certainly be stopped once its answer exists.
	Stop bool `json:"stop,omitempty"`
	// End is set by the runner for a program that answered and waits: exit with code 0.
	End bool `json:"end,omitempty"`
}

// Target describes the next run, as decided by sluiced.
type Target struct {
	Version     int             `json:"version"`
	Job         int64           `json:"job"`
	Incarnation int             `json:"incarnation"`
	Split       nodes.Placement `json:"split"`          // as planned; empty when Slurm chooses
	Checkpoint  string          `json:"checkpoint"`     // to resume from; "" = newest valid
	GPUs        int             `json:"gpus,omitempty"` // total, if Split is empty; 0 = unknown
	Largest     int             `json:"largest"`        // most GPUs the job may ever get; 0 = unknown
	// Type is that of the GPUs of Split, or of any that the job can get, as Slurm names it; several are joined by
	// "+". "" = unknown.
	Type string `json:"type,omitempty"`
}

// RunnerState is the state of a job's runner.
type RunnerState string

// The states of a runner.
const (
	Starting RunnerState = "starting" // before the script's first line
	Training RunnerState = "training"
	Saving   RunnerState = "saving"  // a request was passed on and not answered yet
	Waiting  RunnerState = "waiting" // a verified checkpoint exists; waits to be stopped, or to continue training
	Exited   RunnerState = "exited"
)

// Runner is the runner's note to sluiced: one small file, rewritten at every change of
// state and as a heartbeat.
type Runner struct {
	Version     int             `json:"version"`
	Job         int64           `json:"job"`
	Restarts    int             `json:"restarts"`    // SLURM_RESTART_COUNT of this run
	Incarnation int             `json:"incarnation"` // from target.json; 0 if there was none
	State       RunnerState     `json:"state"`
	Host        string          `json:"host"`
	PID         int             `json:"pid"`
	Split       nodes.Placement `json:"split,omitempty"` // as this run found it; empty if unknown
	Resumed     string          `json:"resumed,omitempty"`
	Skipped     []string        `json:"skipped,omitempty"` // newer checkpoints that are invalid, with the reasons
	FirstLine   time.Time       `json:"first_line"`        // when the script was started
	Beat        time.Time       `json:"beat"`
	Answer      *Answer         `json:"answer,omitempty"`
	Exit        *Exit           `json:"exit,omitempty"`
	Note        string          `json:"note,omitempty"` // a note for the user
	// LastWords are set once the script has ended with a failure.
	LastWords *LastWords `json:"last_words,omitempty"`
	// Stranded: a node's processes have ended and Slurm has not noticed. The script is
	// ended, and the job must be requeued to continue training.
	Stranded bool `json:"stranded,omitempty"`
	// RetryAt is the time at which the failed script is started again; zero = no restart
	// is pending. Final: its user asked that a failed job is not started again.
	RetryAt time.Time `json:"retry_at,omitzero"`
	Final   bool      `json:"final,omitempty"`
	// Output and Errors are the files of the job's output; "" if it goes elsewhere,
	// Errors also if it is the same file.
	Output string `json:"output,omitempty"`
	Errors string `json:"errors,omitempty"`
	// Rhythm is the longest time, in seconds, between two checkpoints that the program
	// saved on its own, as the runner adopted them: in this run, or in an earlier one
	// while this run has none. 0 = it does not save on its own, or unknown.
	Rhythm float64 `json:"rhythm,omitempty"`
	// Every is the interval of periodic checkpoints, in seconds, and Cost how long a save
	// blocks the program, as measured recently; 0 = there are none, or unknown.
	Every float64 `json:"every,omitempty"`
	Cost  float64 `json:"cost,omitempty"`
	// Devices are the job's GPUs as the driver reports them, node by node; empty if there
	// is no driver.
	Devices []Devices `json:"devices,omitempty"`
}

// Devices are the GPUs of the job on one node.
type Devices struct {
	Node string         `json:"node"`
	At   time.Time      `json:"at"` // when they were last read
	GPUs []nodes.Device `json:"gpus"`
}

// Answer is the runner's answer to a request.
type Answer struct {
	Request    string    `json:"request"`
	Checkpoint string    `json:"checkpoint,omitempty"` // verified; "" if there is none
	Step       int64     `json:"step"`
	Epoch      float64   `json:"epoch"`
	Committed  time.Time `json:"committed"` // when the manifest appeared
	Verified   time.Time `json:"verified"`
	Error      string    `json:"error,omitempty"`
}

// Exit is how the script ended.
type Exit struct {
	Code   int       `json:"code"`
	Signal string    `json:"signal,omitempty"`
	At     time.Time `json:"at"`
}

// Progress is one line of progress.jsonl.
type Progress struct {
	Time     float64 `json:"time"`     // Unix seconds
	Restarts int     `json:"restarts"` // of the run that wrote it
	// Event is "hello" (the program supports the protocol), "progress", "resumed",
	// "finished", or "pace": the time of a step, reported often while the job's speed is
	// being measured.
	Event string `json:"event"`
	// Done is the work finished so far in the job's unit, fractional: 3.5 means half of
	// the fourth epoch is done.
	Done    float64            `json:"done"`
	Epoch   float64            `json:"epoch,omitempty"`
	Step    int64              `json:"step,omitempty"`
	Seconds float64            `json:"seconds,omitempty"` // seconds per unit, recently; 0 = unknown
	GPUs    int                `json:"gpus,omitempty"`    // world size
	Nodes   int                `json:"nodes,omitempty"`
	Pace    float64            `json:"pace,omitempty"`  // seconds per step, for pace
	Steps   int64              `json:"steps,omitempty"` // number of steps in that average
	Metric  map[string]float64 `json:"metric,omitempty"`
	NaN     []string           `json:"nan,omitempty"` // metrics that were reported and are no finite numbers
	// HasEpoch and HasStep: the line names them, be they 0. ParseProgress sets them.
	HasEpoch bool `json:"-"`
	HasStep  bool `json:"-"`
}

// Manifest completes a checkpoint: it is written last, and a checkpoint without a valid
// manifest is not used.
type Manifest struct {
	Version  int       `json:"version"`
	Job      int64     `json:"job"`
	Token    string    `json:"token"`
	Restarts int       `json:"restarts"` // of the run that saved it
	Sequence int       `json:"sequence"` // ascending within the job; the directory's name is its %08d
	Step     int64     `json:"step"`
	Epoch    float64   `json:"epoch"`
	Request  string    `json:"request,omitempty"` // the request it answers
	Created  time.Time `json:"created"`
	GPUs     int       `json:"gpus"` // world size at the save
	// Seconds is how long the save blocked the program; 0 = unknown.
	Seconds float64 `json:"seconds,omitempty"`
	// Ends: the program exits by itself while it waits, once Request.End is set.
	Ends  bool   `json:"ends,omitempty"`
	Files []File `json:"files"`
}

// File is one file of a checkpoint, relative to its directory.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // lower-case hex
}
