package wire

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// Order is a kind of Change.
type Order string

// The orders a user may give about a job.
const (
	Pin     Order = "pin"     // keep the job at exactly GPUs
	Unpin   Order = "unpin"   // sluice decides the size again
	Hold    Order = "hold"    // do not start the job (again) until released
	Release Order = "release" // end a hold
	Save    Order = "save"    // save now, once, and train on
	Requeue Order = "requeue" // save now, stop, and wait again
	// NewDeadline changes the deadline; its answer is a Judgement.
	NewDeadline Order = "deadline"
)

// Once reports whether the order is carried out once, rather than kept as a setting.
func (o Order) Once() bool { return o == Save || o == Requeue }

// Change is one order about one job.
type Change struct {
	Order Order `json:"order"`
	GPUs  int   `json:"gpus,omitempty"` // with Pin only: at least 1
	// Incarnation, unless 0, is the incarnation of the run that gives the order. An order of a
	// run that was replaced, as of the last report, is refused.
	Incarnation int `json:"incarnation,omitempty"`
	// Deadline and Soft, with NewDeadline only: when the job should have ended, in whole seconds, and
	// whether it runs as best effort if it cannot. A zero Deadline takes the deadline away.
	Deadline time.Time `json:"deadline,omitzero"`
	Soft     bool      `json:"deadline_soft,omitempty"`
}

// Judgement is what the daemon said about a job's new deadline at once.
type Judgement struct {
	JobID    int64  `json:"job_id"`
	Policy   string `json:"policy"`
	Promises bool   `json:"policy_promises_deadlines,omitempty"` // the policy admits jobs with deadlines
	// Due is as in Job; "" = not judged yet: no cycle has seen the job, or the policy admits none.
	Due      string    `json:"due,omitempty"`
	Promised bool      `json:"deadline_promised,omitempty"` // it is admitted
	Ends     time.Time `json:"ends,omitzero"`               // its expected end, or the earliest possible one
	Deadline time.Time `json:"deadline,omitzero"`
	Soft     bool      `json:"deadline_soft,omitempty"`
	Text     string    `json:"text"` // the same for people
}

// Validate reports what is wrong with the change alone, without regard to the job.
func (c Change) Validate() error {
	if c.Incarnation < 0 {
		return fmt.Errorf("incarnation %d: want at least 1, or 0 for whichever", c.Incarnation)
	}
	if c.Order != NewDeadline && (!c.Deadline.IsZero() || c.Soft) {
		return fmt.Errorf("order %q takes no deadline", c.Order)
	}
	switch c.Order {
	case NewDeadline:
		return c.validDeadline()
	case Pin:
		if c.GPUs < 1 || c.GPUs > maxGPUs {
			return fmt.Errorf("pin to %d GPUs: want 1 to %d", c.GPUs, maxGPUs)
		}
		return nil
	case Unpin, Hold, Release, Save, Requeue:
		if c.GPUs != 0 {
			return fmt.Errorf("order %q takes no GPUs", c.Order)
		}
		return nil
	}
	return fmt.Errorf("unknown order %q: want pin, unpin, hold, release, save, requeue or deadline", c.Order)
}

func (c Change) validDeadline() error {
	switch {
	case c.GPUs != 0:
		return fmt.Errorf("order %q takes no GPUs", c.Order)
	case c.Deadline.IsZero() && c.Soft:
		return fmt.Errorf("a soft deadline needs a time")
	case !c.Deadline.IsZero() && (c.Deadline.Unix() < 1 || c.Deadline.Year() > 2199 || c.Deadline.Nanosecond() != 0):
		return fmt.Errorf("deadline %s: want whole seconds, before the year 2200", c.Deadline.Format(time.RFC3339))
	}
	return nil
}

// maxGPUs is the largest size the job's comment can carry.
const maxGPUs = 1_000_000

// Apply returns the directive after the change.
func (c Change) Apply(d elastic.Directive) elastic.Directive {
	switch c.Order {
	case Pin:
		d.Pin = c.GPUs
	case Unpin:
		d.Pin = 0
	case Hold:
		d.Hold = true
	case Release:
		d.Hold = false
	}
	return d
}

// String returns the change for people: "pin to 4 GPUs".
func (c Change) String() string {
	switch {
	case c.Order == Pin:
		return fmt.Sprintf("pin to %d GPUs", c.GPUs)
	case c.Order == NewDeadline && c.Deadline.IsZero():
		return "deadline none"
	case c.Order == NewDeadline:
		return "deadline " + c.Deadline.UTC().Format(time.RFC3339) + map[bool]string{true: " soft"}[c.Soft]
	}
	return string(c.Order)
}
