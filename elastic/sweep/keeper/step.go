package keeper

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/rung"
	"github.com/sluice-hpc/sluice/elastic/sweep/search"
)

// Lane is a lane of the sweep as it was read. Its ask MUST be read BEFORE its lines: a lane asks
// once it has written how its last trial ended. Token names the lane's folder, Job is its job id in
// Slurm. Of lanes that are not among those passed, nothing is concluded: their trials stay running.
// A caller that knows a lane's job to have ended MUST therefore still pass it, as Gone.
type Lane struct {
	Token string
	Job   int64
	Gone  bool // its job ended, or waits and its last run is certainly over
	Ended bool // its job ended: it does not come back
	Asks  bool // Ask is the last that it wrote; false = it wrote none, or it could not be read
	Ask   sweep.Ask
}

// Seen is what was read for one step. Lanes may be in any order and is not changed.
type Seen struct {
	Lanes []Lane
	// Idle: GPUs would idle, so that trials that lost may go on.
	Idle bool
}

// Step decides, from the book and what was read at now. The entries are to be recorded, in their
// order, BEFORE Told is carried out; they are applied to the book already. None if nothing is to be
// done; calling it again with the same input then returns none too. Lanes are served in the order
// of their job ids.
//
// The order inside: trials of lost lanes come back BEFORE lanes are answered, so that the next lane
// goes on with them; whether the sweep is over is known BEFORE anything is paused or told.
func Step(b *book.Book, p Plan, seen Seen, now time.Time) (entries []book.Entry) {
	lanes := slices.Clone(seen.Lanes)
	s := &step{Book: b, plan: p, now: now, kept: p.kept(lanes)}
	slices.SortFunc(lanes, func(x, y Lane) int { return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Token, y.Token)) })
	s.back(lanes)
	s.end()
	s.pause()
	s.yield(seen.Idle)
	s.assign(lanes, seen.Idle)
	// A sweep that was extended may be over for another reason, and Again was all that the first
	// end did.
	s.end()
	return s.out
}

// step is one call of Step: the book as it is after the entries of out.
type step struct {
	*book.Book
	plan Plan
	now  time.Time
	out  []book.Entry
	kept map[string]bool // lanes whose trials go on in no other lane
}

// record applies an entry at once: what follows in the same step sees it.
func (s *step) record(e book.Entry) {
	e.At = s.now.UTC()
	s.Apply(e)
	s.out = append(s.out, e)
}

// back hands back the trials of lanes that are gone, or that ask for another one. A lane that asks
// anew has written how its last trial ended, if it knew: the book has that already, and the trial
// is not Running. If it still is, the lane was killed and the end is unknown.
func (s *step) back(lanes []Lane) {
	known := map[string]Lane{}
	for _, l := range lanes {
		known[l.Token] = l
	}
	for _, t := range s.Trials {
		if t.State != book.Running {
			continue
		}
		l, is := known[t.Lane]
		if is && (l.Gone || l.Asks && l.Ask.ID != t.Ask) {
			s.record(book.Entry{Back: &book.Which{Lane: t.Lane, Trial: t.Number, Start: t.Start}})
		}
	}
}

// end notices that the sweep is over, or that it is not any more. The reasons are asked for in a
// fixed order, so that two at once give the same one in a repetition: the user, the goal, failures,
// time, all tried. What an extension (`sluice sweep`) made untrue is taken back with Again;
// Exhausted and Unsolvable stay.
func (s *step) end() {
	sw := s.plan.Sweep
	if s.Over != book.NotOver {
		more := s.Over == book.AllTried && sw.Trials > len(s.Trials) || s.Over == book.TooMany && s.Failures() < sw.MaxFailures ||
			s.Over == book.ByUser && sw.State != sweep.Stopped || s.Over == book.AtGoal && !s.reached() || s.Over == book.TooLong && !s.tooLong()
		if more && sw.State != sweep.Stopped {
			s.record(book.Entry{Again: true})
		}
		return
	}
	switch {
	case sw.State == sweep.Stopped:
		s.record(book.Entry{Over: book.ByUser})
	case s.reached():
		s.record(book.Entry{Over: book.AtGoal})
	case s.Failures() >= sw.MaxFailures:
		s.record(book.Entry{Over: book.TooMany})
	case s.tooLong():
		s.record(book.Entry{Over: book.TooLong})
	case len(s.Trials) >= sw.Trials && !slices.ContainsFunc(s.Trials, regular):
		s.record(book.Entry{Over: book.AllTried})
	}
}

