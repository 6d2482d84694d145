package forecast

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
)

// Change is a change of one job that is tried. Its other fields are used if they are set.
// Pin is in GPUs, 0 = unchanged. Deadline is absolute; Soft belongs to it. NoDeadline removes the one
// it has. End wins over all others.
type Change struct {
	Job        elastic.JobID
	Pin        int
	Deadline   time.Time
	Soft       bool
	NoDeadline bool
	Hold       bool // it is not started (again)
	End        bool // it ends now
}

// In returns the snapshot with the change, as if it had been made before the snapshot. A job that the
// snapshot does not have is left out.
// The given snapshot is not changed. An admission survives a later deadline, not an earlier one: that
// has to be admitted again.
func (c Change) In(s elastic.Snapshot) elastic.Snapshot {
	i := slices.IndexFunc(s.Jobs, func(j elastic.Job) bool { return j.ID == c.Job })
	if i < 0 {
		return s
	}
	s.Jobs = slices.Clone(s.Jobs)
	j := &s.Jobs[i]
	if c.Pin > 0 {
		j.Directive.Pin, j.Asked = c.Pin, c.Pin
		if j.Grown.Min > 0 { // a pin is what its user wants, shown or not
			j.Spec, j.Grown = j.Grown, elastic.Spec{}
		}
	}
	if c.NoDeadline || !c.Deadline.IsZero() {
		j.Promised = j.Promised && !c.NoDeadline && !c.Deadline.Before(j.Spec.Deadline)
		j.Spec.Deadline, j.Spec.Soft = c.Deadline, c.Soft
		if j.Grown.Min > 0 {
			j.Grown.Deadline, j.Grown.Soft = c.Deadline, c.Soft
		}
	}
	j.Directive.Hold = j.Directive.Hold || c.Hold
	if c.End {
		s.Nodes = nodes.Without(s.Nodes, j.Load(j.Place))
		s.Jobs = slices.Delete(s.Jobs, i, i+1)
		s.Intents = slices.DeleteFunc(slices.Clone(s.Intents), func(in elastic.Intent) bool { return in.Job == c.Job })
	}
	return s
}
