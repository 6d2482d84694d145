package wire

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
)

// StreamType is the content type of the answer to GET /v1/events.
const StreamType = "text/event-stream"

// The kinds of Happening that are not in the log. All others are those of
// elastic/engine/event/EVENTS.md.
const (
	// KindCycle: a cycle has ended and its report is published. Print is a fingerprint of it.
	KindCycle = "cycle"
	// KindDecision: the decision about a job has another reason or another target than the one
	// before.
	KindDecision = "decision"
	// KindSubmitted, KindStarted: a job appeared in the report, or began a run.
	KindSubmitted = "submitted"
	KindStarted   = "started"
	// KindGap: events between the last one that the reader had and the next one are missing. Why is
	// a value of Gap. What the reader knows is out of date: it should read the report again.
	KindGap = "gap"
)

// The values of Happening.Gap.
const (
	GapRestart = "restart" // the id is of an earlier run of the daemon
	GapOld     = "old"     // the id is older than the oldest event that is kept
	GapUnknown = "unknown" // the id was never given out
)

// Happening is one event of the stream. Its SSE event name is its Kind, its SSE id is its ID.
type Happening struct {
	// ID is EPOCH-NUMBER. The epoch is new with each start of the daemon; numbers ascend by one within
	// it. A reader sends the last ID that it had, to get what came after. Readers that may not see every
	// job see gaps between numbers.
	ID   string    `json:"id"`
	At   time.Time `json:"at"`
	Kind string    `json:"kind"`
	Text string    `json:"text,omitempty"` // for people; programs use the other fields

	JobID     int64  `json:"job_id,omitempty"` // absent if it concerns no single job
	Name      string `json:"name,omitempty"`   // of the job
	User      string `json:"user,omitempty"`   // of the job
	Partition string `json:"partition,omitempty"`
	// Why is the reason of a decision, as a code with arguments.
	Why reason.Value `json:"why,omitzero"`

	// Of moves and runs, as in EVENTS.md.
	Move        string `json:"move,omitempty"`
	Target      string `json:"target,omitempty"` // "gpu1:4+gpu2:2"; "" = no GPUs
	GPUs        int    `json:"gpus,omitempty"`   // of Target, or On
	Incarnation int    `json:"incarnation,omitempty"`
	Step        int    `json:"step,omitempty"`
	Checkpoint  string `json:"checkpoint,omitempty"`
	Act         string `json:"act,omitempty"`
	Outcome     string `json:"outcome,omitempty"`
	On          string `json:"on,omitempty"`
	State       string `json:"state,omitempty"`
	Run         *int   `json:"run,omitempty"`
	Problem     string `json:"problem,omitempty"`

	// Order and By are the order and the account that gave it.
	Order string `json:"order,omitempty"`
	By    string `json:"by,omitempty"`

	// Print is, of a cycle, a fingerprint of its report: while it stays the same, nothing in the
	// report that a page shows has changed but times.
	Print string `json:"print,omitempty"`
	Gap   string `json:"gap,omitempty"` // of a gap: why
}