// tooLong reports whether the sweep's time is over, if it has one.
func (s *step) tooLong() bool {
	within := s.plan.Sweep.Within
	return within > 0 && !s.Began.IsZero() && s.now.Sub(s.Began) >= within
}

// regular reports whether a sweep waits for a trial before it is over.
func regular(t *book.Trial) bool { return !t.Rests() && !t.Extra }

// reached reports whether a trial is as good as the goal. A trial that is exactly as good as the
// goal reaches it. Trials that still run count.
func (s *step) reached() bool {
	goal := s.plan.Sweep.Goal
	if goal == nil {
		return false
	}
	best, mark := s.Best(s.plan.Sweep.Metric)
	return best != nil && !s.plan.Sweep.Metric.Better(*goal, mark.Value)
}

// pause pauses the trials that lost at a rung. The entry only marks the trial: it runs until its
// lane has saved it. Extra trials lost before, and are not judged again.
func (s *step) pause() {
	rule, ok := s.plan.rungs()
	if !ok || s.Over != book.NotOver {
		return
	}
	for _, v := range rule.Verdicts(s.history()) {
		t := s.Trials[v.Trial]
		if last, _ := t.Last(); last.Epoch >= s.plan.Sweep.Epochs {
			continue // it is about to end
		}
		if v.Pause && t.State == book.Running && !t.Extra && t.Rung == 0 {
			s.record(book.Entry{Pause: &book.Verdict{Trial: t.Number, Start: t.Start, Lost: sweep.Lost{Rung: v.Rung, Rank: v.Rank, Of: v.Of}}})
		}
	}
}

// yield makes room where trials that lost run and GPUs would not idle any more. It only marks them,
// as pause does; their lanes then ask for regular trials.
func (s *step) yield(idle bool) {
	if idle || s.Over != book.NotOver {
		return
	}
	for _, t := range s.Trials {
		if t.State == book.Running && t.Extra && !t.Yields {
			s.record(book.Entry{Yield: &book.Which{Trial: t.Number, Start: t.Start}})
		}
	}
}

// assign answers the lanes that ask. A lane whose ask has its answer is passed over, so a step may
// be repeated. Lanes of a paused sweep get no answer: they wait, and end by themselves after a
// time. The lane gives its GPUs back where nothing is left for it (Leave).
func (s *step) assign(lanes []Lane, idle bool) {
	for _, l := range lanes {
		if l.Gone || !l.Asks || s.Answers[l.Token].Ask == l.Ask.ID {
			continue
		}
		if s.Over != book.NotOver {
			s.record(book.Entry{Leave: &book.Which{Lane: l.Token, Ask: l.Ask.ID}})
			continue
		}
		if s.plan.Sweep.State == sweep.Paused {
			continue
		}
		if next := s.nextOf(l, lanes, idle); next != nil {
			next.Lane, next.Ask = l.Token, l.Ask.ID
			s.record(book.Entry{Tell: next})
		} else {
			s.record(book.Entry{Leave: &book.Which{Lane: l.Token, Ask: l.Ask.ID}})
		}
	}
}

