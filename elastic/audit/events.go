package audit

import (
	"encoding/json"
	"io"
	"strings"
	"time"
)

// Event is one line of sluiced's event log. Text is for people only; the checks use the name
// and the fields.
type Event struct {
	Line
	// Kind is the event's name: adopted, open, taken, act, step, run, close, ended, stranded,
	// blind, sighted, starts, stops, emptied (the store was started empty) and others.
	Kind string
	Job  int64 // 0 = not about a single job
	Text string
	UID  int64 // of starts: the account that sluiced runs as; -1 = not logged
	Fields
}

// Fields are an event's fields for programs, as sluiced documents them.
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
	Owner       string   `json:"owner"`     // of adopted: the user that a confined job counts for
	SlurmUID    int64    `json:"slurm_uid"` // of adopted with Owner: Slurm's user; of confined: the service account
}

// arrived reports whether a close event says that the job runs, at the new or at the old place.
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

// ParseEvents reads the event log of sluiced as [log] format = "json" writes it. Lines that are
// not JSON, as a crash may leave, are returned separately. The error is the reader's.
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

// grainOf returns the resolution of a written time: the weight of the last digit of its
// seconds.
func grainOf(text string) time.Duration {
	_, fraction, found := strings.Cut(text, ".")
	grain := time.Second
	for i := 0; found && i < len(fraction) && i < 9 && fraction[i] >= '0' && fraction[i] <= '9'; i++ {
		grain /= 10
	}
	return grain
}
