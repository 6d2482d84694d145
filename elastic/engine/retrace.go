package engine

import "github.com/sluice-hpc/sluice/elastic"

// retrace lets the history row of a run begin where the checkpoint that it resumed from was
// saved, when the run before had reported more: that work is done twice. What was saved when
// is known of answers only; a run that Slurm or its user requeued begins where the last ended.
func (js *jobState) retrace() {
	answer, word, seg := js.kept, js.runner.word, js.seg
	if !js.runner.ok || answer == nil || seg == nil || seg.Restarts != word.Restarts || word.Resumed == "" || word.Resumed != answer.Checkpoint {
		return
	}
	at := answer.Epoch
	if js.rec.Tag.Spec.Unit == elastic.Steps {
		at = float64(answer.Step)
	}
	if at <= 0 || at >= seg.DoneFrom {
		return
	}
	if seg.DoneTo == seg.DoneFrom { // it has reported nothing yet
		seg.DoneTo = at
	}
	seg.DoneFrom, js.segNew, js.dirty = at, true, true
}