// next chooses what the next lane runs: a trial that goes on, a paused one that is among the best
// of its rung by now, a new one, or, while GPUs would idle and others still run, the best of those
// that lost. nil = nothing. Lane and Ask are set by the caller. Trials that go on come first, since
// their GPU time is spent already. An exhausted space
// ends the sweep only when no regular trial runs or waits any more. Extra trials need a regular one
// beside them, or they would keep a sweep that is over alive.
func (s *step) next(idle bool) *book.Telling {
	for _, t := range s.Trials {
		if t.State == book.Waiting && t.Point != "" && !s.kept[t.Lane] {
			return &book.Telling{Trial: t.Number, Start: t.Start + 1, Point: t.Point, Repeat: t.Repeat}
		}
	}
	if t := s.returns(); t != nil {
		return &book.Telling{Trial: t.Number, Start: t.Start + 1, Point: t.Point, Repeat: t.Repeat}
	}
	number := len(s.Trials) + 1
	if i := slices.IndexFunc(s.Trials, func(t *book.Trial) bool { return t.Point == "" }); i >= 0 {
		number = i + 1 // the record was lost, and no lane had begun it
	}
	if number <= s.plan.Sweep.Trials {
		list, err := search.Suggest(s.plan.Problem, s.history(), 1)
		switch {
		case len(list) == 1:
			return &book.Telling{Trial: number, Start: 1, Point: list[0].Point.String(), Repeat: list[0].Repeat}
		case !slices.ContainsFunc(s.Trials, regular):
			why := book.Exhausted
			if errors.Is(err, search.ErrConstraints) {
				why = book.Unsolvable
			}
			s.record(book.Entry{Over: why})
			return nil
		}
	}
	if idle && slices.ContainsFunc(s.Trials, regular) {
		if t := s.bestPaused(); t != nil {
			return &book.Telling{Trial: t.Number, Start: t.Start + 1, Point: t.Point, Repeat: t.Repeat, Extra: true}
		}
	}
	return nil
}

// returns is the first paused trial that would not be paused now, since trials after it were worse
// (rung.Returns); nil if there is none.
func (s *step) returns() *book.Trial {
	rule, ok := s.plan.rungs()
	if !ok {
		return nil
	}
	for _, i := range rule.Returns(s.history()) {
		if t := s.Trials[i]; t.State == book.Paused {
			return t
		}
	}
	return nil
}

// bestPaused returns the paused trial with the best metric at the highest rung. By the epoch of its
// last report, then by the metric there, then by number; nil if none is paused.
func (s *step) bestPaused() (best *book.Trial) {
	m := s.plan.Sweep.Metric
	for _, t := range s.Trials {
		last, ok := t.Last()
		if t.State != book.Paused || !ok {
			continue
		}
		if best == nil {
			best = t
			continue
		}
		if mark, _ := best.Last(); last.Epoch > mark.Epoch || last.Epoch == mark.Epoch && m.Better(last.Value, mark.Value) {
			best = t
		}
	}
	return best
}

// history is the book as the searchers see it. Points that cannot be read are left out; there are
// none unless a user wrote them. Numbers are from 0 there, from 1 here. An extra trial counts as
// paused, so no verdict is about it; what it reports counts all the same. Waiting and running
// trials are both Running. Fractions of epochs are cut off: what was reported within the first
// epoch is epoch 0, which search.Curve leaves out.
func (s *step) history() []search.Observation {
	out := make([]search.Observation, 0, len(s.Trials))
	for _, t := range s.Trials {
		o := search.Observation{Trial: t.Number - 1, Repeat: t.Repeat, State: search.Running}
		point, ok := s.plan.point(t.Point)
		if !ok {
			continue
		}
		o.Point = point
		switch t.State {
		case book.Paused, book.Stopped:
			o.State = search.Paused
		case book.Failed:
			o.State = search.Failed
		case book.Done:
			o.State = search.Done
		}
		if t.Extra {
			o.State = search.Paused
		}
		for _, m := range t.Curve {
			o.Curve = append(o.Curve, search.Measure{Epoch: int(m.Epoch), Value: m.Value})
		}
		out = append(out, o)
	}
	return out
}

// rungs returns where trials are compared; false if the algorithm has none. It has none either if
// the sweep does not say of how many epochs a trial is, or of fewer than 2.
func (p Plan) rungs() (rung.Rule, bool) {
	if !p.Halving || p.Sweep.Epochs < 2 {
		return rung.Rule{}, false
	}
	return rung.Rule{Epochs: int(p.Sweep.Epochs), Max: p.Sweep.Metric.Max}, true
}
