package elastic

import (
	"fmt"
	"strings"
	"time"
)

// About implements Action.
func (a AskCheckpoint) About() JobID { return a.Job }

// About implements Action.
func (a WithdrawRequest) About() JobID { return a.Job }

// About implements Action.
func (a Requeue) About() JobID { return a.Job }

// About implements Action.
func (a RequeueFailed) About() JobID { return a.Job }

// About implements Action.
func (a RequeueLingering) About() JobID { return a.Job }

// About implements Action.
func (a CancelLane) About() JobID { return a.Job }

// About implements Action.
func (a Defer) About() JobID { return a.Job }

// About implements Action.
func (a Write) About() JobID { return a.Job }

// About implements Action.
func (a LetStart) About() JobID { return a.Job }

// About implements Action.
func (a Hold) About() JobID { return a.Job }

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
func (a Requeue) String() string { return fmt.Sprintf("requeue job %d", a.Job) }

// String implements Action.
func (a RequeueFailed) String() string { return fmt.Sprintf("requeue the failed job %d", a.Job) }

// String implements Action.
func (a RequeueLingering) String() string {
	return fmt.Sprintf("clear job %d of its last run", a.Job)
}

// String implements Action.
func (a CancelLane) String() string {
	return fmt.Sprintf("cancel job %d, a lane of a sweep that is over", a.Job)
}

// String implements Action.
func (a Defer) String() string {
	return fmt.Sprintf("defer job %d until %s", a.Job, a.Until.UTC().Format(time.RFC3339))
}

// String implements Action.
func (a LetStart) String() string {
	if a.First {
		return fmt.Sprintf("start job %d for the first time", a.Job)
	}
	return fmt.Sprintf("start job %d", a.Job)
}

// String implements Action.
func (a Hold) String() string { return fmt.Sprintf("hold job %d", a.Job) }

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
