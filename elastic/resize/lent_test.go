package resize_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/resize"
)

// TestLateAnswer: the move of a job that answers after its GPUs were lent continues if they are
// free; if not, the request is withdrawn.
func TestLateAnswer(t *testing.T) {
	in, job, snap := scene(elastic.Resize, elastic.Asked)
	job.Phase, job.Place, job.Speaks, job.Spec.Grace = elastic.Running, on("gpu1", 2), true, 2*time.Hour
	in.Target, in.AskedAt = on("gpu1", 4), noon.Add(-time.Hour)
	snap.Limits.Moves, snap.Jobs, snap.Intents = 8, []elastic.Job{job}, []elastic.Intent{in}
	lent := snap.Lent()
	if next := resize.Advance(in, job, lent); next.Close != "" || len(next.Do) > 0 {
		t.Errorf("while it waits: %+v", next)
	}
	job.Saved = elastic.Saved{Request: in.Request, Checkpoint: "00000001"}
	if next := resize.Advance(in, job, lent); next.Intent.Step != elastic.Verified {
		t.Errorf("it answers, its GPUs are free: %+v", next)
	}
	lent.Nodes[0].Used = 4
	next := resize.Advance(in, job, lent)
	if _, withdrawn := append(next.Do, nil)[0].(elastic.WithdrawRequest); next.Close != elastic.Abandoned || !withdrawn {
		t.Errorf("it answers, its GPUs are taken: %+v", next)
	}
}
