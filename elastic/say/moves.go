package say

import (
	"fmt"

	"github.com/sluice-hpc/sluice/elastic/reason"
)

func (s speaker) moves(r reason.Reason) string {
	switch r := r.(type) {
	case reason.AwaitsSlurm:
		return "waits for Slurm: the job is " + r.Phase
	case reason.NewerMove:
		return r.Error
	case reason.NotSaved:
		return "the job could not save: " + r.Error
	case reason.JobEnded:
		return "the job ended: " + r.State
	case reason.CheckpointVerified:
		return "checkpoint " + r.Checkpoint + " verified"
	case reason.SavedTrainsOn:
		return "saved " + r.Checkpoint + "; trains on"
	case reason.StoppedAfter:
		return "stopped after checkpoint " + r.Checkpoint + "; waits again"
	case reason.Runs:
		return runs(r)
	case reason.Late:
		return "did not start in time (Slurm says " + r.Reason + "); " + next(r.Back)
	case reason.Unsatisfiable:
		return "Slurm cannot satisfy the size as written (" + r.Reason + "); " + next(r.Back)
	case reason.TurnedAway:
		return "Slurm does not start it at this size or on these nodes (" + r.Reason + "); " + next(r.Back)
	case reason.TurnedAwayAtAll:
		return "Slurm does not start it now (" + r.Reason + "); its GPUs are given to other jobs"
	case reason.ResumesAfter:
		return s.say(r.Because) + "; stopped before: " + s.say(r.After)
	case reason.OutsideSluice:
		return "was requeued outside sluice; " + s.say(r.Because)
	}
	return ""
}

func next(back bool) string {
	if back {
		return "back to the last good size"
	}
	return "placed afresh"
}

func runs(r reason.Runs) string {
	text := fmt.Sprintf("runs on %s", r.On)
	if len(r.Meant) > 0 {
		text += fmt.Sprintf(", meant for %s", r.Meant)
	}
	switch {
	case r.Silent:
		text += "; its runner has said nothing"
	case r.Verifies:
		text += "; its runner still verifies checkpoints"
	case r.Elsewise:
		text += fmt.Sprintf(", resumed from %q instead of %q", r.Resumed, r.Checkpoint)
	}
	return text
}
