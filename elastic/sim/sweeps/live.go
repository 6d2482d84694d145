package sweeps

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/sweep/level"
	"github.com/sluice-hpc/sluice/elastic/sweep/rung"
)

// Live is a sweep whose lanes a simulator of a whole cluster starts and stops. Trials are chosen as
// package keeper does: those that go on, those that are among the best of their rung again, new
// ones, and where GPUs would idle those that lost. Times are seconds after the simulation's start,
// and never go back from call to call.
type Live struct {
	Arrival
	sweep *Sweep
	seats []seat
	rule  level.Rule
	level level.State
	now   float64
	over  float64   // when it was over; negative = it is not
	done  []float64 // best metrics of the trials that ran to their end, as they came
	spent float64   // GPU-seconds of these
}

// seat is a lane.
type seat struct {
	on    bool // it has its GPU
	gone  bool // it has left
	trial *trial
	at    float64 // of its next event: it asks, or an epoch ends; when it left
	began float64 // up to when the trial's time is booked
	ready float64 // the trial trains from then on
}

// Told is what policies know of the sweep, as sluiced tells them: neither the goal nor curves to
// come.
type Told struct {
	Over   bool
	Wants  int // lanes that it can use now
	Level  int
	Gap    float64
	Trials int     // that are done or paused
	Bid    float64 // level.Bid
}

// Outcome is how far the sweep has come.
type Outcome struct {
	Begun, Done, Paused int     // trials
	Reached             float64 // when its goal was reached; negative = not
	Over                float64 // when it was over; negative = not
}

// NewLive returns the sweep as it comes: none of its lanes has a GPU.
func NewLive(a Arrival) *Live {
	rng := rand.New(rand.NewPCG(a.Seed, 0x5eed))
	l := &Live{Arrival: a, sweep: newSweep(0, 0, a.Task, a.Trials, a.Goal, rng), seats: make([]seat, a.Lanes), rule: level.DefaultRule(), over: -1}
	if a.Halving {
		l.sweep.board, l.sweep.paced = rung.NewBoard(rung.Rule{Epochs: a.Task.Epochs(), Max: true}), true
	}
	return l
}

// Start gives a lane, from 0, its GPU. It asks for a trial at that time. A lane MUST NOT be started
// twice without a Stop between, or after it has left.
func (l *Live) Start(lane int, at float64) { l.seats[lane] = seat{on: true, at: at} }

// Stop takes a lane's GPU away. Its trial saves, and goes on in another lane with what is left of its
// epoch.
func (l *Live) Stop(lane int, at float64) {
	s := &l.seats[lane]
	l.putBack(s, at)
	s.on = false
}

// Left returns when a lane left by itself; false if it has not.
func (l *Live) Left(lane int) (at float64, left bool) { return l.seats[lane].at, l.seats[lane].gone }

// Pass lets the time pass. idle: GPUs would idle, so that trials that lost may go on.
func (l *Live) Pass(until float64, idle bool) {
	for i := range l.seats {
		if s := &l.seats[i]; s.on && s.trial != nil && s.trial.extra && !idle {
			l.putBack(s, l.now)
			s.at = l.now
		}
	}
	for {
		var next *seat
		for i := range l.seats {
			if s := &l.seats[i]; s.on && s.at <= until && (next == nil || s.at < next.at) {
				next = s
			}
		}
		if next == nil {
			break
		}
		l.now = max(l.now, next.at)
		if next.trial == nil {
			l.ask(next, idle)
		} else {
			l.epoch(next)
		}
	}
	l.now = until
}

// Told returns what policies know.
func (l *Live) Told() Told {
	t := Told{Over: l.over >= 0, Level: l.level.Level, Gap: l.level.Gap, Trials: len(l.done) + len(l.sweep.paused)}
	spent := l.spent
	for _, p := range l.sweep.paused {
		spent += p.spent
	}
	t.Bid = level.Bid(level.Progress{Trials: t.Trials, Seconds: spent, Assumed: 1})
	if !t.Over {
		t.Wants = min(l.Lanes, l.sweep.waits()+l.running())
	}
	return t
}

