package book

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
)

// State is where a trial is.
type State string

// The states of a trial.
const (
	Waiting State = "waiting" // to be started, or to go on, in the next lane
	Running State = "running"
	Paused  State = "paused"  // it lost at a rung; its checkpoint stays within --keep-gb
	Stopped State = "stopped" // the sweep was over before it ended
	Failed  State = "failed"
	Done    State = "done"
)

// Trial is one trial of a sweep. Lane, Ask and Start name its last run, which is going on if State
// is Running. Rung above 0 means that it lost: the running one is told to stop, and its State
// becomes Paused once it has.
type Trial struct {
	Number int // from 1
	// As space.Point prints it; "" if the record was lost and no lane has begun it.
	Point      string
	Repeat     int
	State      State
	Start      int    // how often it was started
	Lane       string // token of the lane of the last start
	Ask        string // that it answered
	Extra      bool   // it lost, and goes on because GPUs would idle
	Yields     bool   // an extra one that is to make room
	sweep.Lost        // where it was paused
	// From where it goes on, as it was told; and what its lane found there.
	sweep.Origin
	Copied *Copy

	Curve      []Mark // ascending epochs
	Words      string // why it failed
	Faults     int    // times a node was at fault
	faulty     int    // the last start of which that is known
	Checkpoint string // path of the newest, when its last run ended; "" = none known
	// Bytes is the size of all its checkpoints when its last run ended.
	Bytes   int64
	Dropped bool // its checkpoints were removed
	// Begun is its first start; Ended is when its last run that ended did, zero before.
	Begun time.Time
	Ended time.Time
}

// Copy is the checkpoint that a trial of pbt began with.
type Copy struct {
	From  int     // the trial; 0 = none was to be had, and it began from the beginning
	Epoch float64 // of the checkpoint
}

// Rests reports whether the trial will not go on by itself. A resting trial may run again: a paused
// one as an extra, a stopped one after Again.
func (t *Trial) Rests() bool { return t.State != Waiting && t.State != Running }

// End says why a sweep is over.
type End string

// The reasons.
const (
	NotOver    End = ""
	AtGoal     End = "goal"
	AllTried   End = "trials"    // all trials that were asked for have ended
	Exhausted  End = "exhausted" // the space has no more points
	TooLong    End = "time"
	TooMany    End = "failures"
	ByUser     End = "stopped"
	Unsolvable End = "constraints"
	AllEnded   End = "population" // every member of the population has come to its end
)

// Book is what is known of a sweep. Trials[i].Number is i+1, without gaps: a trial that only a
// later one's number shows is there as Waiting, without a Point.
type Book struct {
	Trials []*Trial // by number
	Over   End
	Began  time.Time // of the first trial; zero = none has begun

	Answers map[string]Answer // by lane: the answer to its last ask
	Ratings []Rating          // its level over time, ascending

	found    []Entry // what lanes began and the record does not know
	foundAll int     // how many there were
	marks    int     // of all trials
	Leads    Leading // which lane runs the program that is asked for points
}

// Answer is what a lane was told.
type Answer struct {
	Ask   string
	Trial int // 0 = that it is not needed any more
	Start int
	taken bool // the lane began it, or left
}

// New returns the book of a sweep that has not begun.
func New() *Book { return &Book{Answers: map[string]Answer{}} }

// Trial returns a trial; nil if there is none of that number.
func (b *Book) Trial(number int) *Trial {
	if number < 1 || number > len(b.Trials) {
		return nil
	}
	return b.Trials[number-1]
}

// known returns the trial, and makes those up to it if they are not known yet. number is at least
// 1: ParseEvent checks lines, and entries are sluiced's own.
func (b *Book) known(number int) *Trial {
	for len(b.Trials) < number {
		b.Trials = append(b.Trials, &Trial{Number: len(b.Trials) + 1, State: Waiting})
	}
	return b.Trials[number-1]
}

