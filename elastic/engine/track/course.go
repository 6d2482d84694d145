package track

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/slurm"
)

// course records how many GPU-seconds a job had used, by the daemon's clock, when it reached
// its declared total. The total may be changed while the job runs. first counts for what a user's
// jobs take of their declared work: it belongs to the smallest total ever declared, so that raising
// the total at the end hides nothing (decision 27). reached counts for the job itself.
type course struct {
	total   float64 // the smallest total declared since the job first ran, in units of work
	first   float64 // GPU-seconds used when total was reached; 0 = not yet
	of      float64 // the total that is declared now
	reached float64 // GPU-seconds used when of was reached; 0 = not yet
}

// foldCourse updates course. The job of a sweep has none: it may run several trials one after the other, each
// with that total. Whether the total is reached is the job's own report; the
// GPU-seconds at that point are measured by the daemon.
func (js *Job) foldCourse(now time.Time) {
	total, c := js.Rec.Tag.Spec.Total, &js.Runs.course
	if total <= 0 || js.Rec.Tag.Spec.Sweep != "" || js.Rec.FirstRun.IsZero() || !js.Runs.counted {
		return
	}
	if js.Shown.Slurm.State == slurm.Running && (js.Runs.Seg == nil || js.Runs.Seg.Restarts != js.Restarts()) {
		return // the present run's GPU-seconds are not known yet
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

// passed returns the GPU-seconds used when the present run reached end, by linear interpolation
// over the run's work. Work is assumed even over the run's GPU-seconds. It is at least 1, since 0
// means that the total was not reached.
func (r *runs) passed(end float64, now time.Time) float64 {
	had := r.attained(now)
	if seg := r.Seg; seg != nil && seg.DoneFrom < end {
		had -= seg.Held(now) * seg.Beyond(end)
	}
	return max(1, had)
}

// passedBefore returns the course of a job that reached its total in a run before this daemon
// started. had are the GPU-seconds of the runs before, held those of that run. If the run made
// no progress beyond the total, the total counts as reached at the end of the run.
func passedBefore(had float64, seg journal.Segment, held, end float64) course {
	at := max(1, had+held*(1-seg.Beyond(end)))
	return course{total: end, first: at, of: end, reached: at}
}
