package main_test

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// A program that fails as soon as it runs at its new size has failed: it is started once there,
// and not again.
func TestFailsAtItsNewSize(t *testing.T) {
	t.Parallel()
	s := play(t, withNodes(1, 4))
	j := s.submit("fails", "", 1000, []string{"--max-gpus=4"}, "--seconds", "0.4", "--fail-on", "4")
	if state, runs := j.ends(), j.field("Restarts"); state != "FAILED" || runs != "1" {
		t.Errorf("ended as %s after %s restarts, want FAILED after 1", state, runs)
	}
	v := j.until("to be seen to have ended", func(v wire.Job) bool { return v.Ended })
	if v.Move != nil {
		t.Errorf("its move is open: %+v", v.Move)
	}
}
