package resize_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/resize"
)

// TestOutcomeOfARun: a move is done if the job runs at the intended size and resumed from the
// intended checkpoint; the nodes are Slurm's choice.
func TestOutcomeOfARun(t *testing.T) {
	for _, c := range []struct {
		name, meant, resumed, node string
		gpus                       int
		want                       elastic.Outcome
	}{
		{"as meant", "00000005", "00000005", "gpu2", 3, elastic.Done},
		{"from an older checkpoint", "00000005", "00000004", "gpu2", 3, elastic.Fellback},
		{"from a newer one", "00000005", "00000006", "gpu2", 3, elastic.Fellback},
		{"from none", "00000005", "", "gpu2", 3, elastic.Fellback},
		{"none was meant", "", "00000004", "gpu2", 3, elastic.Done},
		{"none was meant, and none resumed", "", "", "gpu2", 3, elastic.Done},
		{"on one GPU less", "00000005", "00000005", "gpu2", 2, elastic.Fellback},
		{"on one GPU more", "00000005", "00000005", "gpu2", 4, elastic.Fellback},
		{"on another node", "00000005", "00000005", "gpu1", 3, elastic.Done},
	} {
		in, job, snap := scene(elastic.Resize, elastic.Released)
		in.Checkpoint = c.meant
		job.Phase, job.Restarts, job.Heartbeat = elastic.Running, 2, noon
		job.Place, job.Resumed = on(c.node, c.gpus), c.resumed
		if next := resize.Advance(in, job, snap); next.Close != c.want || next.Intent.Step != elastic.Confirmed {
			t.Errorf("%s: closed as %q at R%d, want %q at R%d (%s)", c.name, next.Close, next.Intent.Step, c.want, elastic.Confirmed, sentence(next.Why))
		}
	}
}

// TestFailedLaunchIsCountedFromItsRun: the run of a failed launch is over. Counted from the run
// before, Slurm's requeue would be taken for a start.
func TestFailedLaunchIsCountedFromItsRun(t *testing.T) {
	in, job, snap := scene(elastic.Resize, elastic.Released)
	in.Restarts = 1
	job.Phase, job.State, job.Spoke, job.Restarts = elastic.Ended, "FAILED", true, 3
	next := resize.Advance(in, job, snap)
	got := next.Intent
	if got.Step != elastic.Verified || got.Restarts != 3 || got.Fallbacks != in.Fallbacks+1 || got.Checkpoint != in.Checkpoint {
		t.Errorf("%s: goes on as %+v", sentence(next.Why), got)
	}
}

// TestStepBackBeforeEffect: the step to which a move goes back is recorded before Slurm is asked.
// If the answer is lost and Slurm acts, the job is pending, and that is the move's own doing.
func TestStepBackBeforeEffect(t *testing.T) {
	failed := func(j *elastic.Job) { j.Phase, j.State, j.Spoke, j.Restarts = elastic.Ended, "FAILED", true, 1 }
	runs := func(j *elastic.Job) {
		j.Phase, j.Place, j.Heartbeat = elastic.Running, on("gpu1", 2), noon.Add(-20*time.Minute)
		j.Saved = elastic.Saved{Request: "7.4.1", Checkpoint: "00000005"}
	}
	brings := []elastic.Action{elastic.RequeueFailed{Job: 7}}
	stops := []elastic.Action{elastic.Requeue{Job: 7}, elastic.Defer{Job: 7, Until: noon.Add(resize.Between)}}
	for name, c := range map[string]struct {
		job     func(*elastic.Job)
		effects []elastic.Action
	}{
		"the launch failed":              {failed, brings},
		"the stop failed the job":        {func(j *elastic.Job) { failed(j); j.Heartbeat = noon.Add(-time.Minute) }, brings},
		"the stop was forgotten":         {runs, stops},
		"... and its user holds the job": {func(j *elastic.Job) { runs(j); j.UserHold = true }, stops},
	} {
		in, job, snap := scene(elastic.Resize, elastic.Released)
		in.AskedAt, in.RequeuedAt, in.PendingAt, in.ReleasedAt = noon.Add(-12*time.Minute), noon.Add(-11*time.Minute), noon.Add(-10*time.Minute), noon.Add(-9*time.Minute)
		c.job(&job)
		back := resize.Advance(in, job, snap)
		if len(back.Do) > 0 || !back.Again || back.Intent.Step != elastic.Verified {
			t.Errorf("%s: does %v, R%d", name, back.Do, back.Intent.Step)
			continue
		}
		next := resize.Advance(back.Intent, job, snap)
		if !slices.Equal(next.Do, c.effects) || next.Close != "" {
			t.Errorf("%s: then does %v, closes as %q: %s", name, next.Do, next.Close, sentence(next.Why))
		}
		// The answer is lost, so next.Intent is not recorded, and Slurm acts.
		job.Phase, job.State, job.Restarts, job.Heartbeat, job.UserHold = elastic.Waiting, "PENDING", job.Restarts+1, time.Time{}, false
		job.Eligible = noon.Add(2 * time.Minute)
		job.Saved = elastic.Saved{}
		if after := resize.Advance(back.Intent, job, snap); after.Close != "" || after.Intent.Step != elastic.Requeued {
			t.Errorf("%s: pending then: closes as %q, R%d: %s", name, after.Close, after.Intent.Step, sentence(after.Why))
		}
	}
}

// TestAnswerGoneDuringAStop: an answer that cannot be read any more withdraws the move only while no stop
// is under way: one that was just asked of Slurm may still be carried out, and the job be in need of being
// brought back.
func TestAnswerGoneDuringAStop(t *testing.T) {
	for name, c := range map[string]struct {
		asked time.Time // when the stop was asked; zero = never
		close elastic.Outcome
	}{
		"no stop was asked":      {time.Time{}, elastic.Abandoned},
		"a stop is under way":    {noon.Add(-time.Second), ""},
		"a stop came to nothing": {noon.Add(-time.Hour), elastic.Abandoned},
	} {
		in, job, snap := scene(elastic.Resize, elastic.Verified)
		job.Phase, job.Place, job.Saved = elastic.Running, on("gpu1", 2), elastic.Saved{}
		in.RequeuedAt = c.asked
		if next := resize.Advance(in, job, snap); next.Close != c.close {
			t.Errorf("%s: closed as %q, want %q (%s)", name, next.Close, c.close, sentence(next.Why))
		}
	}
}
