package resize_test

import (
	"testing"

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
	if got.Step != elastic.Verified || got.Restarts != 3 || got.Fallbacks != in.Fallbacks+1 || !got.RequeuedAt.Equal(noon) || got.Checkpoint != in.Checkpoint {
		t.Errorf("%s: goes on as %+v", sentence(next.Why), got)
	}
	if len(next.Do) != 1 || next.Do[0] != (elastic.Revive{Job: job.ID}) {
		t.Errorf("does %v", next.Do)
	}
}
