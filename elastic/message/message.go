package message

import "time"

// Version is that of the JSON form. Fields may be added to it.
const Version = 1

// Code is a kind of message.
type Code string

// The codes. Those up to Blind are the values of [notify] events in sluice.toml.
const (
	Start    Code = "start"    // a job runs first
	End      Code = "end"      // a job has ended, and did not fail
	Failure  Code = "failure"  // a job has failed
	Deadline Code = "deadline" // an admitted deadline: State is InDoubt or Broken
	Digest   Code = "digest"   // the resizes of a job since the last message about them
	Unfit    Code = "unfit"    // a node with unfit GPUs: State is Begins or Ends
	Blind    Code = "blind"    // Slurm does not answer: State is Begins or Ends

	// Mails in Slurm's own form, for --mail-type.
	SlurmBegan    Code = "slurm_began"
	SlurmRequeued Code = "slurm_requeued"
)

// Values of Message.State.
const (
	InDoubt = "in_doubt"
	Broken  = "broken"
	Begins  = "begins"
	Ends    = "ends"
)

// Message is one message. Zero values are left out of its JSON form.
type Message struct {
	Version int `json:"version"`
	// ID is the same for each attempt to send it, and for no other message.
	ID   string    `json:"id"`
	Code Code      `json:"code"`
	At   time.Time `json:"at"`
	Job  *Job      `json:"job,omitempty"` // nil = it is about no single job
	// Subject and Text are for people; their wording may change.
	Subject string `json:"subject"`
	Text    string `json:"text"`

	State   string  `json:"state,omitempty"`
	GPUs    int     `json:"gpus,omitempty"`           // that the job has now
	On      string  `json:"on,omitempty"`             // its nodes and GPUs, such as gpu1:4+gpu2:2
	Waited  float64 `json:"waited_seconds,omitempty"` // from submission to its first run
	Ran     float64 `json:"ran_seconds,omitempty"`    // from its first run to its end; of SlurmRequeued, of its last run
	How     string  `json:"how,omitempty"`            // a job ended: completed, failed, killed, cancelled and so on
	Exit    int     `json:"exit_code,omitempty"`
	Ending  string  `json:"ending,omitempty"` // how it ended, for people
	Due     string  `json:"deadline,omitempty"`
	Ends    string  `json:"expected_end,omitempty"` // RFC 3339, as Due
	Moves   []Move  `json:"moves,omitempty"`        // the last ones, at most MostMoves
	Resizes int     `json:"resizes,omitempty"`      // number of moves, those beyond the list included
	Node    string  `json:"node,omitempty"`
	Why     string  `json:"why,omitempty"`
	Lasted  float64 `json:"lasted_seconds,omitempty"`
}

// Job identifies a job and its user.
type Job struct {
	ID        int64  `json:"id"`
	Name      string `json:"name"`
	User      string `json:"user"`
	UID       uint32 `json:"uid"`
	Account   string `json:"account,omitempty"`
	Partition string `json:"partition"`
	Restarts  int    `json:"restarts,omitempty"` // Slurm's count
}

// Move is one resize of a job.
type Move struct {
	At   time.Time `json:"at"`
	From int       `json:"from"` // GPUs; 0 = none
	To   int       `json:"to"`
}

// MostMoves bounds Message.Moves.
const MostMoves = 50
