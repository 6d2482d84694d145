package audit

import "fmt"

// ownersOfService: I8. sluiced counts a job for another user than Slurm's only if Slurm ran it as the
// service account: that account alone is trusted to name the owners of its jobs. The account's uid is
// that of the options, else the last one that sluiced logged before. A job without a record of an end is
// judged by the uid that sluiced logged for it.
func (c *check) ownersOfService() {
	account, line := c.o.Confined, Line{}
	for _, e := range c.Events {
		switch {
		case e.Kind == "confined" && c.o.Confined == 0:
			account, line = e.SlurmUID, e.Line
		case e.Kind != "adopted" || e.Owner == "":
		case account == 0:
			c.broken("I8", e.Job, e.At, fmt.Sprintf("sluiced counts it for %s, and has logged no service account", e.Owner), e.Line)
		case e.SlurmUID != account:
			c.broken("I8", e.Job, e.At, fmt.Sprintf("sluiced counts it for %s, and it is a job of uid %d, not of the service account (uid %d)", e.Owner, e.SlurmUID, account), e.Line, line)
		default:
			if end, ended := c.endOf(e); ended && end.UID != account {
				c.broken("I8", e.Job, e.At, fmt.Sprintf("sluiced counts it for %s, and Slurm ran it as uid %d, not as the service account (uid %d)", e.Owner, end.UID, account), e.Line, end.Line)
			}
		}
	}
}

// endOf returns the first end of a run of the job after an event. Doubtful records do not count: a user
// may have written them.
func (c *check) endOf(e Event) (Completion, bool) {
	for _, r := range c.Completions {
		if r.Job == e.Job && !r.Doubtful && !r.End.Add(r.Grain).Before(e.At) {
			return r, true
		}
	}
	return Completion{}, false
}
