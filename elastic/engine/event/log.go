package event

import (
	"fmt"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// Log passes events to a sink and counts them.
type Log struct {
	Sink  func(Event)
	Count int // events so far
}

// CouldNot logs that an action failed.
func (l *Log) CouldNot(a elastic.Action, job elastic.JobID, err error, now time.Time) {
	l.Count++
	l.Sink(Event{At: now, Job: job, Kind: "problem", Text: fmt.Sprintf("could not %s: %v", a, err), Err: err})
}

// Tell logs an event. Of several fields the last one counts.
func (l *Log) Tell(at time.Time, job elastic.JobID, kind, text string, fields ...Fields) {
	l.Count++
	said := Event{At: at, Job: job, Kind: kind, Text: text}
	for _, f := range fields {
		said.Fields = f
	}
	l.Sink(said)
}
