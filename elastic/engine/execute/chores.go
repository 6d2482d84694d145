package execute

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/track"
	"github.com/sluice-hpc/sluice/slurm"
)

// DoChores performs the actions that belong to no move (see track.Chores): it defers jobs that
// Slurm requeued, carries out users' orders and writes them into comments, and withdraws requests
// that no move needs. Jobs that are to contend in Slurm's own order get their begin time now: no move
// is recorded, since a job that was never started waits as before if sluiced dies here. Lanes that
// wait although their sweep is over are cancelled. It reports whether there were any of these. Then
// it renews begin times.
//
// It MUST come AFTER Act: jobs with open moves are left to those. A job's actions end at the first
// that fails, since later ones rely on it; other jobs go on. Renewals do not count in the result:
// they are due at any time, and would make every cycle a busy one.
func (x *Executor) DoChores(ctx context.Context, contend []elastic.JobID, now time.Time) bool {
	did := len(contend) > 0
	for _, id := range contend {
		a := elastic.LetStart{Job: id, First: true}
		if err := x.perform(ctx, a, elastic.Job{ID: id}, now); err != nil {
			x.CouldNot(a, id, err, now)
		}
	}
	moving := map[elastic.JobID]bool{}
	for _, in := range x.Open {
		moving[in.Job] = true
	}
	did = cancelLanes(ctx, x, moving, now) || did
	for _, js := range x.Ordered() {
		if !js.Shown.Seen || !js.Rec.Ended.IsZero() || moving[js.Rec.ID] {
			continue
		}
		for _, a := range x.Chores(js, now) {
			did = true
			if err := x.perform(ctx, a, elastic.Job{ID: js.Rec.ID}, now); err != nil {
				x.CouldNot(a, js.Rec.ID, err, now)
				break
			}
		}
	}
	for _, a := range track.Renewals(x.Ordered(), x.State.Open, x.Rules.Limits.Abandon, now) {
		if err := x.perform(ctx, a, elastic.Job{ID: a.About()}, now); err != nil {
			x.CouldNot(a, a.About(), err, now)
		}
	}
	return did
}

// cancelLanes cancels the lanes that wait although their sweep is over, and reports whether there were any. One that Slurm
// does not let sluiced cancel starts instead, and ends by itself.
func cancelLanes(ctx context.Context, x *Executor, moving map[elastic.JobID]bool, now time.Time) (did bool) {
	lanes := track.Needless(x.State, x.Seen.Jobs)
	for _, id := range slices.Sorted(maps.Keys(lanes)) {
		if moving[id] {
			continue
		}
		did = true
		a := elastic.CancelLane{Job: id}
		err := x.perform(ctx, a, elastic.Job{ID: id}, now)
		if err == nil || errors.Is(err, slurm.ErrNotFound) {
			continue
		}
		x.CouldNot(a, id, err, now)
		if js := x.ByID[id]; js != nil && (errors.Is(err, slurm.ErrPermission) || errors.Is(err, slurm.ErrRefused)) {
			js.Kept = true
		}
		if errors.Is(err, slurm.ErrControllerDown) || ctx.Err() != nil {
			break // the next cycle finds them again
		}
	}
	return did
}
