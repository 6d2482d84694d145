package event

import (
	"reflect"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/nodes"
)

// Event is one thing that happened, for the log and for checkers. EVENTS.md lists them.
type Event struct {
	At   time.Time
	Job  elastic.JobID // 0 when it concerns no single job
	Kind string        // one word, a name of Kinds
	Text string        // for people; what programs need is in Fields
	Fields
	Err error // of an action that failed; nil else
}

// Fields are what an event says to programs. Names and meanings stay; new ones may come.
// What is zero is not written.
type Fields struct {
	Move        elastic.Kind    `json:"move,omitempty"`
	Target      string          `json:"target,omitempty"` // "gpu1:4+gpu2:2"; empty: nowhere
	Incarnation int             `json:"incarnation,omitempty"`
	Step        int             `json:"step,omitempty"` // of the move: 1 to 7
	Checkpoint  string          `json:"checkpoint,omitempty"`
	Token       string          `json:"token,omitempty"`
	Act         string          `json:"act,omitempty"`
	Outcome     elastic.Outcome `json:"outcome,omitempty"`
	On          string          `json:"on,omitempty"` // like Target
	State       string          `json:"state,omitempty"`
	RunFields
	Problem string `json:"problem,omitempty"`
}

// RunFields are the fields of events about a run.
type RunFields struct {
	Run    *int     `json:"run,omitempty"`    // from 0
	Began  string   `json:"began,omitempty"`  // RFC 3339, by the clock of its node
	Passed []string `json:"passed,omitempty"` // names of checkpoints
}

// List are the fields that are set, each name followed by its value.
func (f Fields) List() []any {
	var list []any
	v := reflect.ValueOf(f)
	for _, field := range reflect.VisibleFields(v.Type()) {
		if value := v.FieldByIndex(field.Index); !field.Anonymous && !value.IsZero() {
			list = append(list, fieldName(field), value.Interface())
		}
	}
	return list
}

// FieldNames are the names of all fields.
func FieldNames() []string {
	var names []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Fields]()) {
		if !field.Anonymous {
			names = append(names, fieldName(field))
		}
	}
	return names
}

func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// The values of Fields.Problem.
const (
	ProblemUntagged   = "untagged"   // the job's user took sluice's comment away
	ProblemUnreadable = "unreadable" // of a job that is not looked after: its comment cannot be read
)

// Kind is a name of an event, for EVENTS.md.
type Kind struct {
	Name, Fields, Means string
}

