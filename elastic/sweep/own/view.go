package own

import (
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// Lane is one lane of a sweep.
type Lane struct {
	Token string
	Job   int64 // 0 = not known yet
	Left  bool  // it ended because it was not needed any more
	Runs  bool  // its runner wrote lately
}

// View is a sweep as its files show it.
type View struct {
	sweep.Sweep
	Folder   string
	Book     *book.Book
	Lanes    []Lane
	Starts   map[int][]digest.Start // of each trial, in the order in which they were read
	Standing sweep.Standing
	Sharing  []sweep.Sharing // what lanes measured, by their numbers of GPUs

	unnumbered  bool      // Number is that of its first lane
	begun, left time.Time // the newest start of a trial; the newest lane that said why the sweep is over
	end         book.End
	newest      time.Time        // of all lines
	offsets     map[string]int64 // by slot
	bytes       int64
}

// Lane returns a lane by its token, or by the name of one of its slots; false if there is none.
func (v *View) Lane(token string) (Lane, bool) {
	for _, l := range v.Lanes {
		if l.Token == sweep.LaneOf(token) {
			return l, true
		}
	}
	return Lane{}, false
}

// AtOnce is how many trials its lanes run at once: see sweep.Sweep.AtOnce.
func (v *View) AtOnce() int { return v.Sweep.AtOnce(v.Sharing) }

// LanesRun counts the lanes that run.
func (v *View) LanesRun() (n int) {
	for _, l := range v.Lanes {
		if l.Runs {
			n++
		}
	}
	return n
}

// Over says why the sweep is over; book.NotOver if it is not.
func (v *View) Over() book.End {
	switch {
	case !v.left.Before(v.begun) && v.end != book.NotOver:
		return v.end
	case v.State == sweep.Stopped:
		return book.ByUser
	}
	return book.NotOver
}

// States are the states of all trials as they are now: one whose lane does not run waits for another lane, or
// is stopped if the sweep is over. States()[0] is that of trial 1.
func (v *View) States() []book.State {
	runs := map[string]bool{}
	for _, l := range v.Lanes {
		runs[l.Token] = l.Runs
	}
	over, out := v.Over() != book.NotOver, make([]book.State, len(v.Book.Trials))
	for i, t := range v.Book.Trials {
		out[i] = stateNow(t, runs[sweep.LaneOf(t.Lane)], over)
	}
	return out
}

// stateNow is a trial's state if its lane runs or does not, and the sweep is over or not.
func stateNow(t *book.Trial, runs, over bool) book.State {
	switch {
	case t.Rests(), t.State == book.Running && runs:
		return t.State
	case over:
		return book.Stopped
	}
	return book.Waiting
}

// Source is what digests are made from. It changes with the view.
func (v *View) Source() digest.Source {
	s := digest.Source{Sweep: v.Sweep, Book: v.Book, States: v.States(), Starts: v.Starts, Jobs: map[string]int64{}}
	for _, l := range v.Lanes {
		s.Jobs[l.Token] = l.Job
	}
	return s
}

// Word is the sweep's state in one word: why it is over, or paused, running or waiting.
func (v *View) Word() string {
	switch end := v.Over(); {
	case end != book.NotOver:
		return string(end)
	case v.State == sweep.Paused:
		return "paused"
	}
	if slices.Contains(v.States(), book.Running) {
		return "running"
	}
	return "waiting"
}

// Summary is a sweep without its trials.
type Summary struct {
	sweep.Sweep
	Folder   string
	Word     string   // as View.Word
	End      book.End // as View.Over
	Begun    int
	Counts   map[book.State]int
	Lanes    int        // that run
	Best     *book.Best // nil = nothing was reported yet
	Standing sweep.Standing
}

// Summary sums a view up. It goes through all trials and marks.
func (v *View) Summary() Summary {
	return Summary{Sweep: v.Sweep, Folder: v.Folder, Word: v.Word(), End: v.Over(), Begun: len(v.Book.Trials), Counts: v.Counts(), Lanes: v.LanesRun(), Best: v.Book.Result(v.Sweep), Standing: v.Standing}
}

// Counts counts the trials by their state now.
func (v *View) Counts() map[book.State]int {
	out := map[book.State]int{}
	for _, state := range v.States() {
		out[state]++
	}
	return out
}
