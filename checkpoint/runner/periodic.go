package runner

import (
	"fmt"
	"syscall"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
)

// What a job did since its last checkpoint is lost with its node. So the runner itself
// asks the program to save from time to time, by the same request file as sluiced does,
// but to train on at once (Request.Continue). It needs no daemon. A program that does not
// know the file never sees a request: it gets no signal unless its user named one, and
// then only processes that listen for it do.

const (
	// firstAfter is when a program is asked first: what that save takes is not known.
	firstAfter = time.Minute
	// unansweredFor is how long such a request stands that nobody answers, and
	// mostUnanswered how many in a row are made.
	unansweredFor  = 10 * time.Minute
	mostUnanswered = 3
	// keenly is how long a request is looked after at every poll; later it is once a
	// second, which is enough for programs between two long steps.
	keenly = 10 * time.Second
	// exitsWithin is how soon after such a save an end with exit code 0 is taken for
	// an answer to it, by a program that saves and ends when it is asked.
	exitsWithin = 10 * time.Second
)

// periodic is what is known of checkpoints by time.
type periodic struct {
	request  string        // the runner's own that stands; "" = none
	since    time.Time     // it stands
	begun    time.Time     // its checkpoint's folder was seen first
	looked   time.Time     // for it
	next     time.Time     // when to ask next; zero = when the script has been started
	newest   string        // newest complete checkpoint at the last look
	cost     time.Duration // a save blocks the program, lately; 0 = unknown
	missed   int           // requests in a row that nobody answered
	asked    int           // requests made in this run
	answered time.Time     // the last one
	exits    bool          // the program ends when it is asked, and is not asked again
}

// safeguard asks for a checkpoint when one is due, and takes the answer.
func (r *run) safeguard() {
	p := &r.periodic
	switch {
	case p.request != "":
		r.awaitOwn()
	case r.mayAsk() && !r.Now().Before(p.next) && !r.savedMeanwhile():
		r.askOwn()
	}
}

// mayAsk reports whether a checkpoint by time makes sense now.
func (r *run) mayAsk() bool {
	p, s := &r.periodic, r.state
	return r.saves() && r.child != nil && s.phase == checkpoint.Training && s.request == nil && !s.stopping && !p.next.IsZero()
}

// saves reports whether checkpoints by time are made of this program.
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

// savedMeanwhile reports whether the program has a newer checkpoint than was known, of
// its own accord or for sluiced: the next is due an interval after that.
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
		Asked: now, Deadline: now.Add(unansweredFor), Why: "a checkpoint by time", Continue: true,
	}})
	if sig, ok := signals[r.Signal]; ok && r.child != nil && r.watch.handed {
		r.family.Tell(sig) // those that listen for it
	}
}

// ownStands reports whether the request that stands is the runner's own.
func (r *run) ownStands() bool {
	return r.periodic.request != "" && r.state.request != nil && r.state.request.ID == r.periodic.request
}

// awaitOwn takes the own request back once it is answered, or nobody will.
func (r *run) awaitOwn() {
	p, now := &r.periodic, r.Now()
	switch {
	case !r.ownStands(): // sluiced asks for more, or the run is over
		p.request = ""
		return
	case r.state.phase == checkpoint.Waiting: // verified, for the program has ended
		r.endsWhenAsked()
		r.happen(withdrawn{})
		return
	case r.child == nil || r.state.phase != checkpoint.Saving:
		return // it is being looked whether it saved before it ended
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

// answeredOwn notes what the save cost and lets the program train on. It is verified
// meanwhile (tidy).
func (r *run) answeredOwn(name string) {
	p, now := &r.periodic, r.Now()
	cost := r.Poll
	if !p.begun.IsZero() {
		cost = max(cost, now.Sub(p.begun))
	}
	if said := r.job.saveTook(name); said > 0 && said < now.Sub(p.since) {
		cost = said // as the program saw it
	}
	if p.cost > 0 {
		cost = (cost + p.cost) / 2
	}
	p.cost, p.newest, p.missed, p.request, p.answered = cost, name, 0, "", now
	p.next = now.Add(r.interval())
	r.dirty = true // it says the interval
	r.happen(withdrawn{})
}

// endsWhenAsked notes that the program saves and ends when it is asked. It is started
// again from that checkpoint.
func (r *run) endsWhenAsked() {
	r.periodic.request, r.periodic.exits = "", true
	r.say("the program ended after a checkpoint that it was asked for by time; it is started again from it, and is not asked again in this run")
}

// answeredByItsEnd reports whether a script that ended well did so because of the
// checkpoint by time that it had just saved.
func (r *run) answeredByItsEnd(e ended) bool {
	p := &r.periodic
	return e.exit.Code == 0 && !e.complete && !e.hung && !p.exits && !p.answered.IsZero() &&
		r.Now().Sub(p.answered) < exitsWithin && (r.state.request == nil || r.ownStands() && e.candidate == "") && !r.state.stopping
}

// startedOwn sets when the program is asked next.
func (r *run) startedOwn() {
	p := &r.periodic
	p.newest, p.answered = r.from.name, time.Time{}
	p.next = r.Now().Add(r.interval())
}

// newestFolder is the newest checkpoint, complete or not; "" when there is none.
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

// saveTook is how long the program says that it was blocked by a save; 0 = it does not.
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

// signals are those that a user can name for requests.
var signals = map[string]syscall.Signal{"USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2, "HUP": syscall.SIGHUP}
