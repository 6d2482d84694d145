package track

import (
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/resize"
)

// TestJobForAfterItsEnd: a program that fails right after its resize has ended, whether or not its
// runner's report was read. A run of which Slurm shows no start since the stop is another case: its
// stop was forgotten, and it is brought back.
func TestJobForAfterItsEnd(t *testing.T) {
	in := elastic.Intent{
		ID: 1, Job: 7, Kind: elastic.Resize, Step: elastic.Released, To: 3, Restarts: 1, Checkpoint: "00000004",
		AskedAt: noon, SavedAt: noon, RequeuedAt: noon, PendingAt: noon, ReleasedAt: noon,
	}
	for name, c := range map[string]struct {
		restarts int
		read     bool
		step     elastic.Step
		how      elastic.Outcome
	}{
		"it failed after the resize":     {2, true, elastic.Released, elastic.Lost},
		"... and its report is not read": {2, false, elastic.Released, elastic.Lost},
		"its stop was forgotten":         {1, false, elastic.Verified, ""},
	} {
		js := killedJob()
		js.Rec.State, js.Rec.Ended, js.Shown.Slurm.Restarts = "FAILED", noon, c.restarts
		js.Mail.runner = runnerWord{ok: c.read, word: checkpoint.Runner{Restarts: 2, Incarnation: 3, Beat: noon, Exit: &checkpoint.Exit{Code: 1}}}
		job := Known{7: js}.JobFor(nil, in, noon)
		next := resize.Advance(in, job, elastic.Snapshot{Now: noon})
		if next.Close != c.how || next.Intent.Step != c.step {
			t.Errorf("%s: closes as %q at R%d, want %q at R%d; the job is %+v", name, next.Close, next.Intent.Step, c.how, c.step, job)
		}
	}
}
