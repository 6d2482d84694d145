package audit

import (
	"encoding/json"
	"io"
	"strings"
	"time"
)

// Event is one line of sluiced's event log. Text is for people: what is checked follows
// from its name and its fields.
type Event struct {
	Line
	// Kind is adopted, open, taken, act, step, run, close, ended, stranded, blind,
	// sighted, starts, stops, emptied (the store was started empty) ...
	Kind string
	Job  int64 // 0 = about no single job
	Text string
	UID  int64 // of starts: the account sluiced runs as; -1 = it does not say
	Fields
}

// Fields are what an event says to programs, as sluiced documents them.
type Fields struct {
	Move        string   `json:"move"`
	Target      string   `json:"target"`
	Incarnation int      `json:"incarnation"`
	Step        int      `json:"step"`
	Checkpoint  string   `json:"checkpoint"`
	Token       string   `json:"token"`
	Act         string   `json:"act"`
	Outcome     string   `json:"outcome"`
	On          string   `json:"on"`
	State       string   `json:"state"`
	Run         int      `json:"run"`
	Began       string   `json:"began"`
	Passed      []string `json:"passed"`
	Problem     string   `json:"problem"`
}

// arrived reports whether a close event says that the job runs, as meant or as before.
func (e Event) arrived() bool {
	return (e.Outcome == "done" || e.Outcome == "fellback") && e.On != ""
}

// bare reports whether an event lacks the fields that events of its kind have.
func (e Event) bare() bool {
	switch e.Kind {
	case "open", "taken":
		return e.Move == ""
	case "act":
		return e.Act == ""
	case "step":
		return e.Step == 0
	case "run":
		return e.Began == ""
	case "close":
		return e.Outcome == ""
	}
	return false
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
		Fields
	}
	if json.Unmarshal([]byte(l.Text), &raw) != nil {
		return Event{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, raw.Time)
	if err != nil {
		return Event{}, false
	}
	l.At, l.Grain = at, grainOf(raw.Time)
	e := Event{Line: l, Kind: raw.Event, Job: raw.Job, Text: raw.Message, UID: -1, Fields: raw.Fields}
	if e.Kind == "starts" && raw.UID != nil {
		e.UID = *raw.UID
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
