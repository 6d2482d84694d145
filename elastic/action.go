package elastic

import (
	"fmt"
	"strings"
)

// About implements Action.
func (a AskCheckpoint) About() JobID { return a.Job }

// About implements Action.
func (a WithdrawRequest) About() JobID { return a.Job }

// About implements Action.
func (a RequeueHold) About() JobID { return a.Job }

// About implements Action.
func (a Revive) About() JobID { return a.Job }

// About implements Action.
func (a Clear) About() JobID { return a.Job }

// About implements Action.
func (a HoldPending) About() JobID { return a.Job }

// About implements Action.
func (a Write) About() JobID { return a.Job }

// About implements Action.
func (a Release) About() JobID { return a.Job }

// About implements Action.
func (a RequestPass) About() JobID { return a.Job }

// About implements Action.
func (a Annotate) About() JobID { return a.Job }

// String implements Action: the action as a line of the event log has it.
func (a AskCheckpoint) String() string {
	next := a.Target.String()
	if len(a.Target) == 0 {
		next = "to wait"
	}
	return fmt.Sprintf("ask job %d for checkpoint %s, next %s", a.Job, a.Request, next)
}

// String implements Action.
func (a WithdrawRequest) String() string { return fmt.Sprintf("withdraw the request to job %d", a.Job) }

// String implements Action.
func (a RequeueHold) String() string { return fmt.Sprintf("requeue and hold job %d", a.Job) }

// String implements Action.
func (a Revive) String() string { return fmt.Sprintf("bring job %d back, held", a.Job) }

// String implements Action.
func (a Clear) String() string { return fmt.Sprintf("clear job %d of its last run", a.Job) }

// String implements Action.
func (a HoldPending) String() string { return fmt.Sprintf("hold job %d", a.Job) }

// String implements Action.
func (a Release) String() string { return fmt.Sprintf("release job %d", a.Job) }

// String implements Action.
func (a RequestPass) String() string {
	return fmt.Sprintf("ask for a scheduling pass for job %d", a.Job)
}

// String implements Action.
func (a Write) String() string {
	where := " on " + a.Target.String()
	if a.AnyNodes {
		where = fmt.Sprintf(" %d GPUs on any nodes", a.Target.GPUs())
	}
	return strings.TrimSpace(fmt.Sprintf("write incarnation %d%s to job %d", a.To, where, a.Job))
}

// String implements Action.
func (a Annotate) String() string {
	return fmt.Sprintf("write pin=%d hold=%t into the comment of job %d", a.Directive.Pin, a.Directive.Hold, a.Job)
}