// Kinds are the events of sluiced's log that have a name: the engine's own, then those
// of the daemon around it. They are a promise to those who read logs.
var Kinds = []Kind{
	{"adopted", "`token`", "sluiced looks after the job from now on, or again; its token where it is new"},
	{"taken", "`move`, `target`, `incarnation`, `step`, `checkpoint`", "sluiced has started and goes on with a move that its journal has open, after this step"},
	{"open", "`move`, `target`, `incarnation`", "a move is begun, and stands in the journal"},
	{"act", "`act`; of write `incarnation`, `target`", "an effect follows: `ask`, `withdraw`, `requeue`, `revive`, `clear`, `hold`, `release`, `write`, `annotate` or `pass`"},
	{"step", "`step`, `checkpoint`", "a step of the move is done, and stands in the journal; `checkpoint` where one was verified"},
	{"close", "`outcome`, `on`, `state`", "the move has ended: `done`, `fellback`, `abandoned` or `ended`; where the job then runs, or Slurm's state of a job that has ended (`gone`: not known)"},
	{"run", "`run`, `incarnation`, `began`, `checkpoint`, `passed`", "a run has begun: Slurm's count of restarts, the time on its node, what it resumed from, what it found bad"},
	{"ended", "`state`", "the job has ended, in this state of Slurm's"},
	{"stranded", "`run`", "a node lost the run and Slurm has not noticed: it is requeued next"},
	{"problem", "`problem`", "something is not as it should be; `untagged`: the job's comment was taken away; `unreadable`: the comment of a job that is not looked after cannot be read"},
	{"blind", "", "Slurm cannot be seen; nothing is changed meanwhile"},
	{"sighted", "", "Slurm answers again"},
	{"health", "", "a node has unfit GPUs, or is used again"},
	{"starts", "`uid`, `user`, `config`, `policy`", "sluiced starts, under this account; `user`: for one user"},
	{"stops", "`error`", "sluiced stops"},
	{"emptied", "", "the store is not as the last sluiced left it: an empty one, or an older copy"},
	{"order", "`uid`, `order`, `result`", "a user directed a job; `result` where that failed"},
	{"trust", "`node`, `uid`, `result`", "an operator said that a node's GPUs are fit"},
	{"trouble", "`trouble`", "something that an administrator has to mend, by its code"},
	{"mended", "`trouble`", "it is mended"},
	{"reloaded", "`config`, `policy`", "the configuration was read again"},
	{"unreloaded", "`error`", "it could not be; the old one, or a part of it, stays"},
	{"undecided", "`error`", "a cycle made no decisions"},
	{"unstored", "`error`", "learned speeds could not be stored; it is tried again"},
	{"stored", "", "they are stored again"},
	{"unpruned", "`error`", "history past its time could not be removed from the store"},
	{"listens", "`address`", "requests are taken over TCP"},
	{"beside", "`cluster`", "with `--user`: the cluster has a sluiced as well"},
	{"api", "`error`", "the API's server could not serve a connection"},
	{"denied", "`uid`, `user`, `verb`", "a request was refused"},
}

// The values of Fields.Act.
const (
	actAsk      = "ask"
	actWithdraw = "withdraw"
	actRequeue  = "requeue"
	actRevive   = "revive"
	actClear    = "clear"
	actHold     = "hold"
	actRelease  = "release"
	actWrite    = "write"
	actAnnotate = "annotate"
	actPass     = "pass"
)

// OfAct are what an action says to programs.
func OfAct(a elastic.Action) Fields {
	switch a := a.(type) {
	case elastic.AskCheckpoint:
		return Fields{Act: actAsk}
	case elastic.WithdrawRequest:
		return Fields{Act: actWithdraw}
	case elastic.RequeueHold:
		return Fields{Act: actRequeue}
	case elastic.Revive:
		return Fields{Act: actRevive}
	case elastic.Clear:
		return Fields{Act: actClear}
	case elastic.HoldPending:
		return Fields{Act: actHold}
	case elastic.Release:
		return Fields{Act: actRelease}
	case elastic.Write:
		return Fields{Act: actWrite, Incarnation: a.To, Target: placed(a.Target)}
	case elastic.Annotate:
		return Fields{Act: actAnnotate}
	case elastic.RequestPass:
		return Fields{Act: actPass}
	}
	return Fields{}
}

// OfMove are what the beginning of a move says to programs.
func OfMove(in elastic.Intent) Fields {
	return Fields{Move: in.Kind, Target: placed(in.Target), Incarnation: in.To}
}

// OfStep are what a step says to programs.
func OfStep(next resize.Next) Fields {
	f := Fields{Step: int(next.Intent.Step)}
	if r, ok := next.Why.(reason.CheckpointVerified); ok {
		f.Checkpoint = r.Checkpoint
	}
	return f
}

// OfClose are what the end of a move says to programs.
func OfClose(next resize.Next) Fields {
	f := Fields{Outcome: next.Close}
	switch r := next.Why.(type) {
	case reason.Runs:
		f.On = placed(r.On)
	case reason.JobEnded:
		f.State = r.State
	}
	return f
}

// placed is a placement in a field; nowhere is empty.
func placed(p nodes.Placement) string {
	if p.GPUs() == 0 {
		return ""
	}
	return p.String()
}

// OfTaken are what a move that is taken up says to programs.
func OfTaken(in elastic.Intent) Fields {
	f := OfMove(in)
	f.Step, f.Checkpoint = int(in.Step), in.Checkpoint
	return f
}
