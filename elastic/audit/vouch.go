package audit

import (
	"fmt"
	"slices"
	"time"
)

// slack is how far apart the job completion log, with its whole seconds, and slurmctld's log
// may be about one moment on a busy machine.
const slack = 5 * time.Second

// verdict is what slurmctld's log says about a completion.
type verdict int

const (
	silent verdict = iota // the log begins later, or has no lines about such jobs
	agrees
	denies
	untold // the log would have a line about it if it were true of a job of sluice
)

// vouch keeps the completions that slurmctld's log confirms, and those that it cannot confirm
// but that contain no text chosen by a user. A completion that the log denies comes from a
// user's text. If the truth about a job cannot be determined, all its completions are left out:
// sluiced is neither accused nor cleared by them.
func (c *check) vouch() {
	var kept, denied, unclear []Completion
	for rest := c.Completions; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Number == rest[0].Number && rest[n].Job == rest[0].Job {
			n++
		}
		one, what := c.reading(rest[:n], c.did[rest[0].Job])
		rest = rest[n:]
		switch {
		case what == agrees:
			kept = append(kept, one)
		case what == denies:
			denied = append(denied, one)
		case !one.Doubtful && !one.Final() && len(one.Nodes) == 0:
			// slurmctld logs a requeue only when it was requested.
		default:
			unclear = append(unclear, one)
		}
	}
	unclear = append(unclear, c.conflicts(kept)...)
	for _, u := range unclear {
		c.unclear[u.Job] = true
	}
	c.Completions = slices.DeleteFunc(kept, func(r Completion) bool { return c.unclear[r.Job] })
	if len(denied) > 0 {
		c.note(fmt.Sprintf("%d records in %s contradict slurmctld's log, and are ignored, first %s", len(denied), denied[0].File, denied[0].Line))
	}
	if len(unclear) > 0 {
		c.note(fmt.Sprintf("when jobs %v ended cannot be determined because %s contains users' text, and is not checked, first %s", sorted(c.unclear), unclear[0].File, unclear[0].Line))
	}
}

// reading chooses the true one among the readings of a record. agrees: the one returned is
// true; silent: it cannot be determined.
func (c *check) reading(all []Completion, log []Record) (Completion, verdict) {
	var good []Completion
	quiet, doubt := false, len(all) > 1 || all[0].Doubtful
	for _, r := range all {
		switch c.verdictOn(r, log) {
		case agrees:
			if !slices.ContainsFunc(good, func(g Completion) bool { return same(g, r) }) {
				good = append(good, r)
			}
		case silent:
			quiet = true
		case untold:
			quiet, doubt = true, true
		}
	}
	switch {
	case len(good) == 1:
		return good[0], agrees
	case len(good) == 0 && !quiet:
		return all[0], denies
	case len(good) == 0 && !doubt:
		return all[0], agrees // as far as can be known
	}
	return all[0], silent
}

// same reports whether two readings say the same.
func same(a, b Completion) bool {
	return a.Job == b.Job && a.UID == b.UID && a.State == b.State && a.Start.Equal(b.Start) && a.End.Equal(b.End) && slices.Equal(a.Nodes, b.Nodes)
}

// conflicts returns completions of which two describe one run differently, unless slurmctld was
// started in between: it may have forgotten the first. Each run has one completion, and a job
// has one more if it was requeued after its end or cancelled before it ran again.
func (c *check) conflicts(kept []Completion) (out []Completion) {
	type run struct {
		job, start int64
	}
	seen := map[run]Completion{}
	for _, r := range kept {
		key := run{r.Job, r.Start.Unix()}
		before, twice := seen[key]
		seen[key] = r
		told := func(kind Kind) bool {
			return before.UID == r.UID && slices.ContainsFunc(c.did[r.Job], func(l Record) bool { return l.Kind == kind && near(l.At, r.End) })
		}
		// Requeued after its end; or cancelled in the second in which it was requeued.
		again := before.Final() && !r.Final() && told(Requeued) || !before.Final() && r.Final() && len(r.Nodes) == 0 && told(Signalled)
		if twice && !again && (len(before.Nodes) > 0) == (len(r.Nodes) > 0) && !same(before, r) && !c.bootedBetween(r.Start, later(before.End, r.End).Add(slack)) {
			out = append(out, r)
		}
	}
	return out
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// verdictOn compares one reading with slurmctld's lines about its job.
func (c *check) verdictOn(r Completion, log []Record) verdict {
	if len(log) > 0 && log[0].Kind == Submitted && r.End.Before(log[0].At.Add(-slack)) {
		return denies // the job did not exist yet
	}
	if len(c.Controller) == 0 || r.End.Before(c.Controller[0].At.Add(-slack)) {
		return silent
	}
	if len(r.Nodes) == 0 || r.Start.IsZero() {
		return c.neverRan(r, log)
	}
	if r.Start.Before(c.Controller[0].At) && (len(log) == 0 || log[0].Kind != Submitted) {
		return silent
	}
	began := slices.IndexFunc(log, func(l Record) bool {
		return l.Kind == Allocated && near(l.At, r.Start) && holds(l.Shares, r.Nodes)
	})
	switch {
	case began < 0:
		return denies
	case slices.ContainsFunc(log, func(l Record) bool { return l.Kind == Freed && near(l.At, r.End) }):
		return agrees
	case !c.traced || c.bootedBetween(r.Start, r.End.Add(slack)):
		return silent
	}
	return denies
}

// neverRan judges the completion of a job that never ran. Such a job was cancelled, or requeued
// after its end, which the log has; the log also has a run at that time, if there was one.
func (c *check) neverRan(r Completion, log []Record) verdict {
	runs := false
	for _, l := range log {
		switch {
		case near(l.At, r.End) && (l.Kind == Signalled || l.Kind == Requeued && !r.Final()):
			return agrees
		case l.At.After(r.End.Add(slack)):
		case l.Kind == Allocated:
			runs = l.At.Before(r.End.Add(-slack))
		case l.Kind == Freed || l.Kind == Requeued || l.Kind == Submitted:
			runs = false
		}
	}
	_, ours := c.ours[r.Job]
	switch {
	case runs:
		return denies
	case ours && c.killsTold && !c.bootedBetween(r.End.Add(-slack), r.End.Add(slack)):
		return untold
	}
	return silent
}

func near(a, b time.Time) bool { return a.Sub(b).Abs() <= slack }

// holds reports whether the nodes are among those of a run, as far as its record names them.
func holds(shares []Share, nodes []string) bool {
	return len(shares) == 0 || !slices.ContainsFunc(nodes, func(n string) bool {
		return !slices.ContainsFunc(shares, func(s Share) bool { return s.Node == n })
	})
}
