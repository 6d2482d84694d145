package execute

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/slurm"
)

// cancels notes the jobs that are cancelled, and refuses those that it is to refuse.
type cancels struct {
	*world
	jobs    []slurm.JobID
	refuses map[slurm.JobID]error
}

func (c *cancels) Cancel(_ context.Context, id slurm.JobID) error {
	c.jobs = append(c.jobs, id)
	return c.refuses[id]
}

// TestNeedlessLanesAreCancelled: of the lanes that waited when their sweep was over those are cancelled that still wait. One
// that runs by now, has an open move, is awaited by another job, or is no lane, is left alone. What Slurm refuses is not tried
// again; what failed for another reason is.
func TestNeedlessLanesAreCancelled(t *testing.T) {
	x, w, _ := executor(t, elastic.Intent{Job: 12, Kind: elastic.Start, Step: elastic.Requeued})
	calls := &cancels{world: w, refuses: map[slurm.JobID]error{15: slurm.ErrPermission, 16: slurm.ErrUnknownOutcome, 17: slurm.ErrNotFound}}
	x.Slurm = calls
	named := map[string]elastic.JobID{}
	add := func(id slurm.JobID, state slurm.State, sweep string) {
		token := fmt.Sprint("t", id)
		js := &track.Job{Rec: journal.JobRecord{Token: token, Identity: journal.Identity{ID: elastic.JobID(id), Owner: elastic.Owner{UID: 5}, SlurmUID: 5}}}
		js.Rec.Tag.Spec.Sweep = sweep
		js.Shown.Seen, js.Shown.Slurm = true, slurm.Job{ID: id, UID: 5, State: state}
		x.Remember(js)
		named[token] = 3
	}
	add(10, slurm.Pending, "s")
	add(11, slurm.Running, "s")
	add(12, slurm.Pending, "s") // it is being started
	add(13, slurm.Pending, "s") // job 99 waits for it
	add(14, slurm.Pending, "")
	add(15, slurm.Pending, "s")
	add(16, slurm.Pending, "s")
	add(17, slurm.Pending, "s")
	add(18, slurm.Pending, "s") // not named
	delete(named, "t18")
	x.Seen.Jobs = []slurm.Job{{ID: 99, State: slurm.Pending, Dependency: "afterany:7(unfulfilled),afterok:13(unfulfilled)"}}
	x.Rules.Needless = func() map[string]elastic.JobID { return named }
	for _, want := range [][]slurm.JobID{{10, 15, 16, 17}, {10, 16, 17}} {
		if calls.jobs = nil; !x.DoChores(t.Context(), nil, noon) || !slices.Equal(calls.jobs, want) {
			t.Errorf("cancelled %v, want %v", calls.jobs, want)
		}
	}
	if lanes := track.Needless(x.State, x.Seen.Jobs); lanes[10] != 3 || lanes[15] != 0 {
		t.Errorf("%v", lanes)
	}
	clear(named)
	if calls.jobs = nil; x.DoChores(t.Context(), nil, noon) || calls.jobs != nil {
		t.Errorf("cancelled %v of no sweep that is over", calls.jobs)
	}
}
