package control

import "slices"

// verb is a kind of request.
type verb string

// The verbs.
const (
	verbStatus  verb = "status"
	verbReport  verb = "report"
	verbExplain verb = "explain"
	verbHistory verb = "history"
	verbPlan    verb = "plan"
	verbDirect  verb = "direct"
	verbEvent   verb = "event"
	verbTrust   verb = "trust"
	verbSpeed   verb = "speed"
	verbShares  verb = "shares"
	verbUsage   verb = "usage"
	verbEvents  verb = "events"
	verbPast    verb = "past"
	verbExpect  verb = "forecast"
	verbWhatIf  verb = "whatif"
	verbSweeps  verb = "sweeps"
	verbSweep   verb = "sweep"
)

// role is the caller's relation to a job. For requests without a job, no caller is an owner.
type role int

// The roles, in order of precedence.
const (
	root role = iota
	operator
	owner
	other
)

// answer is an entry of the table of rights.
type answer int

// The answers.
const (
	never answer = iota
	always
	public // unless the site keeps jobs private
)

// rights is the single table of permissions. Report and plan show a job's row to the callers
// that may explain the job, shares a user to those that may explain that user's jobs; usage adds up
// the jobs that the caller may explain, sweeps lists those whose lanes the caller may explain, past
// lists and forecast expects them, and events has what is about them. A role's rights MUST include
// those of every later role, since a caller has only its first one: an operator's own jobs are judged by the
// operator's rights.
var rights = map[verb][4]answer{
	//           root    operator owner   other
	verbStatus:  {always, always, always, always},
	verbReport:  {always, always, always, always},
	verbExplain: {always, always, always, public},
	verbHistory: {always, always, always, public},
	verbPlan:    {always, always, always, always},
	verbDirect:  {always, always, always, never},
	verbEvent:   {always, always, always, always},
	verbTrust:   {always, always, never, never},
	verbShares:  {always, always, always, always},
	verbUsage:   {always, always, always, always},
	verbEvents:  {always, always, always, always},
	verbPast:    {always, always, always, always},
	verbExpect:  {always, always, always, always},
	verbSweeps:  {always, always, always, always},
	verbSweep:   {always, always, always, never},  // its parameters are its user's own, also where jobs are public
	verbWhatIf:  {always, always, always, public}, // the owner is the user of the job that is changed
	verbSpeed:   {always, always, always, public}, // the owner is the user that the samples are of
}

// may reports whether the role may use the verb. Unknown verbs are always denied.
func may(v verb, r role, private bool) bool {
	row, ok := rights[v]
	if !ok || r < root || r > other {
		return false
	}
	return row[r] == always || row[r] == public && !private
}

// role returns the caller's relation to a job of the user uid. c.Name MUST be set: operators are
// listed by name.
func (o Options) role(c Caller, uid uint32) role {
	if r := o.standing(c); r != other {
		return r
	}
	if c.UID == uid {
		return owner
	}
	return other
}

// standing returns the caller's role in a request that is not about a job.
func (o Options) standing(c Caller) role {
	switch {
	case c.Via != "" && !o.WebOperators: // nobody's rights reach further there than those of a user
		return other
	case c.UID == 0:
		return root
	case c.UID == o.UID || slices.Contains(o.Operators, c.Name):
		return operator
	}
	return other
}

// admits reports whether the caller may talk to this daemon at all: in user mode, only the user
// that runs it and root.
func (o Options) admits(c Caller) bool {
	return !o.UserMode || c.UID == o.UID || c.UID == 0
}
