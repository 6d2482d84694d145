package keeper

import (
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// lead chooses the lane that runs the program that is asked for points: the first one that runs, for as
// long as its run goes on. Each run of a lane has a turn of its own, so that nothing that an earlier
// run still writes is read.
func (s *step) lead(lanes []Lane) {
	if !s.plan.Asks || s.Over != book.NotOver {
		return
	}
	// The first slot stands for its lane, also after it has left.
	runs := func(l Lane) bool { return l.Asks && !l.Gone && l.Token == sweep.LaneOf(l.Token) }
	if slices.ContainsFunc(lanes, func(l Lane) bool {
		return runs(l) && l.Token == s.Leads.Lane && l.Ask.Restarts == s.Leads.Restarts
	}) {
		return
	}
	if i := slices.IndexFunc(lanes, runs); i >= 0 {
		s.record(book.Entry{Leads: &book.Leading{Lane: lanes[i].Token, Restarts: lanes[i].Ask.Restarts, Turn: max(s.Leads.Turn, s.seen.Turn) + 1}})
	}
}

// asked is the trial of the next answer. If there is none yet the lane waits, or decided is false: then
// it may run an extra trial. A searcher that has no more points ends the sweep once no regular trial
// runs or waits any more.
func (s *step) asked(number int) (next *book.Telling, decided bool) {
	if text, has := s.seen.Points[number]; has {
		point, ok := s.plan.point(text)
		if !ok {
			s.wait = true
			return nil, true
		}
		repeat := 0
		for _, t := range s.Trials {
			if t.Point == point.String() {
				repeat++
			}
		}
		return &book.Telling{Trial: number, Start: 1, Point: point.String(), Repeat: repeat}, true
	}
	if s.seen.None && !slices.ContainsFunc(s.Trials, regular) {
		s.record(book.Entry{Over: book.Exhausted})
		return nil, true
	}
	s.wait = !s.seen.None
	return nil, s.wait
}
