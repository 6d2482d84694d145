package main_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/cmd/site"
)

// TestSavesBeforeItsTimeLimit: a training that saves only on request is ended by its time limit. It
// saved shortly before, without being stopped for that, and continued.
func TestSavesBeforeItsTimeLimit(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 2))
	j := s.submit("limit", "", 4000, []string{"--min-gpus=2", "--max-gpus=2", "--time=2", "--on-timeout=end", "--checkpoint-every=off"})
	at := j.runsOn(2)
	s.must(site.Until(s.ctx, 5*time.Minute, "its limit to end it", func() (bool, error) { return j.field("JobState") == "TIMEOUT", nil }))
	saved, err := filepath.Glob(filepath.Join(s.Jobs, at.Token, checkpoint.Checkpoints, "*", checkpoint.ManifestFile))
	s.must(err)
	if len(saved) == 0 {
		t.Fatalf("nothing was saved:\n%s", s.Tail(30))
	}
	text, err := os.ReadFile(saved[len(saved)-1])
	s.must(err)
	m, err := checkpoint.ParseManifest(text)
	s.must(err)
	tr, err := site.ReadTraining(j.stepsLog(), 0, perEpoch)
	s.must(err)
	if r := j.field("Restarts"); r != "0" || m.Step < int64(tr.Steps)/2 || m.Step >= int64(tr.Steps) {
		t.Errorf("saved at step %d of %d, %s restarts\n%s", m.Step, tr.Steps, r, s.Tail(30))
	}
}
