package audit

import (
	"encoding/json"
	"io"
	"strings"
	"time"
)

// Event is one line of sluiced's event log.
type Event struct {
	Line
	// Kind is adopted, open, taken, act, step, run, close, ended, stranded, blind,
	// sighted, starts, stops, emptied (the store was started empty) ...
	Kind string
	Job  int64 // 0 = about no single job
	Text string
	UID  int64 // of starts: the account sluiced runs as; -1 = it does not say
}

// ParseEvents reads the event log of sluiced as [log] format = "json" writes it.
// Lines that are no JSON (a crash leaves such) come back apart. The error is that
// of the reader.
func ParseEvents(r io.Reader, file string) (events []Event, other []Line, err error) {
	err = eachLine(r, file, func(l Line) {
		if e, ok := parseEvent(l); ok {
			events = append(events, e)
		} else if strings.TrimSpace(l.Text) != "" {
			other = append(other, l)
		}
	})
	return events, other, err
}

func parseEvent(l Line) (Event, bool) {
	var raw struct {
		Time    string `json:"time"`
		Event   string `json:"event"`
		Job     int64  `json:"job"`
		Message string `json:"message"`
		UID     *int64 `json:"uid"`
	}
	if json.Unmarshal([]byte(l.Text), &raw) != nil {
		return Event{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, raw.Time)
	if err != nil {
		return Event{}, false
	}
	l.At, l.Grain = at, grainOf(raw.Time)
	e := Event{Line: l, Kind: raw.Event, Job: raw.Job, Text: raw.Message, UID: -1}
	switch {
	case e.Kind != "":
	case e.Text == "sluiced starts":
		e.Kind = "starts"
		if raw.UID != nil {
			e.UID = *raw.UID
		}
	case strings.HasPrefix(e.Text, "sluiced stops"):
		e.Kind = "stops"
	case strings.HasPrefix(e.Text, "the store ") && strings.Contains(e.Text, " an empty one is started"), strings.HasPrefix(e.Text, "the store ") && strings.Contains(e.Text, " is an older copy"):
		e.Kind = "emptied"
	}
	return e, true
}

// grainOf is how fine a written time is: its last digit of a second's fraction.
func grainOf(text string) time.Duration {
	_, fraction, found := strings.Cut(text, ".")
	grain := time.Second
	for i := 0; found && i < len(fraction) && i < 9 && fraction[i] >= '0' && fraction[i] <= '9'; i++ {
		grain /= 10
	}
	return grain
}
