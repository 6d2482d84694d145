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

// Event is one entry of the log. EVENTS.md lists all kinds. An Event is a value: a sink may keep it,
// but MUST NOT change the slice in Passed or what Run points to, which readers share.
type Event struct {
	// At is the time that the caller passed. In a cycle that is its beginning, so that all events of
	// a cycle have the same At: their order is the order of the calls.
	At   time.Time
	Job  elastic.JobID // 0 when it concerns no single job
	Kind string        // a name in Kinds
	Text string        // for people; programs use Fields
	Fields
	Err error // of an action that failed; nil else
}

// Fields are an event's data for programs. Names and meanings do not change; fields may be added.
// Zero values are not written.
type Fields struct {
	Move        elastic.Kind `json:"move,omitempty"`
	Target      string       `json:"target,omitempty"` // "gpu1:4+gpu2:2"; "" = no GPUs
	Incarnation int          `json:"incarnation,omitempty"`
	Step        int          `json:"step,omitempty"` // of the move: 1 to 7
	Checkpoint  string       `json:"checkpoint,omitempty"`
	AdoptFields
	Act     string          `json:"act,omitempty"`
	Outcome elastic.Outcome `json:"outcome,omitempty"`
	On      string          `json:"on,omitempty"` // like Target
	State   string          `json:"state,omitempty"`
	RunFields
	Problem string `json:"problem,omitempty"`
}

// AdoptFields identify a job and its users, or the service account.
type AdoptFields struct {
	Token    string `json:"token,omitempty"`
	Owner    string `json:"owner,omitempty"`     // of a confined job: the user that it counts for
	Account  string `json:"account,omitempty"`   // the service account
	SlurmUID uint32 `json:"slurm_uid,omitempty"` // uid of a confined job in Slurm, or of the service account
}

// RunFields are the fields of events about a run.
type RunFields struct {
	Run    *int     `json:"run,omitempty"`    // from 0
	Began  string   `json:"began,omitempty"`  // RFC 3339, by the clock of its node
	Passed []string `json:"passed,omitempty"` // names of checkpoints that were skipped as invalid
}

// List returns the fields that are set, each name followed by its value. The order is that of the
// declaration, with the fields of an embedded struct in its place. It is the form that a
// structured logger takes. Run is a pointer because run 0 is a run: only nil is left out.
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

// FieldNames returns the names of all fields. They are in the order of List. The test of EVENTS.md
// uses them: a new field MUST get a meaning there.
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
	ProblemUntagged   = "untagged"   // the job's user removed sluice's comment
	ProblemShares     = "shares"     // the tree of shares cannot be read; the last one stands
	ProblemUnreadable = "unreadable" // of a job that is not managed: its comment cannot be parsed
	ProblemFolder     = "folder"     // of a job that is not managed: the folder of its token cannot be read, or is another user's
	ProblemOwner      = "owner"      // of a confined job that is not managed: its owner is not known yet; without a job: the service account is not known
	ProblemFor        = "for"        // a job names an owner, and is not the service account's: ignored
)

// Kind is a name of an event, for EVENTS.md. Fields is Markdown; it names the fields that may be set,
// which are those of Fields or, of the daemon's own events, of its logger.
type Kind struct {
	Name, Fields, Means string
}

