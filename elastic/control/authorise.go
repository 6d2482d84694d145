package control

import "slices"

// verb is something a caller can ask for.
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
)

// role is what a caller is to a job. Where no job is concerned, nobody is owner.
type role int

// The roles, in order of precedence.
const (
	root role = iota
	operator
	owner
	other
)

// answer is an entry of the table.
type answer int

// The answers.
const (
	never answer = iota
	always
	public // unless the site keeps jobs private
)

// rights is the one table of who may do what. On report and plan, the rows of
// single jobs are shown to whom explain would be.
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
	verbSpeed:   {always, always, always, public}, // the owner is who the samples are of
}

// may reports whether the role may use the verb. Unknown verbs are nobody's.
func may(v verb, r role, private bool) bool {
	row, ok := rights[v]
	if !ok || r < root || r > other {
		return false
	}
	return row[r] == always || row[r] == public && !private
}

// role returns what the caller is to a job of the user uid.
func (o Options) role(c Caller, uid uint32) role {
	if r := o.standing(c); r != other {
		return r
	}
	if c.UID == uid {
		return owner
	}
	return other
}

// standing returns what the caller is where no job of his is concerned.
func (o Options) standing(c Caller) role {
	switch {
	case c.UID == 0:
		return root
	case c.UID == o.UID || slices.Contains(o.Operators, c.Name):
		return operator
	}
	return other
}

// admits reports whether the caller may speak to this daemon at all: in user
// mode only the user himself and root.
func (o Options) admits(c Caller) bool {
	return !o.UserMode || c.UID == o.UID || c.UID == 0
}
