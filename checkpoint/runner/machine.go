package runner

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
)

// stopped is the exit code of a run that Slurm ended: 128 + SIGTERM.
const stopped = 143

// state is where a run is. It is a value: step returns a changed copy.
type state struct {
	phase     checkpoint.RunnerState
	request   *checkpoint.Request // handed on to the program; nil = none
	answer    *checkpoint.Answer  // to it, or to a request that was settled
	verifying string              // the checkpoint being verified as an answer
	alive     bool                // the script runs
	exit      *process.Exit       // how it ended, when it is not alive
	stopping  bool                // Slurm told the job to end
	retries   int                 // times a failed script is started again without new progress
	judged    bool                // but not one that failed for a reason of its own (see own)
	reached   reached             // how far it had come when it ended last
	before    reached             // and when it failed the time before
	tried     int                 // times in a row it failed
	hung      int                 // times in a row it was ended because a step hung, or failed after that
	stranded  bool                // the last end was such; sluiced is to start the job afresh
}

// mostHung bounds how often in a row the script is started again after a step hung,
// without new progress. That a node was lost is no failure of the script's; and where
// the node is really gone the script fails until Slurm has noticed.
const mostHung = 5

// The events, things that happen to a run.
type (
	// ready: the newest valid checkpoint is known, or that there is none. newer
	// than the one the script was started from before.
	ready struct{ newer bool }
	// lost: what checkpoints there are cannot be found out.
	lost struct{}
	// asked: a request for this run stands in the outbox, new or prolonged.
	asked struct{ request checkpoint.Request }
	// withdrawn: it no longer does, or was given up.
	withdrawn struct{}
	// sealed: a manifest appeared that answers the request.
	sealed struct{ name string }
	// verified: the checkpoint was compared with its manifest.
	verified struct {
		name      string
		manifest  checkpoint.Manifest
		committed time.Time
		at        time.Time
		err       error
	}
	// passed: nobody came for the answer, and the program, which knows of nothing,
	// has trained on beyond it.
	passed struct{}
	// ended: the script ended. complete when the program had said that its work
	// is finished; candidate is a checkpoint found in a last look that may
	// answer the request; hung when the runner ended it because of a step that
	// would never have.
	ended struct {
		exit      process.Exit
		complete  bool
		hung      bool
		candidate string
		reached   reached
		again     bool // it ended because of a checkpoint by time, not of itself
	}
	// told: Slurm sent SIGTERM.
	told struct{}
)

// The effects, in the order in which they are carried out.
type (
	relay   struct{ request checkpoint.Request } // hand the request to the program
	unrelay struct{}                             // take it back
	find    struct{}                             // find the newest valid checkpoint
	start   struct{}                             // start the script from it
	verify  struct{ name string }                // verify an answer
	forward struct{}                             // pass SIGTERM on to the script
	drain   struct{}                             // end the script at once: its work is saved
	settle  struct{}                             // end its steps, for Slurm is about to
	quit    struct{ code int }                   // end the run
)

// step says what follows from an event. An event that means nothing in a state
// changes nothing.
func (s state) step(event any) (state, []any) {
	switch e := event.(type) {
	case ready:
		return s.ready(e.newer)
	case lost:
		return s, []any{quit{1}}
	case asked:
		return s.asked(e.request)
	case withdrawn:
		return s.withdrawn()
	case sealed:
		return s.sealed(e.name)
	case verified:
		return s.verified(e)
	case passed:
		return s.passed(), nil
	case ended:
		return s.ended(e)
	case told:
		return s.told()
	}
	return s, nil
}

// ready: a script that failed, or hung, has another try, and all of them again when
// it had come further.
func (s state) ready(newer bool) (state, []any) {
	if newer {
		s.tried, s.hung = min(s.tried, 1), min(s.hung, 1)
		if s.tried > 0 {
			s.hung = 0 // it failed for a reason of its own
		}
	}
	if s.hung > mostHung || (s.hung == 0 && s.tried > s.retries) {
		return s, []any{quit{max(s.exit.Code, 1)}}
	}
	s.phase, s.alive, s.exit, s.stranded = checkpoint.Training, true, nil, false
	if s.request != nil {
		s.phase = checkpoint.Saving // still asked for: see verified
	}
	return s, []any{start{}}
}

func (s state) asked(r checkpoint.Request) (state, []any) {
	again := s.request != nil && s.request.ID == r.ID
	s.request = &r
	switch {
	case again: // prolonged
	case s.alive:
		s.phase, s.answer, s.verifying = checkpoint.Saving, nil, ""
	case s.answer != nil:
		// The program saved and ended; nothing newer will come, and what it
		// saved answers this request as well as the one before.
		a := *s.answer
		a.Request = r.ID
		s.answer = &a
	}
	return s, []any{relay{r}}
}