// Entry is one line of the sweep's record. At most one of its fields is set. Entries are appended
// and never changed; their JSON MUST stay readable, since a daemon of a later version replays them.
type Entry struct {
	At    time.Time `json:"at"`
	Tell  *Telling  `json:"tell,omitempty"`
	Back  *Which    `json:"back,omitempty"`  // its run is over, as far as can be known
	Pause *Verdict  `json:"pause,omitempty"` // it lost at a rung
	Yield *Which    `json:"yield,omitempty"` // an extra trial is to make room
	Leave *Which    `json:"leave,omitempty"` // a lane is not needed any more
	Over  End       `json:"over,omitempty"`
	Again bool      `json:"again,omitempty"` // it is not over after all: it was extended
	Rated *Rating   `json:"rated,omitempty"` // its level changed; for people: decisions find it anew
	Leads *Leading  `json:"leads,omitempty"` // the lane that runs the program that is asked for points
}

// Telling tells a lane to run a trial.
type Telling struct {
	Lane   string `json:"lane"`
	Ask    string `json:"ask"`
	Trial  int    `json:"trial"`
	Start  int    `json:"start"`
	Point  string `json:"point"`
	Repeat int    `json:"repeat,omitempty"`
	Extra  bool   `json:"extra,omitempty"`
	sweep.Origin
}

// Which names a start of a trial, or an ask of a lane.
type Which struct {
	Lane  string `json:"lane,omitempty"`
	Ask   string `json:"ask,omitempty"`
	Trial int    `json:"trial,omitempty"`
	Start int    `json:"start,omitempty"`
}

// Verdict pauses a trial.
type Verdict struct {
	Trial int `json:"trial"`
	Start int `json:"start"`
	sweep.Lost
}

// Apply takes in an entry of the record. An entry that makes no sense any more has no effect. So an
// entry applied twice in a row changes nothing the second time, and entries that were decided from
// what is outdated now are harmless. Back makes an extra trial Paused again, not Waiting: it lost.
// Pause and Yield change no State: the trial runs until its lane says that it ended.
func (b *Book) Apply(e Entry) {
	switch {
	case e.Tell != nil:
		b.tell(*e.Tell, e.At)
	case e.Back != nil:
		if t := b.Trial(e.Back.Trial); t != nil && t.State == Running && t.Start == e.Back.Start {
			t.State = Waiting
			if t.Extra {
				t.State, t.Extra = Paused, false
			}
		}
	case e.Pause != nil:
		if t := b.Trial(e.Pause.Trial); t != nil && t.Start == e.Pause.Start && t.State == Running {
			t.Lost = e.Pause.Lost
		}
	case e.Yield != nil:
		if t := b.Trial(e.Yield.Trial); t != nil && t.Start == e.Yield.Start {
			t.Yields = true
		}
	case e.Leads != nil:
		if e.Leads.Turn > b.Leads.Turn {
			b.Leads = *e.Leads
		}
	case e.Leave != nil:
		b.Answers[e.Leave.Lane] = Answer{Ask: e.Leave.Ask}
	case e.Rated != nil:
		b.rate(*e.Rated)
	case e.Over != NotOver:
		b.Over = e.Over
		for _, t := range b.Trials {
			if t.State == Waiting {
				t.State = Stopped
			}
		}
	case e.Again:
		b.Over = NotOver
		for _, t := range b.Trials {
			if t.State == Stopped {
				t.State = Waiting
			}
		}
	}
}

// tell begins a start of a trial. Start numbers only rise, so a start that is known already, or is
// older than the newest, has no effect.
func (b *Book) tell(e Telling, at time.Time) {
	t := b.known(e.Trial)
	if e.Start <= t.Start {
		return
	}
	if t.Start == 0 {
		t.Begun = at
	}
	if b.Began.IsZero() {
		b.Began = at
	}
	t.Point, t.Repeat, t.State, t.Start, t.Lane, t.Ask, t.Extra = e.Point, e.Repeat, Running, e.Start, e.Lane, e.Ask, e.Extra
	t.Words, t.Dropped, t.Yields, t.Lost, t.Origin = "", false, false, sweep.Lost{}, e.Origin
	b.Answers[e.Lane] = Answer{Ask: e.Ask, Trial: e.Trial, Start: e.Start}
}

