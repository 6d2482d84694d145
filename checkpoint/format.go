package checkpoint

import (
	"time"

	"github.com/sluice-hpc/sluice/nodes"
)

// Version is the version of every file below. A reader refuses a higher one.
const Version = 1

// Request is sluiced asking a running job to save and then wait.
type Request struct {
	Version     int    `json:"version"`
	Job         int64  `json:"job"`
	ID          string `json:"request"` // unique; the answer repeats it
	Incarnation int    `json:"incarnation"`
	// Restarts is Slurm's restart count of the run that is asked; a later run
	// takes no notice of what its predecessor was asked. 0 is the first run, or
	// not said.
	Restarts int             `json:"restarts"`
	Target   nodes.Placement `json:"target"` // what the job will get; nil when it is to stop
	Asked    time.Time       `json:"asked"`
	Deadline time.Time       `json:"deadline"` // after it the request is given up
	Why      string          `json:"why"`
	// Continue: the program is to train on once it has saved, not to wait.
	Continue bool `json:"continue,omitempty"`
	// Stop: the job is stopped for certain once its answer is there.
	Stop bool `json:"stop,omitempty"`
	// End is the runner's word to a program that answered and waits: exit with code 0.
	End bool `json:"end,omitempty"`
}

// Target is sluiced telling the next run what it is.
type Target struct {
	Version     int             `json:"version"`
	Job         int64           `json:"job"`
	Incarnation int             `json:"incarnation"`
	Split       nodes.Placement `json:"split"`          // as planned; empty when Slurm chooses
	Checkpoint  string          `json:"checkpoint"`     // to resume from; "" = newest valid
	GPUs        int             `json:"gpus,omitempty"` // in all, where Split is empty; 0 = unknown
	Largest     int             `json:"largest"`        // most GPUs the job may ever get; 0 = unknown
}

// RunnerState is what the runner of a job is doing.
type RunnerState string

// The states of a runner.
const (
	Starting RunnerState = "starting" // before the script's first line
	Training RunnerState = "training"
	Saving   RunnerState = "saving"  // a request was passed on, no answer yet
	Waiting  RunnerState = "waiting" // a verified checkpoint is there; waits to be stopped, or to train on
	Exited   RunnerState = "exited"
)

// Runner is the runner's word: one small file, rewritten at every change of
// state and as a heartbeat.
type Runner struct {
	Version     int             `json:"version"`
	Job         int64           `json:"job"`
	Restarts    int             `json:"restarts"`    // SLURM_RESTART_COUNT of this run
	Incarnation int             `json:"incarnation"` // from target.json; 0 when there was none
	State       RunnerState     `json:"state"`
	Host        string          `json:"host"`
	PID         int             `json:"pid"`
	Split       nodes.Placement `json:"split,omitempty"` // as this run found it; empty when it cannot tell
	Resumed     string          `json:"resumed,omitempty"`
	Skipped     []string        `json:"skipped,omitempty"` // newer checkpoints found bad, with why
	FirstLine   time.Time       `json:"first_line"`        // when the script was started
	Beat        time.Time       `json:"beat"`
	Answer      *Answer         `json:"answer,omitempty"`
	Exit        *Exit           `json:"exit,omitempty"`
	Note        string          `json:"note,omitempty"` // anything a person should know
	// LastWords are there once the script has ended and did not end well.
	LastWords *LastWords `json:"last_words,omitempty"`
	// Stranded: a node's processes are gone and Slurm has not noticed. The script is
	// ended, and the job has to be requeued to train on.
	Stranded bool `json:"stranded,omitempty"`
	// RetryAt is when the script, which failed, is started again; zero = it is not waited
	// for. Final: its user asked that a job that failed is not started again.
	RetryAt time.Time `json:"retry_at,omitzero"`
	Final   bool      `json:"final,omitempty"`
	// Output and Errors are the files that the job's output goes to; "" where it
	// goes elsewhere, Errors also where it is the same file.
	Output string `json:"output,omitempty"`
	Errors string `json:"errors,omitempty"`
	// Rhythm is the longest time, in seconds, between two checkpoints that a
	// program saved by its own habit, as the runner adopted them: in this run, or
	// in an earlier one while this has none. 0 = it does not, or not known.
	Rhythm float64 `json:"rhythm,omitempty"`
	// Every is the time, in seconds, from one checkpoint by time to the next, and Cost
	// how long a save blocks the program, as seen lately; 0 = none is made, or not known.
	Every float64 `json:"every,omitempty"`
	Cost  float64 `json:"cost,omitempty"`
	// Devices are the job's GPUs as the driver shows them, each node's; empty
	// where there is no driver to ask.
	Devices []Devices `json:"devices,omitempty"`
}

// Devices are the GPUs of the job on one node.
type Devices struct {
	Node string         `json:"node"`
	At   time.Time      `json:"at"` // when they were last looked at
	GPUs []nodes.Device `json:"gpus"`
}

// Answer is the runner's answer to a request.
type Answer struct {
	Request    string    `json:"request"`
	Checkpoint string    `json:"checkpoint,omitempty"` // verified; "" when there is none
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
	// Event is "hello" (the program speaks the protocol), "progress",
	// "resumed", "finished", or "pace": how long steps take, said often while the
	// job's speed is being measured.
	Event string `json:"event"`
	// Done is the work finished so far in the job's unit, fractional: 3.5 =
	// half way through the fourth epoch.
	Done    float64            `json:"done"`
	Epoch   float64            `json:"epoch,omitempty"`
	Step    int64              `json:"step,omitempty"`
	Seconds float64            `json:"seconds,omitempty"` // seconds a unit, lately; 0 = not known
	GPUs    int                `json:"gpus,omitempty"`    // world size
	Nodes   int                `json:"nodes,omitempty"`
	Pace    float64            `json:"pace,omitempty"`  // seconds a step, of a pace
	Steps   int64              `json:"steps,omitempty"` // over how many steps that is
	Metric  map[string]float64 `json:"metric,omitempty"`
}

// Manifest closes a checkpoint: it is written last, and a checkpoint without a
// valid one does not exist.
type Manifest struct {
	Version  int       `json:"version"`
	Job      int64     `json:"job"`
	Token    string    `json:"token"`
	Restarts int       `json:"restarts"` // of the run that saved it
	Sequence int       `json:"sequence"` // ascending within the job; the directory's name is %08d of it
	Step     int64     `json:"step"`
	Epoch    float64   `json:"epoch"`
	Request  string    `json:"request,omitempty"` // the request it answers
	Created  time.Time `json:"created"`
	GPUs     int       `json:"gpus"` // world size that saved it
	// Seconds is how long the program was blocked by the save; 0 = not said.
	Seconds float64 `json:"seconds,omitempty"`
	// Ends: the program exits by itself while it waits, once Request.End says so.
	Ends  bool   `json:"ends,omitempty"`
	Files []File `json:"files"`
}

// File is one file of a checkpoint, relative to its directory.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"` // lower-case hex
}
