package report

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/elastic/say"
	"github.com/sluice-hpc/sluice/elastic/sim/replay"
	"github.com/sluice-hpc/sluice/nodes"
)

// EventWriter writes the events of runs, one JSON object a line in the order they
// happen:
//
//	{"policy":"fcfs","workload":"w1","seed":1,"at_s":60,"job":0,"name":"a","kind":"start","to":[{"node":"n1","gpus":1}]}
type EventWriter struct {
	buffer *bufio.Writer
	enc    *json.Encoder
	err    error
}

// eventLine is one event as it is written.
type eventLine struct {
	Policy   string          `json:"policy"`
	Workload string          `json:"workload"`
	Seed     uint64          `json:"seed"`
	At       json.Number     `json:"at_s"`
	Job      int             `json:"job"`
	Lane     int             `json:"lane,omitempty"` // of a sweep, from 1
	Name     string          `json:"name"`
	Kind     string          `json:"kind"`
	From     nodes.Placement `json:"from,omitempty"`
	To       nodes.Placement `json:"to,omitempty"`
	Why      string          `json:"why,omitempty"`
	Reason   reason.Value    `json:"reason,omitzero"`
}

// NewEventWriter returns a writer onto w.
func NewEventWriter(w io.Writer) *EventWriter {
	b := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return &EventWriter{buffer: b, enc: enc}
}

// Of returns what to give to replay.Config.Events for one run.
func (e *EventWriter) Of(policy, workload string, seed uint64) func(replay.Event) {
	return func(ev replay.Event) {
		if e.err == nil {
			e.err = e.enc.Encode(eventLine{policy, workload, seed, exact(ev.At), ev.Job, ev.Lane, ev.Name, ev.Kind, ev.From, ev.To, say.Reason(ev.Why, ev.Moment), reason.Value{Reason: ev.Why}})
		}
	}
}

// Flush writes what is still held back, and returns the first error there was.
func (e *EventWriter) Flush() error {
	if e.err == nil {
		e.err = e.buffer.Flush()
	}
	return e.err
}

// exact writes a time in seconds to the nanosecond, without what is nought.
func exact(d time.Duration) json.Number {
	b, _ := json.Marshal(d.Seconds())
	return json.Number(b)
}
