package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/nodes"
)

// What was asked of an earlier run, or of another job, is nothing to this one; what
// does not say of which run it is, is.
func TestRequestsOfThisRun(t *testing.T) {
	at := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		job      int64
		restarts int
		heard    bool
	}{
		"this run": {42, 2, true}, "not said": {42, 0, true}, "the run before": {42, 1, false},
		"a run to come": {42, 3, false}, "another job": {43, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := folders{id: checkpoint.Identity{Job: 42}, restarts: 2, outbox: t.TempDir()}
			raw, err := json.Marshal(checkpoint.Request{Version: checkpoint.Version, Job: c.job, ID: "42.3.1", Incarnation: 3, Restarts: c.restarts,
				Target: nodes.Placement{{Node: "gpu1", GPUs: 2}}, Asked: at, Deadline: at.Add(time.Minute), Why: "it grows"})
			if err == nil {
				err = os.WriteFile(filepath.Join(f.outbox, checkpoint.RequestFile), raw, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			if r, err := f.request(); (r != nil) != c.heard || c.heard && err != nil {
				t.Errorf("%+v, %v", r, err)
			}
		})
	}
}
