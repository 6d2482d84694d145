package offcycle

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/keeper"
)

// asked is what is known of the program that a sweep asks for points. It runs in a lane; here only its
// answers are read.
type asked struct {
	turn   sweep.Turn // as it is published
	read   int        // the turn whose transcript points and none are of
	offset int64
	points map[int]string
	none   bool
	since  time.Time // a lane has waited for a point; zero = none waits
}

// answers reads the answers of the present turn. What a lane of an earlier turn still writes is not
// read: the present one's transcript begins with what it took over.
func (f *files) answers(base *checkpoint.Dir, seen *keeper.Seen) error {
	a := &f.asked
	if !f.plan.Asks {
		return nil
	}
	leads := f.book.Leads
	if !slices.ContainsFunc(seen.Lanes, func(l keeper.Lane) bool {
		return l.Asks && !l.Gone && l.Token == leads.Lane && l.Ask.Restarts == leads.Restarts
	}) { // the next turn must be one that none was, also if the record is an older one
		turn, err := f.highest(base)
		if seen.Turn = turn; err != nil {
			return err
		}
	}
	if leads.Turn == 0 {
		return nil
	}
	if a.read != leads.Turn {
		*a = asked{turn: a.turn, since: a.since, read: leads.Turn, points: map[int]string{}}
	}
	if err := f.transcript(base); err != nil {
		return err
	}
	seen.Points, seen.None = a.points, a.none
	return nil
}

// errNoSearcher: no lane has begun to ask the program.
var errNoSearcher = errors.New("no transcripts")

// searcher opens the folder of the transcripts.
func (f *files) searcher(base *checkpoint.Dir) (*checkpoint.Dir, error) {
	dir, err := base.Owned(f.token, f.uid)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	sub, err := dir.Sub(sweep.SearcherFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoSearcher
	}
	return sub, err
}

// highest is the highest turn of which there is a transcript: of one that was recorded in a record that was
// lost. 0 = there is none.
func (f *files) highest(base *checkpoint.Dir) (turn int, err error) {
	dir, err := f.searcher(base)
	if errors.Is(err, errNoSearcher) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	names, err := dir.Names(mostLanes)
	for _, name := range names {
		if n, is := sweep.TurnOf(name); is {
			turn = max(turn, n)
		}
	}
	return turn, err
}

// transcript takes in the new lines of the present turn's transcript.
func (f *files) transcript(base *checkpoint.Dir) error {
	a := &f.asked
	dir, err := f.searcher(base)
	if errors.Is(err, errNoSearcher) {
		return nil
	}
	if err != nil {
		return err
	}
	defer dir.Close()
	file, info, err := dir.Open(sweep.Transcript(a.read))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if info.Size() > mostOfLane { // nor can a lane go on from it
		return tooMuch{size: info.Size(), searcher: true}
	}
	a.offset, err = sweep.Lines(file, a.offset, info.Size(), a.take)
	return err
}

// take takes in a line of the transcript.
func (a *asked) take(line []byte) {
	switch s, err := sweep.ParseSpoken(line); {
	case err != nil: // a torn one
	case s.Point != nil:
		a.points[s.Point.Trial] = s.Point.Point
	case s.None:
		a.none = true
	}
}

// wants finds how many points are wanted: one for each trial, and one for each lane that waits for a
// new one.
func (f *files) wants(seen keeper.Seen, now time.Time) {
	if !f.plan.Asks {
		return
	}
	waits := 0
	for _, l := range seen.Lanes {
		if l.Asks && !l.Gone && !l.Ask.Leaves && f.book.Answers[l.Token].Ask != l.Ask.ID {
			waits++
		}
	}
	switch {
	case waits == 0 || f.plan.Sweep.State != sweep.Active:
		f.asked.since = time.Time{}
	case f.asked.since.IsZero():
		f.asked.since = now
	}
	f.pace.stops = f.pace.stops || !f.asked.since.IsZero() && now.Sub(f.asked.since) < soonAfter
	leads := f.book.Leads
	f.asked.turn = sweep.Turn{
		Lane: leads.Lane, Restarts: leads.Restarts, Turn: leads.Turn, Points: min(len(f.book.Trials)+waits, f.plan.Sweep.Trials),
	}
}
