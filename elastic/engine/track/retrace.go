package track

import (
	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
)

// retrace sets the start of a run's history row to the progress at which its checkpoint was saved,
// if the run before had reported more: the work in between is done twice. That progress is known
// for requested checkpoints only; for others see resumedAt. unit is the job's unit of work; while
// it is not known, nothing is set, since steps taken for epochs are never corrected. It never raises
// the start: a run may begin with less than the last report, not with more.
func (js *Job) retrace(unit elastic.Unit) {
	answer, word, seg := js.Mail.Kept, js.Mail.runner.word, js.Runs.Seg
	if !js.Mail.runner.ok || answer == nil || seg == nil || seg.Restarts != word.Restarts || word.Resumed == "" || word.Resumed != answer.Checkpoint {
		return
	}
	at := 0.0
	switch unit {
	case elastic.Steps:
		at = float64(answer.Step)
	case elastic.Epochs:
		at = answer.Epoch
	}
	if at <= 0 || at >= seg.DoneFrom {
		return
	}
	if seg.DoneTo == seg.DoneFrom { // it has reported nothing yet
		seg.DoneTo = at
	}
	seg.DoneFrom, js.Runs.segNew, js.Dirty = at, true, true
}

// resumedAt sets the start of a run's history row from the program's "resumed" line, for a
// checkpoint that was not requested, such as a periodic one. A run that found no checkpoint
// started from 0.
func (js *Job) resumedAt(line checkpoint.Progress) {
	seg := js.Runs.Seg
	if seg == nil || seg.Restarts != line.Restarts || seg.DoneTo != seg.DoneFrom || line.Done >= seg.DoneFrom {
		return
	}
	switch {
	case line.Event == "resumed":
		seg.DoneFrom = line.Done
	case js.Mail.anew(line.Restarts) && !js.Rec.Tag.Spec.Habit:
		seg.DoneFrom = 0
	default:
		return
	}
	js.Runs.segNew, js.Dirty = true, true
}

// anew reports whether the runner of that run found no checkpoint.
func (m *mail) anew(restarts int) bool {
	word := m.runner.word
	return m.runner.ok && word.Restarts == restarts && word.Resumed == "" && word.State != checkpoint.Starting
}
