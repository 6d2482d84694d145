package track

import (
	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
)

// retrace lets the history row of a run begin where the checkpoint that it resumed from was
// saved, when the run before had reported more: that work is done twice. What was saved when
// is known of answers only; of other checkpoints the program says where it is (resumedAt).
func (js *Job) retrace() {
	answer, word, seg := js.Mail.Kept, js.Mail.runner.word, js.Runs.Seg
	if !js.Mail.runner.ok || answer == nil || seg == nil || seg.Restarts != word.Restarts || word.Resumed == "" || word.Resumed != answer.Checkpoint {
		return
	}
	at := answer.Epoch
	if js.Rec.Tag.Spec.Unit == elastic.Steps {
		at = float64(answer.Step)
	}
	if at <= 0 || at >= seg.DoneFrom {
		return
	}
	if seg.DoneTo == seg.DoneFrom { // it has reported nothing yet
		seg.DoneTo = at
	}
	seg.DoneFrom, js.Runs.segNew, js.Dirty = at, true, true
}

// resumedAt takes the program's word for where the run began that goes on from a checkpoint
// no request asked for: one by time, say, after a failure. One with no checkpoint to go on from
// began anew.
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
