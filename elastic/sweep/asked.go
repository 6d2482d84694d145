package sweep

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Files of a program that is asked for points, in the sweep's folder. Each turn, a time in which one
// lane runs that program, has a transcript of its own, <turn>.jsonl, which begins with all of the one
// before: a lane that was replaced, and does not know it, writes into a file that is not read any more.
const (
	SearcherFolder = "searcher"
	SearcherStatus = "status.json"
)

// Transcript is the name of a turn's file.
func Transcript(turn int) string { return fmt.Sprintf("%06d.jsonl", turn) }

// maxTurn is more turns than there are: a larger number is a name that a user made up, and none could follow it.
const maxTurn = 1_000_000_000

// TurnOf is the turn of a transcript's file; false if the name is that of another file.
func TurnOf(name string) (turn int, is bool) {
	number, is := strings.CutSuffix(name, ".jsonl")
	turn, err := strconv.Atoi(number)
	return turn, is && err == nil && turn > 0 && turn <= maxTurn && Transcript(turn) == name
}

// Turn says which lane runs the program that is asked, and how many points are wanted in all. sluiced
// writes it into the sweep's folder of its outbox, which others may read: it has no parameters.
type Turn struct {
	Lane     string `json:"lane,omitempty"` // its token; "" = no lane runs
	Restarts int    `json:"restarts"`       // of that lane: its run
	Turn     int    `json:"turn"`           // from 1; each is another run of a lane
	Points   int    `json:"points"`         // trials up to this number have a point, or a lane waits for it
}

// Standing is what sluiced says of a sweep. It is written where Turn is.
type Standing struct {
	Level   int     `json:"level"`
	Gap     float64 `json:"gap"`               // mean gap among the best results, in the metric's unit
	Counted int     `json:"counted"`           // trials that are done, as the level takes them in
	Wants   int     `json:"wants"`             // lanes that it can use now
	Problem string  `json:"problem,omitempty"` // why nothing is decided about it any more; "" = that is not so
}

// Told is what a searcher is told about a trial. Exactly one line for each report, and one when the
// state changes; State is running, paused, stopped, failed or done.
type Told struct {
	Trial int      `json:"trial"`
	Epoch float64  `json:"epoch"`
	Value *float64 `json:"value,omitempty"` // nil: nothing was reported
	State string   `json:"state"`
}

// Pointed is the point of a trial. Given: it is not the searcher's answer.
type Pointed struct {
	Trial int    `json:"trial"`
	Point string `json:"point"` // lr=0.001,depth=4
	Given bool   `json:"given,omitempty"`
}

// Spoken is one line of a transcript: exactly one of its fields is set.
type Spoken struct {
	Tell  *Told    `json:"tell,omitempty"`
	Point *Pointed `json:"point,omitempty"`
	None  bool     `json:"none,omitempty"` // the searcher has no more points
}

// ParseSpoken reads one line of a transcript, without its newline.
func ParseSpoken(line []byte) (Spoken, error) {
	var s Spoken
	if err := decode(line, &s); err != nil {
		return Spoken{}, fmt.Errorf("%s: %w", SearcherFolder, err)
	}
	good := s.None
	switch {
	case s.Tell != nil:
		v := s.Tell.Value
		good = s.Tell.Trial >= 1 && s.Tell.Trial <= MaxTrials && (v == nil || !math.IsNaN(*v) && !math.IsInf(*v, 0))
	case s.Point != nil:
		good = s.Point.Trial >= 1 && s.Point.Trial <= MaxTrials && s.Point.Point != "" && len(s.Point.Point) <= MaxSmall
	}
	if !good {
		return Spoken{}, fmt.Errorf("%s: %.80q: not a line of a transcript", SearcherFolder, line)
	}
	return s, nil
}

// Status is what a lane says about the program that it asks.
type Status struct {
	Turn     int    `json:"turn"`
	Failures int    `json:"failures"` // in a row, without an answer in between; 0 = it works
	Why      string `json:"why,omitempty"`
	Waits    int    `json:"waits,omitempty"` // the trial for which it is being asked; 0 = none
}

// ParseStatus reads a status, for people.
func ParseStatus(data []byte) (Status, bool) {
	var s Status
	if json.Unmarshal(data, &s) != nil {
		return Status{}, false
	}
	s.Why = Clean(s.Why, maxWords)
	return s, true
}
