package track

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/slurm"
)

// course is when a job passed the ends that it declared, in GPU-seconds that it had had by
// the daemon's own clock. A total may be changed while the job runs.
type course struct {
	total   float64 // the least that was declared since it ran
	first   float64 // when that was passed; 0 = not yet
	of      float64 // the total that reached is of
	reached float64 // when that was passed; 0 = not yet
}

// foldCourse notes whether the job has passed an end that it declared: that it did is its
// own word, when is not.
func (js *Job) foldCourse(now time.Time) {
	total, c := js.Rec.Tag.Spec.Total, &js.Runs.course
	if total <= 0 || js.Rec.FirstRun.IsZero() || !js.Runs.counted {
		return
	}
	if js.Shown.Slurm.State == slurm.Running && (js.Runs.Seg == nil || js.Runs.Seg.Restarts != js.Restarts()) {
		return // what the present run had is not known yet
	}
	if c.total == 0 || total < c.total {
		c.total, c.first = total, 0
	}
	if c.of != total {
		c.of, c.reached = total, 0
	}
	if c.first == 0 && js.Rec.Done >= c.total {
		c.first = js.Runs.passed(c.total, now)
	}
	if c.reached == 0 && js.Rec.Done >= total {
		c.reached = js.Runs.passed(total, now)
	}
}

// passed is what the job had had when it passed an end, in the present run: as long ago as
// it would be if the run had been equally fast throughout.
func (r *runs) passed(end float64, now time.Time) float64 {
	had := r.attained(now)
	if seg := r.Seg; seg != nil && seg.DoneFrom < end {
		had -= seg.Held(now) * seg.Beyond(end)
	}
	return max(1, had)
}

// passedBefore is the course of a job that passed its end in a run before this life of the
// daemon, by what it had had before and in that run. One that reported that it stood still
// at its end passed it when the run ended.
func passedBefore(had float64, seg journal.Segment, held, end float64) course {
	at := max(1, had+held*(1-seg.Beyond(end)))
	return course{total: end, first: at, of: end, reached: at}
}