// Kinds are the named events of sluiced's log: first the engine's, then the daemon's. They are an
// interface for readers of logs. An engine's event MUST be logged with its name as a literal, as in
// Tell(now, id, "open", text): a test finds names in the source, and fails for one that is not here
// or that no code logs.
var Kinds = []Kind{
	{"adopted", "`token`, `owner`, `slurm_uid`", "sluiced manages the job from now on, or again; `token` if it is new; `owner` and `slurm_uid` if it is a confined job: the user that it counts for, and its uid in Slurm"},
	{"taken", "`move`, `target`, `incarnation`, `step`, `checkpoint`", "sluiced has started and continues a move that is open in its journal, after this step"},
	{"open", "`move`, `target`, `incarnation`", "a move has begun and is in the journal"},
	{"act", "`act`; of write `incarnation`, `target`", "an effect follows: `ask`, `withdraw`, `requeue`, `revive`, `clear`, `cancel`, `defer`, `start`, `hold`, `release`, `write`, `annotate` or `pass`"},
	{"step", "`step`, `checkpoint`", "a step of the move is done and is in the journal; `checkpoint` if one was verified"},
	{"close", "`outcome`, `on`, `state`", "the move has ended: `done`, `fellback`, `abandoned` or `ended`; `on`: where the job then runs; `state`: Slurm's state of a job that has ended (`gone`: unknown)"},
	{"run", "`run`, `incarnation`, `began`, `checkpoint`, `passed`", "a run has begun: Slurm's count of restarts, the time on its node, the checkpoint it resumed from, those it skipped as invalid"},
	{"ended", "`state`", "the job has ended, with this Slurm state"},
	{"stranded", "`run`", "a node lost the run and Slurm has not noticed: the job is requeued next"},
	{"problem", "`problem`", "an error or a warning; `untagged`: the job's comment was removed; `unreadable`: the comment of a job that is not managed cannot be parsed; `folder`: the folder of its token cannot be read, or belongs to another user; `owner`: it is not known yet which user a confined job belongs to, or, without a job, there is no service account of that name; `for`: a job that is not of the service account names an owner, which is ignored"},
	{"confined", "`account`, `slurm_uid`", "jobs of this service account, which has this uid, belong to the users that they name"},
	{"blind", "", "Slurm does not answer, or not plausibly; nothing is changed meanwhile"},
	{"sighted", "", "Slurm answers again"},
	{"shares", "", "the tree of accounts and shares is read again, after a `problem` of the name `shares`"},
	{"health", "", "a node has unfit GPUs, or is used again"},
	{"starts", "`uid`, `user`, `config`, `policy`", "sluiced starts, under this account; `user`: for one user"},
	{"stops", "`error`", "sluiced stops"},
	{"emptied", "", "the store is not the one that the last sluiced left: it is empty, or an older copy"},
	{"order", "`uid`, `order`, `user`, `via`, `result`", "a user's request about a job; `result` if it failed; `via`: the web program's account if the user gave it there, and then `user`"},
	{"trust", "`node`, `uid`, `user`, `via`, `result`", "an operator said that a node's GPUs are fit"},
	{"trouble", "`trouble`", "a condition that an administrator has to repair, by its code"},
	{"mended", "`trouble`", "it is repaired"},
	{"sweep", "`sweep`, `error`", "a sweep's files cannot be read or written: its lanes go on with the trials they have; without `error`: they can again"},
	{"reloaded", "`config`, `policy`", "the configuration was read again"},
	{"unreloaded", "`error`", "it could not be read; the old one, or a part of it, stays in force"},
	{"undecided", "`error`", "a cycle made no decisions"},
	{"unstored", "`error`", "learned speeds could not be stored; it is tried again"},
	{"stored", "", "they are stored again"},
	{"unpruned", "`error`", "history past its time could not be removed from the store"},
	{"listens", "`address`", "requests are accepted over TCP, or scrapes of metrics"},
	{"unsent", "`channel`, `error`; `more` at the end", "messages of a channel cannot be sent (exec, webhook, mail or users' webhook), or were not sent when sluiced ended"},
	{"sent", "`channel`", "messages of a channel are sent again"},
	{"beside", "`cluster`", "with `--user`: the cluster also has a system-wide sluiced"},
	{"api", "`error`", "the API's server could not serve a connection"},
	{"denied", "`uid`, `user`, `via`, `verb`", "a request was refused"},
}

// The values of Fields.Act.
const (
	// A new elastic.Action needs a value here, a case in OfAct and its word in the row "act" of
	// Kinds.
	actAsk      = "ask"
	actWithdraw = "withdraw"
	actRequeue  = "requeue"
	actRevive   = "revive"
	actClear    = "clear"
	actCancel   = "cancel"
	actDefer    = "defer"
	actStart    = "start"
	actHold     = "hold"
	actRelease  = "release"
	actWrite    = "write"
	actAnnotate = "annotate"
	actPass     = "pass"
)

// OfAct returns the fields of an action. An action that it does not know has no fields. Of the
// actions only a write has more than its name: the incarnation and the place that the next run is to
// have, from which an auditor sees that no two runs share an incarnation (I1).
func OfAct(a elastic.Action) Fields {
	switch a := a.(type) {
	case elastic.AskCheckpoint:
		return Fields{Act: actAsk}
	case elastic.WithdrawRequest:
		return Fields{Act: actWithdraw}
	case elastic.Requeue:
		return Fields{Act: actRequeue}
	case elastic.RequeueFailed:
		return Fields{Act: actRevive}
	case elastic.RequeueLingering:
		return Fields{Act: actClear}
	case elastic.CancelLane:
		return Fields{Act: actCancel}
	case elastic.Defer:
		return Fields{Act: actDefer}
	case elastic.LetStart:
		return Fields{Act: actStart}
	case elastic.Hold:
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

// OfMove returns the fields of the beginning of a move.
func OfMove(in elastic.Intent) Fields {
	return Fields{Move: in.Kind, Target: placed(in.Target), Incarnation: in.To}
}

// OfStep returns the fields of a step. Step is the last step that is done, from 1 (R1, intended) to 7
// (R7, confirmed). Checkpoint is set only by the step that verified one.
func OfStep(next resize.Next) Fields {
	f := Fields{Step: int(next.Intent.Step)}
	if r, ok := next.Why.(reason.CheckpointVerified); ok {
		f.Checkpoint = r.Checkpoint
	}
	return f
}

// OfClose returns the fields of the end of a move. On is set only if the job runs after the move,
// State only if the job has ended; so at most one of them is set.
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

// placed formats a placement for a field; "" = no GPUs.
func placed(p nodes.Placement) string {
	if p.GPUs() == 0 {
		return ""
	}
	return p.String()
}

// OfTaken returns the fields of a move that is resumed after a start of the daemon. The effect after
// Step may have happened: the daemon before logged it, and perhaps died before the journal had the
// step.
func OfTaken(in elastic.Intent) Fields {
	f := OfMove(in)
	f.Step, f.Checkpoint = int(in.Step), in.Checkpoint
	return f
}
