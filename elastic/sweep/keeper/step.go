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

// Lane is a lane of the sweep as it was read, or a slot of one. Its ask MUST be read BEFORE its lines: a
// lane asks once it has written how its last trial ended. Token is the lane's, or the slot's name
// (sweep.SlotName); Job is the lane's job id in Slurm. Of lanes that are not among those passed, nothing is
// concluded: their trials stay running. A caller that knows a lane's job to have ended MUST therefore still
// pass it, as Gone.
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
	// Points are the answers of the program that is asked, by the number of the trial; None: it has no
	// more. Of a sweep that asks only.
	Points map[int]string
	None   bool
	Turn   int // the highest turn of which there are answers, also where the record was lost
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
	s := &step{Book: b, plan: p, now: now, seen: seen, kept: p.kept(lanes)}
	slices.SortFunc(lanes, func(x, y Lane) int { return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.Token, y.Token)) })
	s.back(lanes)
	s.lead(lanes)
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
	seen Seen
	wait bool            // the next point is being asked for
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
// time, all tried. What an extension (`sluice sweep`) made untrue is taken back with Again: also
// Exhausted and Unsolvable, if the space has a point now.
func (s *step) end() {
	sw := s.plan.Sweep
	if s.Over != book.NotOver {
		if s.Resumes(sw, s.now) || s.larger() {
			s.record(book.Entry{Again: true})
		}
		return
	}
	switch {
	case sw.State == sweep.Stopped:
		s.record(book.Entry{Over: book.ByUser})
	case s.Reached(sw):
		s.record(book.Entry{Over: book.AtGoal})
	case s.Failures() >= sw.MaxFailures:
		s.record(book.Entry{Over: book.TooMany})
	case s.TooLong(sw, s.now):
		s.record(book.Entry{Over: book.TooLong})
	case len(s.Trials) >= sw.Trials && !slices.ContainsFunc(s.Trials, regular):
		s.record(book.Entry{Over: book.AllTried})
	}
}

// larger reports whether a space that had no more points has one now. A program that is asked and had none
// is not asked again.
func (s *step) larger() bool {
	sw := s.plan.Sweep
	if s.plan.Asks || s.Over != book.Exhausted && s.Over != book.Unsolvable || sw.State == sweep.Stopped || sw.Trials <= len(s.Trials) {
		return false
	}
	list, _ := search.Suggest(s.plan.Problem, s.history(), 1)
	return len(list) == 1
}

// regular reports whether a sweep waits for a trial before it is over.
func regular(t *book.Trial) bool { return !t.Rests() && !t.Extra }

// pause pauses the trials that lost at a rung. The entry only marks the trial: it runs until its
// lane has saved it. Extra trials lost before, and are not judged again.
func (s *step) pause() {
	if s.plan.Problem.Method == population && s.Over == book.NotOver {
		s.replace()
		return
	}
	rule, ok := s.rungs()
	if !ok || s.Over != book.NotOver {
		return
	}
	points, repeats := s.points()
	for _, v := range rule.Verdicts(points) {
		for _, t := range repeats[v.Trial] {
			if v.Pause {
				s.lost(t, sweep.Lost{Rung: v.Rung, Rank: v.Rank, Of: v.Of})
			}
		}
	}
}

// lost marks a trial as one that lost, unless it does not run for a place any more.
func (s *step) lost(t *book.Trial, place sweep.Lost) bool {
	if last, _ := t.Last(); s.plan.Sweep.Epochs > 0 && last.Epoch >= s.plan.Sweep.Epochs {
		return false // it is about to end
	}
	if t.State != book.Running || t.Extra || t.Rung > 0 {
		return false
	}
	s.record(book.Entry{Pause: &book.Verdict{Trial: t.Number, Start: t.Start, Lost: place}})
	return true
}

// points is the history with the repeats of each point as one trial, of the mean of their metrics, by
// the number of its first; and the trials of each.
func (s *step) points() (out []search.Observation, repeats map[int][]*book.Trial) {
	repeats = map[int][]*book.Trial{}
	for _, r := range search.Results(s.history()) {
		o := search.Observation{Trial: r.Trials[0], Point: r.Point, State: r.State, Curve: r.Curve}
		for _, i := range r.Trials {
			repeats[o.Trial] = append(repeats[o.Trial], s.Trials[i])
		}
		out = append(out, o)
	}
	return out, repeats
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
		if l.Gone || !l.Asks || l.Ask.Leaves || s.Answers[l.Token].Ask == l.Ask.ID {
			continue
		}
		if s.Over != book.NotOver {
			s.record(book.Entry{Leave: &book.Which{Lane: l.Token, Ask: l.Ask.ID}})
			continue
		}
		if s.plan.Sweep.State == sweep.Paused {
			continue
		}
		s.wait = false
		if next := s.nextOf(l, lanes, idle); next != nil {
			next.Lane, next.Ask = l.Token, l.Ask.ID
			s.record(book.Entry{Tell: next})
		} else if !s.wait {
			s.record(book.Entry{Leave: &book.Which{Lane: l.Token, Ask: l.Ask.ID}})
		}
	}
}

