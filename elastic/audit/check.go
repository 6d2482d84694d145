package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Options of a check. The zero value is usable.
type Options struct {
	// Patience is how long sluiced may take to notice something; 0 = 1 min. It MUST be longer
	// than two cycles of sluiced.
	Patience time.Duration
	// Window is how long an effect may follow its announcement; 0 = 2 min. A command that waits
	// for an unreachable slurmctld is ended by its deadline long before; blocked files may take
	// longer.
	Window time.Duration
	// Open is how long a move may stay open while Slurm answers; 0 = 30 min.
	Open time.Duration
	// UID is the account of sluiced, used where its log does not say; 0 = unknown.
	UID int64
	// Confined is the uid of the service account; 0 = as sluiced's log says.
	Confined int64
}

// Check derives the invariants I1 to I5, and of I8 the part about owners, from the evidence alone. It is
// pure: the same evidence gives the same report.
func Check(e Evidence, o Options) Report {
	o.Patience = cmp.Or(o.Patience, time.Minute)
	o.Open = cmp.Or(o.Open, 30*time.Minute)
	o.Window = cmp.Or(o.Window, 2*time.Minute)
	c := &check{Evidence: e, o: o, ours: map[int64]Event{}, unclear: map[int64]bool{}}
	c.report.Notes = slices.Clone(e.Notes)
	c.byJob()
	c.survey()
	c.vouch()
	c.oneRun()
	c.oneToken()
	c.oneIncarnation()
	c.nothingForgotten()
	c.noLostProgress()
	c.noOversubscription()
	c.placesKnown()
	c.intentFirst()
	c.ownersOfService()
	slices.SortStableFunc(c.report.Violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Invariant, b.Invariant), a.At.Compare(b.At), cmp.Compare(a.Job, b.Job))
	})
	return c.report
}

// check is the state of one audit.
type check struct {
	Evidence
	o         Options
	report    Report
	ours      map[int64]Event // jobs that sluiced adopted, each with the first event that says so
	uid       int64           // of sluiced; -1 = unknown
	traced    bool            // slurmctld's log says when GPUs were freed
	cleans    bool            // it says when a run's nodes were cleaned up
	killsTold bool            // it says which jobs were cancelled
	// unclear are the jobs whose end cannot be determined.
	unclear map[int64]bool
	// said and did are the events and records by job, in order; see byJob.
	said map[int64][]Event
	did  map[int64][]Record
}

// byJob sorts events and records by job, once: a large campaign has hundreds of thousands.
func (c *check) byJob() {
	c.said, c.did = map[int64][]Event{}, map[int64][]Record{}
	for _, e := range c.Events {
		c.said[e.Job] = append(c.said[e.Job], e)
	}
	for _, r := range c.Controller {
		c.did[r.Job] = append(c.did[r.Job], r)
	}
}

func (c *check) broken(invariant string, job int64, at time.Time, what string, lines ...Line) *Violation {
	c.report.Violations = append(c.report.Violations, Violation{
		Invariant: invariant, Job: job, At: at, What: what,
		Lines: slices.DeleteFunc(lines, func(l Line) bool { return l.Number == 0 }),
	})
	return &c.report.Violations[len(c.report.Violations)-1]
}

func (c *check) note(text string) { c.report.Notes = append(c.report.Notes, text) }

// survey learns the accounts and jobs, and counts what there is to check.
func (c *check) survey() {
	t := &c.report.Tally
	c.uid = -1
	if c.o.UID > 0 {
		c.uid = c.o.UID
	}
	bare := 0
	for _, e := range c.Events {
		if e.bare() {
			bare++
		}
		switch e.Kind {
		case "starts":
			t.Lives++
			if e.UID >= 0 {
				c.uid = e.UID
			}
		case "open":
			t.Moves++
			c.own(e)
		case "adopted", "taken", "run":
			c.own(e)
		}
	}
	if bare > 0 {
		c.note(fmt.Sprintf("%d lines of sluiced's log lack the fields of their event, because an older sluice wrote them: they are not checked", bare))
	}
	freed := false
	for _, r := range c.Controller {
		switch r.Kind {
		case Booted:
			t.Boots++
		case Allocated:
			t.Runs++
		case Signalled:
			c.killsTold = true
		case Cleaned:
			c.cleans = true
		case Freed:
			freed = true
			c.traced = c.traced || strings.Contains(r.Text, "deallocate_nodes")
		}
	}
	c.traced = c.traced || !freed // nothing has ended yet
	t.Jobs = len(c.ours)
}

func (c *check) own(e Event) {
	if _, known := c.ours[e.Job]; !known && e.Job > 0 {
		c.ours[e.Job] = e
	}
}

// upTo returns how many of the records, in the order of their lines, were written at or before
// the time, as far as the clocks allow.
func (c *check) upTo(at time.Time) int {
	n := 0
	for i, r := range c.Controller {
		if !r.At.After(at) {
			n = i + 1
		}
	}
	return n
}
