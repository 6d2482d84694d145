package sweep

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Kind is what a line of a lane is about.
type Kind string

// The kinds of lines.
const (
	Began    Kind = "began"    // it starts the trial: written BEFORE anything of it runs
	Reported Kind = "reported" // the trial reported its metric
	EndedAs  Kind = "ended"    // the trial's run is over
	Copied   Kind = "copied"   // it goes on from another trial's checkpoint, or from none although it was to
	Dropped  Kind = "dropped"  // the trial's checkpoints were removed
	Left     Kind = "left"     // the lane ends: it is not needed any more
)

// Ending is how the run of a trial ended.
type Ending string

// The ways in which a run of a trial ends.
const (
	Done    Ending = "done"    // its script ended with exit code 0
	Failed  Ending = "failed"  // its script failed, or reported a metric that is no number
	Saved   Ending = "saved"   // the lane was stopped: it goes on elsewhere from its checkpoint
	Yielded Ending = "yielded" // sluiced asked for it
)

// Event is one line of a lane's trials.jsonl. A lane appends lines and never changes one. At is by
// the lane's clock, so times of different lanes may be out of order; Trial and Start say which run
// a line is about. Fields of other kinds are zero.
type Event struct {
	Kind Kind      `json:"event"`
	At   time.Time `json:"at"`
	// 1 to MaxTrials; 0 in Left.
	Trial int `json:"trial"`
	// The run of the trial, from 1; 1 in Dropped, which is about all of them.
	Start int `json:"start"`
	// Of Began: the ask that was answered, and the point.
	Ask    string `json:"ask,omitempty"`
	Point  string `json:"point,omitempty"`
	Repeat int    `json:"repeat,omitempty"`
	Extra  bool   `json:"extra,omitempty"`
	// Of Began, and of Copied: there From is the trial whose checkpoint it was, 0 = none was to be
	// had; Epoch is that of the checkpoint, and Checkpoint its path.
	Origin
	// Of Reported: the epoch, the metric, and other numbers of the same line. Epoch is at least 0
	// and may be a fraction; Value is finite.
	Epoch  float64            `json:"epoch,omitempty"`
	Value  float64            `json:"value,omitempty"`
	Others map[string]float64 `json:"others,omitempty"`
	// Of EndedAs.
	How        Ending `json:"how,omitempty"`
	Words      string `json:"words,omitempty"` // why it failed, for people
	Node       bool   `json:"node,omitempty"`  // the node was at fault: a first failure like this is not the trial's
	Checkpoint string `json:"checkpoint,omitempty"`
	Bytes      int64  `json:"bytes,omitempty"` // of its checkpoints
	// Memory: it did not fail, but ran out of memory while other trials ran on its GPUs, and was given back.
	Memory bool `json:"memory,omitempty"`
	Lost
	// Of Left: why the sweep is over; "" = it is not.
	End string `json:"end,omitempty"`
}

// maxWords bounds Event.Words, in bytes.
const maxWords = 2000

// maxOthers bounds Event.Others.
const maxOthers = 32

// ParseEvent reads one line, without its newline. Users can write anything there. A reader MUST go
// on after an error, with the next line: one bad line, such as the torn one of a lane that was
// killed, says nothing about the others. Texts are without control characters afterwards (Clean),
// so they can be shown; Point is not, and MUST pass space.ReadPoint first.
func ParseEvent(line []byte) (Event, error) {
	var e Event
	if err := decode(line, &e); err != nil {
		return Event{}, fmt.Errorf("%s: %w", EventFile, err)
	}
	finite := func(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
	// A time is shown to others, as JSON of any time zone, which has the years up to 9999. The zero time is of the year 1.
	year := e.At.UTC().Year()
	dated := year >= 1 && year <= 9998
	good := e.Trial >= 1 && e.Trial <= MaxTrials && e.Start >= 1 && e.Start <= 1_000_000 && len(e.Others) <= maxOthers
	switch e.Kind {
	case Began:
		good = good && validID(e.Ask) && len(e.Point) <= MaxSmall && e.Origin.valid()
	case Reported:
		good = good && finite(e.Epoch) && e.Epoch >= 0 && finite(e.Value)
	case EndedAs:
		good = good && (e.How == Done || e.How == Failed || e.How == Saved || e.How == Yielded) && e.Bytes >= 0
	case Copied:
		good = good && e.Origin.valid() && finite(e.Epoch) && e.Epoch >= 0
	case Dropped:
	case Left:
		good = len(e.End) <= 64 && e.Trial == 0
	default:
		good = false
	}
	if !good || !dated {
		return Event{}, fmt.Errorf("%s: %.80q: not a line of a lane", EventFile, line)
	}
	e.End, e.Words, e.Checkpoint = Clean(e.End, 64), Clean(e.Words, maxWords), Clean(e.Checkpoint, 4096)
	return e, nil
}

// Clean returns at most max bytes of a user's text on one line, without control characters. A
// control character becomes a blank, and so do those that reverse the direction of writing. A
// character cut in two at the end is dropped.
func Clean(text string, max int) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return ' '
		}
		return r
	}, text)
	if len(text) > max {
		text = strings.ToValidUTF8(text[:max], "")
	}
	return text
}
