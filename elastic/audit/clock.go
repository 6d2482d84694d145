package audit

import (
	"strings"
	"time"
)

// bootedBetween reports whether slurmctld was started in the span. It may then have restored an
// older state of a job.
func (c *check) bootedBetween(from, to time.Time) bool {
	for _, r := range c.Controller {
		if r.Kind == Booted && r.At.After(from) && !r.At.After(to) {
			return true
		}
	}
	return false
}

// horizon returns the time until which sluiced is known to have run and seen Slurm: the last
// event before it stopped, was killed or lost sight of Slurm. Zero if it never ran.
func (c *check) horizon() time.Time {
	var last time.Time
	blind := false
	for _, e := range c.Events {
		switch e.Kind {
		case "blind":
			blind = true
		case "sighted", "starts":
			blind = false
		}
		if !blind && !e.At.IsZero() {
			last = e.At
		}
	}
	return last
}

func cmpText(a, b string) int { return strings.Compare(a, b) }
