package track

import (
	"strings"

	"github.com/sluice-hpc/sluice/elastic"
)

// unusable counts the checkpoints in a row that a job verified when it was asked to save, and that its
// next run passed over as invalid: its program changed or deleted them meanwhile. Each such move costs
// the work since an older checkpoint, so that a job that is moved often would never end. It is kept in
// memory only: after a restart of the daemon a job may lose as many again.
type unusable struct {
	times  int
	asked  string // the newest checkpoint that was verified on request
	by     int    // the run that saved it, counted from 1
	judged int    // the last run that was compared with it, counted from 1
}

// heard compares what a run resumed from with the checkpoint that was asked for before, once a run.
// Checkpoints that were not asked for do not count, nor does a run that found a newer one.
//
//	the run after a request resumed from     the count
//	the checkpoint that was asked for        0
//	an older one, the other was invalid      one more
//	anything else                            as before
func (u *unusable) heard(w runnerWord) {
	if !w.ok {
		return
	}
	run := w.word.Restarts + 1
	if u.asked != "" && run > u.by && run != u.judged && !w.chooses() {
		u.judged = run
		switch {
		case w.word.Resumed == u.asked:
			u.times = 0
		case passedOver(w.word.Skipped, u.asked):
			u.times++
		}
	}
	if a := w.word.Answer; a != nil && a.Checkpoint != "" {
		u.asked, u.by = a.Checkpoint, run
	}
}

// TryAgain forgets what has kept a job from being moved, since its user ordered something.
func TryAgain(js *Job) {
	js.Placing.Refused, js.rescue.unusable.times = elastic.Refused{}, 0
}

// passedOver reports whether a runner's list of invalid checkpoints has the one of that name.
func passedOver(skipped []string, name string) bool {
	for _, s := range skipped {
		if is, _, _ := strings.Cut(s, ": "); is == name { // "NAME: WHY", as PROTOCOL.md has it
			return true
		}
	}
	return false
}
