package runner

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
)

// The work since the last checkpoint is lost when the job's node fails. So the runner
// itself asks the program for a checkpoint periodically, by the same request file as
// sluiced, but with the instruction to continue at once (Request.Continue). It needs no
// daemon. A program that does not know the file never sees a request: it gets no signal
// unless its user named one, and then only processes that handle it do.

const (
	// firstAfter is the time of the first request: the duration of a save is then
	// unknown.
	firstAfter = time.Minute
	// unansweredFor is how long a request without an answer stays pending, and
	// mostUnanswered how many in a row are made.
	unansweredFor  = 10 * time.Minute
	mostUnanswered = 3
	// keenly is how long a request is checked at every poll; later once per second, which
	// is enough for programs with long steps.
	keenly = 10 * time.Second
	// exitsWithin is how soon after such a save an exit with code 0 counts as an answer
	// to it, by a program that saves and ends when it is asked.
	exitsWithin = 10 * time.Second
)

// periodic is the state of periodic checkpoints.
type periodic struct {
	request  string        // the runner's own pending request; "" = none
	since    time.Time     // the time at which it was made
	begun    time.Time     // the time at which its checkpoint's folder was first seen
	looked   time.Time     // for it
	next     time.Time     // time of the next request; zero = when the script has been started
	newest   string        // newest complete checkpoint at the last look
	cost     time.Duration // duration for which a save blocks the program, recently; 0 = unknown
	missed   int           // consecutive requests without an answer
	asked    int           // requests made in this run
	answered time.Time     // the last request
	exits    bool          // the program ends when it is asked, and is not asked again
}

// safeguard requests a checkpoint when one is due, and handles the answer.
func (r *run) safeguard() {
	p := &r.periodic
	switch {
	case p.request != "":
		r.awaitOwn()
	case r.mayAsk() && !r.Now().Before(p.next) && !r.savedMeanwhile():
		r.askOwn()
	}
}

// mayAsk reports whether a periodic checkpoint is possible now.
func (r *run) mayAsk() bool {
	p, s := &r.periodic, r.state
	return r.saves() && r.child != nil && s.phase == checkpoint.Training && s.request == nil && !s.stopping && !p.next.IsZero()
}

// saves reports whether periodic checkpoints are made of this program.
func (r *run) saves() bool {
	p := &r.periodic
	return !r.alone && !r.Every.off() && r.adopted.habit == nil && r.Profile.Limit <= 0 && !p.exits && p.missed < mostUnanswered
}

// interval is the time from one checkpoint to the next.
func (r *run) interval() time.Duration {
	switch {
	case !r.Every.Auto:
		return r.Every.Time
	case r.periodic.cost == 0:
		return r.First
	}
	return Interval(r.periodic.cost, r.MTBF/time.Duration(max(1, len(r.where.hosts))))
}

// savedMeanwhile reports whether the program has a newer checkpoint than was known, saved
// on its own or for sluiced: the next is due an interval after that.
func (r *run) savedMeanwhile() bool {
	p := &r.periodic
	name := r.newestSealed()
	if name <= p.newest {
		return false
	}
	p.newest = name
	p.next = earlier(r.committed(name), r.Now()).Add(r.interval())
	return r.Now().Before(p.next)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (r *run) askOwn() {
	p, now := &r.periodic, r.Now()
	p.asked++
	p.request, p.since, p.begun, p.looked = fmt.Sprintf("time.%d.%d.%d", r.job.id.Job, r.job.restarts, now.UnixMilli()), now, time.Time{}, time.Time{}
	r.happen(asked{checkpoint.Request{
		Version: checkpoint.Version, Job: r.job.id.Job, ID: p.request, Incarnation: r.target.Incarnation, Restarts: r.job.restarts,
		Asked: now, Deadline: now.Add(unansweredFor), Why: "a periodic checkpoint", Continue: true,
	}})
	if sig, ok := process.Asking[r.Signal]; ok && r.child != nil && r.watch.handed {
		r.family.Tell(sig) // the processes that handle it
	}
}

// ownStands reports whether the pending request is the runner's own.
func (r *run) ownStands() bool {
	return r.periodic.request != "" && r.state.request != nil && r.state.request.ID == r.periodic.request
}

// awaitOwn withdraws the runner's own request once it is answered, or given up.
func (r *run) awaitOwn() {
	p, now := &r.periodic, r.Now()
	switch {
	case !r.ownStands(): // sluiced made a request, or the run is over
		p.request = ""
		return
	case r.state.phase == checkpoint.Waiting: // verified, because the program has ended
		r.endsWhenAsked()
		r.happen(withdrawn{})
		return
	case r.child == nil || r.state.phase != checkpoint.Saving:
		return // a check whether it saved before it ended is running
	case now.Sub(p.since) > keenly && now.Sub(p.looked) < time.Second && p.begun.IsZero():
		return
	}
	p.looked = now
	if name := r.answering(); name != "" {
		r.answeredOwn(name)
		return
	}
	if p.begun.IsZero() && r.job.newestFolder() > r.watch.base {
		p.begun = now
	}
	if p.begun.IsZero() && now.Sub(p.since) > unansweredFor {
		p.missed++
		p.request, p.next = "", now.Add(unansweredFor<<p.missed)
		r.happen(withdrawn{})
	}
}

// answeredOwn records what the save cost and lets the program continue. The checkpoint is
// verified in the background (verifyOwnSave).
func (r *run) answeredOwn(name string) {
	p, now := &r.periodic, r.Now()
	cost := r.Poll
	if !p.begun.IsZero() {
		cost = max(cost, now.Sub(p.begun))
	}
	if said := r.job.saveTook(name); said > 0 && said < now.Sub(p.since) {
		cost = said // as reported by the program
	}
	if p.cost > 0 {
		cost = (cost + p.cost) / 2
	}
	p.cost, p.newest, p.missed, p.request, p.answered = cost, name, 0, "", now
	p.next = now.Add(r.interval())
	r.dirty = true // the note contains the interval
	r.happen(withdrawn{})
}

// endsWhenAsked records that the program saves and ends when it is asked. It is started
// again from that checkpoint.
func (r *run) endsWhenAsked() {
	r.periodic.request, r.periodic.exits = "", true
	r.say("the program ended after a periodic checkpoint; it is started again from that checkpoint, and is not asked again in this run")
}

// answeredByItsEnd reports whether a script exited 0 because of the periodic checkpoint
// that it had just saved.
func (r *run) answeredByItsEnd(e ended) bool {
	p := &r.periodic
	return e.exit.Code == 0 && !e.complete && !e.hung && !p.exits && !p.answered.IsZero() &&
		r.Now().Sub(p.answered) < exitsWithin && (r.state.request == nil || r.ownStands() && e.candidate == "") && !r.state.stopping
}

// startedOwn sets the time of the next request.
func (r *run) startedOwn() {
	p := &r.periodic
	p.newest, p.answered = r.from.name, time.Time{}
	p.next = r.Now().Add(r.interval())
}

// newestFolder is the newest checkpoint, complete or not; "" if there is none.
func (f folders) newestFolder() (newest string) {
	_ = f.series(func(s *checkpoint.Series) error {
		names, err := s.Names()
		if len(names) > 0 {
			newest = names[0]
		}
		return err
	})
	return newest
}

// saveTook is how long a save blocked the program, as it reports; 0 = it does not.
func (f folders) saveTook(name string) (took time.Duration) {
	_ = f.series(func(s *checkpoint.Series) error {
		m, err := s.Manifest(name)
		if err == nil {
			took = time.Duration(m.Seconds * float64(time.Second))
		}
		return err
	})
	return took
}