// withdrawn: the job keeps its size. A program that paused trains on; one that
// ended after its checkpoint is started again from it.
func (s state) withdrawn() (state, []any) {
	if s.request == nil {
		return s, nil
	}
	s.request, s.answer, s.verifying = nil, nil, ""
	if s.alive {
		s.phase = checkpoint.Training
		return s, []any{unrelay{}}
	}
	s.phase = checkpoint.Starting
	return s, []any{unrelay{}, find{}}
}

// passed: to stop the job on that checkpoint now would cost what was trained since.
// The request stands, for the next.
func (s state) passed() state {
	if s.request != nil && s.alive && s.phase == checkpoint.Waiting {
		s.phase, s.answer, s.verifying = checkpoint.Saving, nil, ""
	}
	return s
}

func (s state) sealed(name string) (state, []any) {
	if s.request == nil || s.verifying != "" || s.phase != checkpoint.Saving {
		return s, nil
	}
	s.verifying = name
	return s, []any{verify{name}}
}

func (s state) verified(v verified) (state, []any) {
	if s.request == nil || v.name != s.verifying {
		return s, nil
	}
	s.verifying = ""
	a := checkpoint.Answer{Request: s.request.ID, Step: v.manifest.Step, Epoch: v.manifest.Epoch, Committed: v.committed, Verified: v.at}
	if v.err == nil {
		a.Checkpoint = v.name
		s.answer, s.phase = &a, checkpoint.Waiting
		if s.stopping {
			return s, []any{drain{}, quit{stopped}}
		}
		if s.request.Stop && !s.request.Continue && v.manifest.Ends && s.alive {
			return s, []any{settle{}}
		}
		return s, nil
	}
	a.Error = v.name + ": " + v.err.Error()
	s.answer = &a
	if s.alive {
		return s, nil // it may still bring a good one
	}
	return s.torn()
}

// torn: the script meant to be stopped and its checkpoint is bad. Ended in peace,
// it is not at fault and goes on from the one before; exit 0 would call it
// complete.
func (s state) torn() (state, []any) {
	if s.exit.Code == 0 && !s.stopping {
		s.phase = checkpoint.Starting
		return s, []any{find{}}
	}
	return s.failed()
}

// failed: the script ended and should not have.
func (s state) failed() (state, []any) {
	if s.retries == 0 && s.hung == 0 || s.stopping || s.exit.Code == 0 || s.own() {
		return s, []any{quit{s.exit.Code}}
	}
	s.before = s.reached
	s.tried++
	if s.hung > 0 {
		s.hung++
	}
	s.phase = checkpoint.Starting
	return s, []any{find{}}
}

// own reports whether a failure is the program's own, which another try would only
// repeat: it had done nothing yet, or it failed at the same place as the time before.
func (s state) own() bool {
	return s.judged && s.hung == 0 && (!s.reached.came || s.tried > 0 && s.reached.same(s.before))
}

// reached is how far a start of the script had come.
type reached struct {
	came        bool   // it reported progress, or it started from a checkpoint
	known       bool   // the rest is
	checkpoint  string // newest complete one
	step        int64  // as it reported last
	epoch, done float64
}

func (a reached) same(b reached) bool { return a.known && a == b }

// pause is how long to wait before the next start. A job that is stranded is left to
// sluiced, for patience; where that did not come the next starts, should they fail,
// wait for Slurm to notice that a node is gone. What made a program fail may pass:
// its next start waits for backoff, the one after that for four times as long.
func (s state) pause(patience, linger, backoff time.Duration) time.Duration {
	switch {
	case s.judged && s.hung == 0 && s.tried > 0 && s.tried <= s.retries:
		return backoff << (2 * min(s.tried-1, 4))
	case s.stranded:
		return patience
	case s.hung > 1:
		return linger << (s.hung - 2)
	}
	return 0
}

func (s state) ended(e ended) (state, []any) {
	s.alive, s.exit, s.reached = false, &e.exit, e.reached
	switch {
	case e.complete:
		return s, []any{quit{e.exit.Code}}
	case e.again && !s.stopping:
		s.phase = checkpoint.Starting
		return s, []any{find{}}
	case s.stopping || s.request == nil && !e.hung:
		return s.failed()
	case s.phase == checkpoint.Waiting || s.verifying != "":
		// Exit 0 now would make the job complete and start its dependants.
		return s, nil
	case e.candidate != "":
		s.verifying = e.candidate
		return s, []any{verify{e.candidate}}
	case e.hung:
		s.hung, s.tried, s.stranded = s.hung+1, 0, true
		s.phase = checkpoint.Starting
		return s, []any{find{}}
	case s.answer != nil && s.answer.Error != "":
		return s.torn()
	}
	return s.failed()
}

// told: without a verified checkpoint the script gets whatever time Slurm
// leaves; with one there is nothing to wait for, and the node is wanted.
func (s state) told() (state, []any) {
	s.stopping = true
	switch {
	case s.phase == checkpoint.Waiting:
		return s, []any{drain{}, quit{stopped}}
	case s.alive:
		return s, []any{forward{}}
	}
	return s, []any{quit{stopped}}
}