// Take takes in a line of a lane. Lines of an earlier start of a trial add to its curve only. A
// line MUST be taken once: reports may be repeated, but failures of nodes are counted. Lines about
// a trial that is not known are lost, so Began MUST come before them, as it does in a lane's file.
//
// The end of a run counts only from the lane that was told to run it, in its newest start: a lane
// that Slurm gave up may still write about an earlier one.
func (b *Book) Take(lane string, e sweep.Event) {
	t := b.Trial(e.Trial)
	switch {
	case e.Kind == sweep.Began && (t == nil || t.Start < e.Start):
		b.find(lane, e)
	case e.Kind == sweep.Began && b.Answers[lane].Ask == e.Ask, e.Kind == sweep.Left && b.Answers[lane].Trial == 0:
		b.taken(lane)
	case t == nil:
	case e.Kind == sweep.Reported && e.Start <= t.Start:
		at := int64(0)
		if !e.At.IsZero() {
			at = e.At.UnixMilli()
		}
		b.mark(t, Mark{e.Epoch, e.Value, e.Others, e.Start, at})
	case e.Kind == sweep.Copied:
		t.Copied = &Copy{e.From, e.Epoch}
	case e.Kind == sweep.Dropped && !e.At.Before(t.Ended): // lines of lanes are read in any order
		t.Dropped, t.Checkpoint, t.Bytes = true, "", 0
	case e.Kind == sweep.EndedAs && e.Start == t.Start && t.Lane == lane && !t.Rests():
		b.ended(t, e)
	case e.Kind == sweep.EndedAs && e.Start < t.Start:
		t.earlier(e)
	}
}

// maxFound bounds what a book gives back as found: a user can write any number of such lines, and
// what is recorded fills sluiced's disk.
const maxFound = 2 * sweep.MaxTrials

// find takes in a start that the record does not know: it was lost, or is an older one that was put
// back. The lane's answer in the record is newer than what the lane began before it.
func (b *Book) find(lane string, e sweep.Event) {
	newer, known := b.Answers[lane]
	t := Telling{Lane: lane, Ask: e.Ask, Trial: e.Trial, Start: e.Start, Point: e.Point, Repeat: e.Repeat, Extra: e.Extra, Origin: e.Origin}
	b.tell(t, e.At)
	if b.foundAll++; b.foundAll <= maxFound {
		b.found = append(b.found, Entry{At: e.At, Tell: &t})
	}
	if known && !newer.taken {
		b.Answers[lane] = newer
		return
	}
	b.taken(lane)
}

func (b *Book) taken(lane string) {
	if a, known := b.Answers[lane]; known {
		a.taken = true
		b.Answers[lane] = a
	}
}

// Lacks reports whether Found returns anything.
func (b *Book) Lacks() bool { return len(b.found) > 0 }

// Found returns what lanes began and the record lacks, and forgets it. It is to be recorded BEFORE
// anything is decided from it, or a later daemon would take what is in the record for all there is.
func (b *Book) Found() []Entry {
	found := b.found
	b.found = nil
	return found
}

// earlier takes in how an earlier start ended.
func (t *Trial) earlier(e sweep.Event) {
	if e.How == sweep.Failed && e.Node {
		t.Faults++
		if t.State != Running && t.faulty == t.Start { // lines of lanes are read in any order
			t.State = Failed
		}
	}
	if t.Checkpoint == "" && t.State == Running {
		t.Checkpoint = e.Checkpoint
	}
}

// ended takes in how the newest run ended:
//
//	Done             Done
//	Failed           Failed; but after a first failure of which the node was at fault it goes on
//	Saved, Yielded   it goes on: Paused if it lost, else Waiting for another lane
func (b *Book) ended(t *Trial, e sweep.Event) {
	t.Ended = e.At
	if e.Checkpoint != "" {
		t.Checkpoint, t.Bytes, t.Dropped = e.Checkpoint, e.Bytes, false
	}
	switch e.How {
	case sweep.Done:
		t.State, t.Extra = Done, false
	case sweep.Failed:
		t.Words = e.Words
		if e.Node {
			t.Faults++
			t.faulty = t.Start
		}
		if e.Node && t.Faults == 1 {
			b.goesOn(t)
			break
		}
		t.State, t.Extra = Failed, false
	default:
		if e.Rung > 0 {
			t.Lost = e.Lost
		}
		b.goesOn(t)
	}
}

// goesOn gives a trial that is not at its end the state in which it waits to go on. Paused if it
// lost or was an extra one, Stopped if the sweep is over, else Waiting.
func (b *Book) goesOn(t *Trial) {
	switch {
	case t.Rung > 0 || t.Extra:
		t.State = Paused
	case b.Over != NotOver:
		t.State = Stopped
	default:
		t.State = Waiting
	}
	t.Extra = false
}
