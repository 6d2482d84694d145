package past

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Kind is a kind of Entry or of Sample.
type Kind string

// The kinds. Decisions and Moves are kinds of entries, Clusters and Shares of samples.
const (
	Decisions Kind = "decision"
	Moves     Kind = "move"
	Clusters  Kind = "cluster"
	Shares    Kind = "shares"
)

// Entry is one thing that happened to a job. Body is a Decision or a Move as JSON.
type Entry struct {
	ID   int64 // given by the store, ascending
	Kind Kind
	At   time.Time // of a decision when it was made, of a move when it was opened
	Job  elastic.JobID
	UID  uint32
	User string
	Body []byte
}

// Decision is a decision about a job that differs from the one before.
type Decision struct {
	Has    int             `json:"has,omitempty"` // GPUs
	Target nodes.Placement `json:"target,omitempty"`
	Why    reason.Value    `json:"why"`
}

// Move is a move that was closed.
type Move struct {
	Kind    elastic.Kind    `json:"kind"`
	Step    elastic.Step    `json:"step"`
	From    nodes.Placement `json:"from,omitempty"`
	Target  nodes.Placement `json:"target,omitempty"`
	Cause   reason.Value    `json:"cause"`
	Outcome elastic.Outcome `json:"outcome"`
	Why     reason.Value    `json:"why"` // of the outcome
	Closed  time.Time       `json:"closed"`
	Times   Times           `json:"times"`
}

// Times are the moments of a move; zero = not reached.
type Times struct {
	Asked    time.Time `json:"asked,omitzero"`
	Saved    time.Time `json:"saved,omitzero"`
	Pending  time.Time `json:"pending,omitzero"`
	Released time.Time `json:"released,omitzero"`
}

// MoveOf is the record of a move that was closed.
func MoveOf(in elastic.Intent, how elastic.Outcome, why reason.Reason, at time.Time) Move {
	return Move{Kind: in.Kind, Step: in.Step, From: in.From, Target: in.Target, Cause: reason.Value{Reason: in.Cause}, Outcome: how,
		Why: reason.Value{Reason: why}, Closed: at, Times: Times{Asked: in.AskedAt, Saved: in.SavedAt, Pending: in.PendingAt, Released: in.ReleasedAt}}
}

// Cost is what a move cost, in seconds: the save from the request, the stop from there until the job
// waits, the wait until it is released, and the start until the move was closed. A part whose beginning
// or end is not known is 0.
func (m Move) Cost() (save, stop, wait, start float64) {
	between := func(from, to time.Time) float64 {
		if from.IsZero() || to.IsZero() {
			return 0
		}
		return max(0, to.Sub(from).Seconds())
	}
	return between(m.Times.Asked, m.Times.Saved), between(m.Times.Saved, m.Times.Pending), between(m.Times.Pending, m.Times.Released), between(m.Times.Released, m.Closed)
}

// Sample is the state of something at one time. It stands for Seconds from then on. Body is a Cluster or a
// Division as JSON.
type Sample struct {
	Kind    Kind
	At      time.Time
	Seconds float64
	Body    []byte
}

// Cluster is the state of the cluster.
type Cluster struct {
	Running int    `json:"running"`
	Waiting int    `json:"waiting"`
	Moves   int    `json:"moves,omitempty"`
	Blind   bool   `json:"blind,omitempty"`
	Nodes   []Node `json:"nodes"`
}

// Node is the state of a node.
type Node struct {
	Name    string `json:"n"`
	GPUs    int    `json:"g"`
	Used    int    `json:"u,omitempty"`
	Elastic int    `json:"e,omitempty"` // of Used, by sluice's jobs
	Free    int    `json:"f,omitempty"`
	State   string `json:"s,omitempty"` // why it is not usable; "" = it is
}

// Division is how the GPUs were divided by shares.
type Division struct {
	GPUs  int    `json:"gpus"`
	Lines []Line `json:"lines"`
}

// Line is an account, or a user of an account.
type Line struct {
	Account  string `json:"a"`
	User     string `json:"u,omitempty"`
	Deserved int    `json:"d,omitempty"`
	Used     int    `json:"g,omitempty"`
	Wanted   int    `json:"w,omitempty"`
}

// Query selects entries: of a kind, in [From, To), after the position (AfterAt, AfterID).
type Query struct {
	Kind     Kind
	From, To time.Time
	Job      elastic.JobID // 0 = all
	AfterAt  time.Time     // zero = from From
	AfterID  int64
	Most     int
}