// next chooses what the next lane runs: a trial that goes on, a paused one that is among the best
// of its rung by now, a new one, or, while GPUs would idle and others still run, the best of those
// that lost. nil = nothing. Lane and Ask are set by the caller. Trials that go on come first, since
// their GPU time is spent already. An exhausted space ends the sweep only when no regular trial runs or
// waits any more. Extra trials need a regular one beside them, or they would keep a sweep that is over
// alive.
func (s *step) next(idle bool) *book.Telling {
	for _, t := range s.Trials {
		if t.State == book.Waiting && t.Point != "" && !s.kept[t.Lane] {
			return again(t)
		}
	}
	if t := s.returns(); t != nil {
		return again(t)
	}
	number := len(s.Trials) + 1
	if i := slices.IndexFunc(s.Trials, func(t *book.Trial) bool { return t.Point == "" }); i >= 0 {
		number = i + 1 // the record was lost, and no lane had begun it
	}
	if s.plan.Asks && number <= s.plan.Sweep.Trials && number > len(s.plan.Problem.Tries) {
		if next, decided := s.asked(number); decided {
			return next
		}
	} else if number <= s.plan.Sweep.Trials {
		list, err := search.Suggest(s.plan.Problem, s.before(number), 1)
		switch {
		case len(list) == 1:
			o := list[0].Origin
			return &book.Telling{Trial: number, Start: 1, Point: list[0].Point.String(), Repeat: list[0].Repeat, Origin: sweep.Origin{From: o.From, FromEpoch: o.Epoch, Replaces: o.Replaces}}
		case !slices.ContainsFunc(s.Trials, regular):
			why := book.Exhausted
			switch {
			case errors.Is(err, search.ErrConstraints):
				why = book.Unsolvable
			case errors.Is(err, search.ErrWait):
				why = book.AllEnded
			}
			s.record(book.Entry{Over: why})
			return nil
		}
	}
	if idle && s.plan.Halving && slices.ContainsFunc(s.Trials, regular) {
		if t := s.bestPaused(); t != nil {
			next := again(t)
			next.Extra = true
			return next
		}
	}
	return nil
}

// again is the next start of a trial.
func again(t *book.Trial) *book.Telling {
	return &book.Telling{Trial: t.Number, Start: t.Start + 1, Point: t.Point, Repeat: t.Repeat, Origin: t.Origin}
}

// returns is the first paused trial that would not be paused now, since trials after it were worse
// (rung.Returns); nil if there is none.
func (s *step) returns() *book.Trial {
	if list := s.returning(); len(list) > 0 {
		return list[0]
	}
	return nil
}

// returning lists the paused trials that would not be paused now, the first to go on first. A point of which
// one repeat goes on already, or is done, is not whole while another one rests: that counts as paused, too.
func (s *step) returning() (list []*book.Trial) {
	rule, ok := s.rungs()
	if !ok {
		return nil
	}
	rests := func(t *book.Trial) bool { return t.State == book.Paused }
	points, repeats := s.points()
	for i := range points {
		if slices.ContainsFunc(repeats[points[i].Trial], rests) {
			points[i].State = search.Paused
		}
	}
	for _, i := range rule.Returns(points) {
		for _, t := range repeats[i] {
			if rests(t) {
				list = append(list, t)
			}
		}
	}
	return list
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

// before is the history by which a trial is suggested. One between others, which nobody had begun when the record
// was lost, is suggested as it was at first, from the trials before it. A population has no such order: its
// newest member is a copy of another one as that is now.
func (s *step) before(number int) []search.Observation {
	history := s.history()
	if s.plan.Problem.Method == population {
		return history
	}
	return slices.DeleteFunc(history, func(o search.Observation) bool { return o.Trial >= number-1 })
}

// history is the book as the searchers see it. Points that cannot be read are left out; there are
// none unless a user wrote them. Numbers are from 0 there, from 1 here. An extra trial counts as
// paused, so no verdict is about it; what it reports counts all the same. Waiting and running
// trials are both Running. Fractions of epochs are cut off: what was reported within the first
// epoch is epoch 0.
func (s *step) history() []search.Observation {
	out := make([]search.Observation, 0, len(s.Trials))
	for _, t := range s.Trials {
		o := search.Observation{Trial: t.Number - 1, Repeat: t.Repeat, State: search.Running, Origin: origin(t)}
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
		s.inherit(t, &o)
		out = append(out, o)
	}
	return out
}

// rungs returns where trials are compared; false if the algorithm has none.
func (p Plan) rungs() (rung.Rule, bool) {
	return rung.Rule{Epochs: int(min(p.Sweep.Epochs, sweep.MaxRung)), At: p.Sweep.Rungs, Reduction: p.Sweep.Reduction, Max: p.Sweep.Metric.Max}, p.Halving
}