// Outcome returns how far the sweep has come.
func (l *Live) Outcome() Outcome {
	return Outcome{Begun: l.sweep.Asked, Done: len(l.done), Paused: len(l.sweep.paused), Reached: l.sweep.reached, Over: l.over}
}

func (l *Live) running() (n int) {
	for i := range l.seats {
		if s := &l.seats[i]; s.on && s.trial != nil {
			n++
		}
	}
	return n
}

// book adds the seat's time up to now to its trial.
func (l *Live) book(s *seat, now float64) {
	l.sweep.Seconds += now - s.began
	s.trial.spent += now - s.began
	s.began = now
}

// putBack takes the seat's trial, which saves.
func (l *Live) putBack(s *seat, now float64) {
	t := s.trial
	if t == nil {
		return
	}
	l.book(s, now)
	if now > s.ready {
		t.rest = max(s.at-now, math.SmallestNonzeroFloat64)
	}
	if s.trial = nil; t.extra {
		t.extra = false
		l.sweep.paused = append(l.sweep.paused, t)
	} else {
		l.sweep.ahead = append(l.sweep.ahead, t)
	}
}

// ask gives a lane its next trial, or lets it leave.
func (l *Live) ask(s *seat, idle bool) {
	if l.over >= 0 {
		s.on, s.gone = false, true
		return
	}
	t := l.next(idle)
	if t == nil {
		s.on, s.gone = false, true
		if !l.regular() {
			l.end(s.at)
		}
		return
	}
	rest := t.rest
	if t.rest = 0; rest == 0 {
		rest = l.length(t)
	}
	s.trial, s.began, s.ready = t, s.at, s.at+l.Arrival.Start
	s.at = s.ready + rest
}

// next chooses as keeper's next does.
func (l *Live) next(idle bool) *trial {
	s := l.sweep
	if len(s.ahead) == 0 && s.board != nil {
		if t := s.promote(); t != nil {
			return t
		}
	}
	if t := s.next(); t != nil {
		return t
	}
	if idle && s.board != nil && l.regular() {
		return s.resume()
	}
	return nil
}

// regular reports whether a trial runs that the sweep waits for.
func (l *Live) regular() bool {
	for i := range l.seats {
		if t := l.seats[i].trial; t != nil && !t.extra {
			return true
		}
	}
	return false
}

// epoch takes in the end of an epoch.
func (l *Live) epoch(s *seat) {
	t, now := s.trial, s.at
	l.book(s, now)
	l.sweep.report(t, now)
	last := t.epoch == l.sweep.Epochs
	switch {
	case last || l.loses(t):
		if s.trial = nil; last {
			l.done = append(l.done, slices.Max(l.Task.Metric[t.config]))
			l.level = l.rule.Done(l.level, l.done, true)
			l.spent += t.spent
		} else {
			l.sweep.paused = append(l.sweep.paused, t)
		}
	default:
		s.at = now + l.length(t)
	}
	if l.sweep.reached >= 0 {
		l.end(now)
	}
}

// loses reports whether a trial is not among the best of its rung.
func (l *Live) loses(t *trial) bool {
	return l.sweep.board != nil && !t.extra && l.sweep.board.Verdict(t.number).Pause
}

// end makes the sweep over: its lanes leave.
func (l *Live) end(now float64) {
	if l.over >= 0 {
		return
	}
	l.over = now
	for i := range l.seats {
		if s := &l.seats[i]; s.on {
			l.putBack(s, now)
			s.on, s.gone, s.at = false, true, now
		}
	}
}

// length is the duration of the trial's next epoch, s.
func (l *Live) length(t *trial) float64 {
	seconds := l.Task.Seconds[t.config]
	if t.epoch == 0 {
		return seconds[0]
	}
	return max(seconds[t.epoch]-seconds[t.epoch-1], 0)
}
