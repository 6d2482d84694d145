package metrics

import (
	"cmp"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/usage"
	"github.com/sluice-hpc/sluice/slurm"
)

// parts are those of a move's dead time, in the order of elastic.Price.
var parts = [...]string{"save", "stop", "wait", "start"}

const (
	kept   = "kept"
	broken = "broken"
)

// counts are what happened since the last time, to be added to counters.
type counts struct {
	moves     []move
	ended     []string
	deadlines []string
	dead      [len(parts)]float64
	deadGPU   float64
	gained    float64
	blind     float64
}

type move struct{ kind, outcome string }

// book adds up events and reports. It is pure but for its own state.
type book struct {
	open map[elastic.JobID]elastic.Kind // moves that have begun
	jobs map[string]entry               // by token, those in the last report
	at   time.Time                      // of the last report; zero = none
	// blind is the part of the present outage that was counted.
	blind time.Duration
}

// entry is what was counted of a job.
type entry struct {
	run    int        // its run
	gpus   int        // those of that run
	before int        // those of the run before it
	priced [4]float64 // seconds of each part that were counted of that run
	judged bool       // its deadline
	live   bool       // it had not ended
	beyond float64    // GPUs beyond its minimum at the last report
}

func newBook() book { return book{open: map[elastic.JobID]elastic.Kind{}} }

// event returns what an event adds.
func (b *book) event(e event.Event) counts {
	switch e.Kind {
	case "open", "taken":
		b.open[e.Job] = e.Move
	case "close":
		kind := cmp.Or(b.open[e.Job], "unknown")
		delete(b.open, e.Job)
		return counts{moves: []move{{string(kind), string(e.Outcome)}}}
	}
	return counts{}
}

// longestGap bounds how long jobs count as having had their GPUs between two reports, such as after a
// suspend of the machine.
const longestGap = 10 * time.Minute

// cycle returns what a report adds to the one before. The first one is only noted: what it has was
// counted by the daemon before it, or by none.
func (b *book) cycle(r *publish.Report) counts {
	var n counts
	if r.Blind != "" {
		n.blind = max(0, (r.BlindFor - b.blind).Seconds())
		b.blind = r.BlindFor
		return n // the rest of the report is the last one
	}
	b.blind = 0
	first := b.jobs == nil
	passed := min(r.At.Sub(b.at), longestGap).Seconds()
	next := make(map[string]entry, len(r.Jobs))
	for i := range r.Jobs {
		jr := &r.Jobs[i]
		was, known := b.jobs[jr.Record.Token]
		now := b.job(&n, jr, was, known, r.At)
		if known && was.live && !first && passed > 0 {
			n.gained += was.beyond * passed
		}
		next[jr.Record.Token] = now
	}
	b.jobs, b.at = next, r.At
	if first {
		return counts{}
	}
	return n
}

// job adds what is new of one job, and returns its entry.
func (b *book) job(n *counts, jr *publish.JobReport, was entry, known bool, at time.Time) entry {
	now := was
	now.live = !jr.Ended
	now.beyond = 0
	if gpus := jr.Job.GPUs(); gpus > 0 {
		now.beyond = float64(max(0, gpus-jr.Record.Tag.Spec.Min))
	}
	if run := jr.Run; run.Restarts != was.run || !known {
		now.run, now.before, now.gpus, now.priced = run.Restarts, was.gpus, run.Place.GPUs(), [4]float64{}
	}
	now.gpus = max(now.gpus, jr.Run.Place.GPUs())
	b.price(n, &now, jr.Run)
	if jr.Ended && (was.live || !known) {
		n.ended = append(n.ended, string(cmp.Or(jr.Ending.How, journal.Forgotten)))
		delete(b.open, jr.Record.ID)
	}
	if outcome := judge(jr, at); outcome != "" && !now.judged {
		now.judged = true
		n.deadlines = append(n.deadlines, outcome)
	}
	return now
}

// price adds the dead time of the move that began a run, as it becomes known. A job's first run, and one that
// somebody else began, cost no move.
func (b *book) price(n *counts, now *entry, run journal.Segment) {
	if now.before == 0 || !usage.BySluice(run.Cause) {
		return
	}
	gpus := [4]int{now.before, now.before, now.gpus, now.gpus}
	for i, d := range [4]time.Duration{run.Price.Save, run.Price.Drain, run.Price.Start, run.Price.Load} {
		if more := d.Seconds() - now.priced[i]; more > 0 {
			now.priced[i] = d.Seconds()
			n.dead[i] += more
			n.deadGPU += more * float64(gpus[i])
		}
	}
}

// judge returns the outcome of an admitted deadline as elastic/usage counts it; "" = none yet, or none at
// all.
func judge(jr *publish.JobReport, at time.Time) string {
	due, ended := jr.Record.Tag.Spec.Deadline, jr.Record.Ended
	switch {
	case !jr.Record.Promised || due.IsZero():
		return ""
	case ended.IsZero() && at.After(due), !ended.IsZero() && ended.After(due):
		return broken
	case !ended.IsZero() && jr.Record.State == string(slurm.Completed):
		return kept
	}
	return ""
}
