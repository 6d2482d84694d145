package main_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// TestBackfill: on a real Slurm a wide job waits for an ordinary job with a time limit. A
// job that its own limit ends before that starts in front of it, one without a limit does
// not, and all of them say so.
func TestBackfill(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(2, 2))
	ordinary := &job{s: s}
	out := s.as("", "sbatch", "--parsable", "--gres=gpu:1", "--time=4", "--output=/dev/null", "--wrap=sleep 230")
	if _, err := fmt.Sscan(out, &ordinary.id); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	s.nodes("the ordinary job on its node", func(n wire.Node) bool { return n.Used == 1 })
	wide := s.submit("wide", "", 20, []string{"--min-gpus=4", "--max-gpus=4"})
	wide.until("to name the time at which it can start", func(v wire.Job) bool {
		return v.GPUs == 0 && strings.Contains(v.Reason, "by the time limits of running jobs it can start at ")
	})
	long := s.submit("long", "", 20, []string{"--min-gpus=1", "--max-gpus=1"})
	short := s.submit("short", "", 3, []string{"--min-gpus=1", "--max-gpus=1", "--time=1"})
	short.until("to say why it may start", func(v wire.Job) bool {
		return strings.Contains(v.Reason, fmt.Sprintf("backfilled: its time limit ends it before job %d can start at ", wide.id))
	})
	short.runsOn(1)
	behind := fmt.Sprintf("waits behind job %d, which comes first and needs 4 GPUs", wide.id)
	if v := long.view(); v.State != "PENDING" || v.Reason != behind {
		t.Errorf("the job without a time limit is %s: %s", v.State, v.Reason)
	}
	if v := wide.view(); v.State != "PENDING" {
		t.Errorf("the wide job is %s: %s", v.State, v.Reason)
	}
	short.completes()
	s.cancel(ordinary)
	wide.runsOn(4)
	wide.completes()
	long.completes()
}
