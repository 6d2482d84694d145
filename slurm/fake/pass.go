package fake

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/slurm"
)

// RequestPass requests a scheduling pass, as every update of a job does.
func (s *Session) RequestPass(ctx context.Context, id slurm.JobID) error {
	return s.change(ctx, opPass, id, func(j *job) *failure {
		if j.state.Ended() {
			return finished()
		}
		s.f.schedule()
		return nil
	})
}

// soonest is the earliest time of a pass requested now.
func (f *Fake) soonest() time.Time {
	at := f.now.Add(f.jittered(f.cfg.Scheduling))
	if after := f.lastPass.Add(f.cfg.PassDelay); f.cfg.PassDelay > 0 && after.After(at) {
		return after
	}
	return at
}

// wakeAt schedules passes for a changed job: one now, and one at its begin time. With a
// PassDelay only the next backfill runs at the begin time.
func (f *Fake) wakeAt(j *job) {
	if j.begin.After(f.now) {
		at := j.begin
		if f.cfg.PassDelay > 0 {
			since := j.begin.Sub(f.cfg.Start)
			at = f.cfg.Start.Add((since/f.cfg.Backfill + 1) * f.cfg.Backfill)
		}
		f.events.push(at, f.schedule)
	}
	f.schedule()
}
