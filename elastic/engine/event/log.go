package event

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// Log passes events to a sink and counts them. It belongs to the goroutine that runs the cycle.
type Log struct {
	// Sink is called within Tell, so that a slow one delays the cycle. It MUST NOT be nil and MUST
	// NOT block.
	Sink func(Event)
	// Count only grows. Package execute compares it before and after a step to know whether a
	// snapshot may have changed: code that changes there what a snapshot shows of a job MUST log an
	// event.
	Count int // events so far
}

// CouldNot logs that an action failed. The event is a "problem" with Err set and no fields. Err
// decides its level; Text repeats it for people.
func (l *Log) CouldNot(a elastic.Action, job elastic.JobID, err error, now time.Time) {
	l.Count++
	l.Sink(Event{At: now, Job: job, Kind: "problem", Text: fmt.Sprintf("could not %s: %v", a, err), Err: err})
}

// Tell logs an event. Of several fields the last one counts. job is 0 if the event concerns no single
// job, kind one of the names in Kinds.
func (l *Log) Tell(at time.Time, job elastic.JobID, kind, text string, fields ...Fields) {
	l.Count++
	said := Event{At: at, Job: job, Kind: kind, Text: text}
	for _, f := range fields {
		said.Fields = f
	}
	l.Sink(said)
}
