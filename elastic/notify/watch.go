package notify

import (
	"fmt"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/event"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/message"
	"github.com/sluice-hpc/sluice/elastic/say"
)

// Rules are the site's choices.
type Rules struct {
	Events []string      // codes of messages for the site itself
	Digest time.Duration // in which the resizes of a job are one message
}

// Delays before a condition is told of, so that one that passes is not.
const (
	blindAfter = 2 * time.Minute
	doubtAfter = 2 * time.Minute
)

// Send is a message with its receivers.
type Send struct {
	message.Message
	Site bool      // the site's program and webhook
	User *Receiver // nil = no user asked for it
}

// Receiver is the user of a job, and how it is told.
type Receiver struct {
	Token         string // of the job's folder, which has the URL
	SlurmUID      uint32 // who owns that folder
	Owner         uint32 // uid of the user
	Mail, Webhook bool
	To            string // account or address
}

// Watch is the state between two reports.
type Watch struct {
	rules Rules
	by    string
	since time.Time // when sluiced started
	last  time.Time // of the last report
	made  int       // messages so far

	jobs     map[string]*job // by token, those of the last report but jobs that had ended before New
	ended    map[elastic.JobID]bool
	resized  map[elastic.JobID]bool
	kinds    map[elastic.JobID]elastic.Kind // of open moves
	excluded map[string]bool                // nodes; nil before the first report
	blind    bool                           // an outage was told of
}

// job is what was told of a job.
type job struct {
	seen     bool // in the present report
	begun    bool
	running  bool
	restarts int // Slurm's count of the run that was seen running
	ranSince time.Time
	doubt    time.Time // since when its deadline is in doubt; zero = it is not
	doubted  bool
	broken   bool
	gpus     int
	moves    []message.Move
	resizes  int
	first    time.Time // of the moves that were not told of
}

// New returns a watch of a sluiced of this name, unique among all, that started at this time.
func New(rules Rules, by string, since time.Time) *Watch {
	return &Watch{rules: rules, by: by, since: since, jobs: map[string]*job{}, ended: map[elastic.JobID]bool{}, resized: map[elastic.JobID]bool{}, kinds: map[elastic.JobID]elastic.Kind{}}
}

// Configure changes the rules.
func (w *Watch) Configure(rules Rules) { w.rules = rules }

// Event notes an event of the engine.
func (w *Watch) Event(e event.Event) {
	switch e.Kind {
	case "ended":
		w.ended[e.Job] = true
		delete(w.kinds, e.Job)
	case "open", "taken":
		w.kinds[e.Job] = e.Move
	case "close":
		if kind := w.kinds[e.Job]; kind != elastic.Start && kind != elastic.Save && (e.Outcome == elastic.Done || e.Outcome == elastic.Fellback) {
			w.resized[e.Job] = true
		}
		delete(w.kinds, e.Job)
	}
}

// Cycle returns the messages that follow from a report, those about no single job first. The report is not
// kept.
func (w *Watch) Cycle(r *publish.Report) []Send {
	if r.Blind != "" {
		return w.outage(r)
	}
	if r.At.Equal(w.last) {
		return nil // the cycle published none
	}
	var out []Send
	if w.blind {
		w.blind = false
		out = w.site(out, message.Message{Code: message.Blind, At: r.At, State: message.Ends, Lasted: r.At.Sub(w.last).Seconds()})
	}
	w.last = r.At
	out = w.nodes(out, r)
	for i := range r.Jobs {
		out = w.job(out, &r.Jobs[i], r.At)
	}
	for token, j := range w.jobs {
		if !j.seen {
			delete(w.jobs, token)
		}
		j.seen = false
	}
	clear(w.ended)
	clear(w.resized)
	return out
}

// outage tells once of one that lasts.
func (w *Watch) outage(r *publish.Report) []Send {
	if w.blind || r.BlindFor < blindAfter {
		return nil
	}
	w.blind = true
	return w.site(nil, message.Message{Code: message.Blind, At: r.At.Add(r.BlindFor), State: message.Begins, Lasted: r.BlindFor.Seconds(), Why: r.Blind})
}

// nodes tells of nodes that are excluded from now on, or are not any more.
func (w *Watch) nodes(out []Send, r *publish.Report) []Send {
	now, first := map[string]bool{}, w.excluded == nil
	for _, f := range r.Health {
		if f.Excluded {
			now[f.Node] = true
			if !first && !w.excluded[f.Node] {
				out = w.site(out, message.Message{Code: message.Unfit, At: r.At, State: message.Begins, Node: f.Node, Why: f.Why})
			}
		}
	}
	var back []string
	for node := range w.excluded {
		if !now[node] {
			back = append(back, node)
		}
	}
	slices.Sort(back)
	for _, node := range back {
		out = w.site(out, message.Message{Code: message.Unfit, At: r.At, State: message.Ends, Node: node})
	}
	w.excluded = now
	return out
}

// site appends a message for the site, if it wants it.
func (w *Watch) site(out []Send, m message.Message) []Send {
	if !slices.Contains(w.rules.Events, string(m.Code)) {
		return out
	}
	return append(out, Send{Message: w.finish(m), Site: true})
}

// tell appends a message about a job for whom it concerns.
func (w *Watch) tell(out []Send, jr *publish.JobReport, m message.Message) []Send {
	n := jr.Record.Tag.Notices
	send := Send{Site: slices.Contains(w.rules.Events, string(m.Code))}
	if n.Mail || n.Webhook {
		send.User = receiver(jr, n.Mail, n.Webhook)
	}
	if !send.Site && send.User == nil {
		return out
	}
	send.Message = w.finish(about(jr, m))
	return append(out, send)
}

// mail appends a mail in Slurm's form.
func (w *Watch) mail(out []Send, jr *publish.JobReport, m message.Message) []Send {
	return append(out, Send{Message: w.finish(about(jr, m)), User: receiver(jr, true, false)})
}

func (w *Watch) finish(m message.Message) message.Message {
	w.made++
	m.Version, m.ID = message.Version, fmt.Sprintf("%s-%d", w.by, w.made)
	return say.Message(m)
}

func receiver(jr *publish.JobReport, mail, webhook bool) *Receiver {
	to := jr.Record.Tag.Notices.To
	if to == "" {
		to = jr.Record.Owner.User
	}
	return &Receiver{Token: jr.Record.Token, SlurmUID: jr.Record.SlurmUID, Owner: jr.Record.Owner.UID, Mail: mail, Webhook: webhook, To: to}
}

// about adds what identifies the job and its place.
func about(jr *publish.JobReport, m message.Message) message.Message {
	rec := &jr.Record
	m.Job = &message.Job{ID: int64(rec.ID), Name: rec.Name, User: rec.Owner.User, UID: rec.Owner.UID, Account: rec.Account.Name, Partition: rec.Partition, Restarts: rec.Restarts}
	if m.GPUs = jr.Job.GPUs(); m.GPUs > 0 {
		m.On = jr.Job.Place.String()
	}
	return m
}
