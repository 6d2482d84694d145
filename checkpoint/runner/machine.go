package runner

import (
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/process"
)

// stopped is the exit code of a run that Slurm ended: 128 + SIGTERM.
const stopped = 143

// state is the state of a run. It is a value: step returns a changed copy.
type state struct {
	phase     checkpoint.RunnerState
	request   *checkpoint.Request // passed on to the program; nil = none
	answer    *checkpoint.Answer  // to it, or to a request that was settled
	verifying string              // the checkpoint being verified as an answer
	alive     bool                // the script runs
	exit      *process.Exit       // how it ended, if it is not alive
	stopping  bool                // Slurm told the job to end
	retries   int                 // how often a failed script is started again without new progress
	judged    bool                // except one that failed for a reason of its own (see own)
	reached   reached             // how far it had come when it last ended
	before    reached             // and when it failed before that
	tried     int                 // consecutive failures
	hung      int                 // consecutive times it was ended because a step hung, or failed after that
	stranded  bool                // the last end was such; sluiced is to requeue the job
}

// mostHung bounds how often in a row the script is started again after a step hung,
// without new progress. The loss of a node is no failure of the script's; if the node has
// really failed the script fails until Slurm has noticed.
const mostHung = 5

// Events: what happens to a run.
type (
	// ready: the newest valid checkpoint is known, or that there is none. newer: newer
	// than the one from which the script was last started.
	ready struct{ newer bool }
	// lost: it cannot be determined which checkpoints exist.
	lost struct{}
	// asked: a request for this run is in the outbox, new or extended.
	asked struct{ request checkpoint.Request }
	// withdrawn: it no longer is, or it was given up.
	withdrawn struct{}
	// sealed: a manifest that answers the request exists.
	sealed struct{ name string }
	// verified: the checkpoint was compared with its manifest.
	verified struct {
		name      string
		manifest  checkpoint.Manifest
		committed time.Time
		at        time.Time
		err       error
	}
	// passed: the answer was not used, and the program, which knows no requests, has
	// trained on beyond it.
	passed struct{}
	// ended: the script ended. complete if the program had reported that its work is
	// finished; candidate is a checkpoint found in a last look that may answer the
	// request; hung if the runner ended it because of a step that hung.
	ended struct {
		exit      process.Exit
		complete  bool
		hung      bool
		candidate string
		reached   reached
		again     bool // it ended because of a periodic checkpoint, not by itself
	}
	// terminated: Slurm sent SIGTERM.
	terminated struct{}
)

// Effects, in the order in which they are carried out.
type (
	relay   struct{ request checkpoint.Request } // pass the request to the program
	unrelay struct{}                             // remove it
	find    struct{}                             // find the newest valid checkpoint
	start   struct{}                             // start the script from it
	verify  struct{ name string }                // verify an answer
	forward struct{}                             // pass SIGTERM on to the script
	drain   struct{}                             // end the script at once: its work is saved
	settle  struct{}                             // end its steps, because Slurm is about to
	quit    struct{ code int }                   // end the run
)

// step returns what follows from an event. An event without a meaning in a state changes
// nothing.
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
	case terminated:
		return s.terminated()
	}
	return s, nil
}

// ready: a script that failed, or hung, is tried again, with the full number of retries
// if it had come further.
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
		s.phase = checkpoint.Saving // still requested: see verified
	}
	return s, []any{start{}}
}

func (s state) asked(r checkpoint.Request) (state, []any) {
	again := s.request != nil && s.request.ID == r.ID
	s.request = &r
	switch {
	case again: // extended
	case s.alive:
		s.phase, s.answer, s.verifying = checkpoint.Saving, nil, ""
	case s.answer != nil:
		// The program saved and ended; there will be no newer checkpoint, and what it
		// saved answers this request as well as the one before.
		a := *s.answer
		a.Request = r.ID
		s.answer = &a
	}
	return s, []any{relay{r}}
}

// withdrawn: the job keeps its size. A program that paused continues training; one that
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

// passed: stopping the job at that checkpoint now would lose the training since. The
// request stays pending, for the next checkpoint.
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
		return s, nil // it may still save a valid one
	}
	return s.torn()
}

// torn: the script meant to be stopped and its checkpoint is invalid. If it exited 0 it
// is not at fault and continues from the checkpoint before; its exit code 0 would mark it
// as complete.
func (s state) torn() (state, []any) {
	if s.exit.Code == 0 && !s.stopping {
		s.phase = checkpoint.Starting
		return s, []any{find{}}
	}
	return s.failed()
}

// failed: the script ended unexpectedly.
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

// own reports whether a failure is the program's own, which would only repeat: it had
// made no progress yet, or it failed at the same point as the time before.
func (s state) own() bool {
	return s.judged && s.hung == 0 && (!s.reached.came || s.tried > 0 && s.reached.same(s.before))
}

// reached is how far a start of the script had come.
type reached struct {
	came        bool   // it reported progress, or it started from a checkpoint
	known       bool   // the other fields are set
	checkpoint  string // newest complete one
	step        int64  // as it last reported
	epoch, done float64
}

func (a reached) same(b reached) bool { return a.known && a == b }

// pause is the wait before the next start. A stranded job waits for sluiced, up to
// patience; if sluiced did not come, later starts that fail wait until Slurm notices that
// a node has failed. The cause of a failure may be temporary: the next start waits for
// backoff, the one after that for four times backoff.
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
		// Exit 0 now would complete the job and start its dependants.
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

// terminated: without a verified checkpoint the script gets whatever time Slurm leaves; with
// one it is ended at once, because the node is needed.
func (s state) terminated() (state, []any) {
	s.stopping = true
	switch {
	case s.phase == checkpoint.Waiting:
		return s, []any{drain{}, quit{stopped}}
	case s.alive:
		return s, []any{forward{}}
	}
	return s, []any{quit{stopped}}
}
