package resize_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/nodes"
)

// A move of a kind or at a step that this sluice does not know has no effect, whatever happens
// to its job.
func TestUnknownMovesHaveNoEffect(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	snap := elastic.Snapshot{Now: now, Nodes: []nodes.Node{{Name: "n1", GPUs: 4, Usable: true}}}
	place := nodes.Placement{{Node: "n1", GPUs: 1}}
	for _, phase := range []elastic.Phase{elastic.Running, elastic.Waiting, elastic.Queued, elastic.Completing, elastic.Suspended, elastic.Ended} {
		job := elastic.Job{ID: 7, Phase: phase, Place: place, Speaks: true}
		for step := elastic.Step(-1); step < 10; step++ {
			for _, kind := range append(elastic.Kinds(), "", "merge") {
				in := elastic.Intent{ID: 1, Job: 7, Kind: kind, Step: step, To: 2, From: place, Target: place, AskedAt: now, ReleasedAt: now}
				next := resize.Advance(in, job, snap)
				if known := slices.Contains(elastic.Kinds(), kind) && slices.Contains(elastic.MoveSteps(), step); known != (in.Known() == nil) {
					t.Fatalf("%q at %d: %v", kind, step, in.Known())
				}
				if in.Known() == nil {
					continue
				}
				if !errors.Is(in.Known(), elastic.ErrUnknownMove) {
					t.Errorf("%q at %d: %v", kind, step, in.Known())
				}
				if len(next.Do) > 0 || next.Close != "" || next.Again || next.Intent.Step != step {
					t.Errorf("%q at %d, job %s: %v, closes %q, at %d: want no effect", kind, step, phase, next.Do, next.Close, next.Intent.Step)
				}
			}
		}
	}
}
