package forecast

import (
	"math"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// halfLife is after how long a forecast is half as sure: jobs come, fail and are changed meanwhile.
const halfLife = 12 * time.Hour

// confidence is the mean confidence of the job's speeds over the time it trained; 1 before it did.
func (c *course) confidence() float64 {
	if c.trained <= 0 {
		return 1
	}
	return c.trust / c.trained
}

// sure returns how sure it is what the job does after ahead; kept: sizes are only kept.
// It is the product in the package comment, for the moves so far.
func (c *course) sure(ahead time.Duration, kept bool) float64 {
	out := c.confidence() * math.Pow(0.9, float64(c.moves)) * math.Pow(0.5, ahead.Hours()/halfLife.Hours())
	if kept {
		out *= 0.5
	}
	return min(1, max(0, out))
}

// finishAt sets the expected end.
// ahead is from the beginning of the projection; the spread is a part of it, at most 90 % below.
func (c *course) finishAt(end time.Time, limit bool, ahead time.Duration, kept bool) {
	c.ended = true
	c.job.Ends, c.job.Limit, c.job.Sure = end, limit, c.sure(ahead, kept)
	for n := len(c.job.Segments); n > 1 && c.job.Segments[n-1].From.After(end); n-- {
		c.job.Segments = c.job.Segments[:n-1] // it ends between two sizes, before it trains at the second
	}
	if n := len(c.job.Segments); n > 0 {
		c.job.Segments[n-1].To = end
	}
	if limit {
		c.job.Low, c.job.High = end, end
		return
	}
	spread := min(0.9, 0.05+0.45*(1-c.confidence())+0.05*float64(c.moves))
	seconds := ahead.Seconds()
	c.job.Low, c.job.High = elastic.Ahead(end, -seconds*spread), elastic.Ahead(end, 2*seconds*spread)
}

// results returns the jobs in the order of the snapshot. Of those that still run, the end is the one at
// the size that they have.
func (p *projector) results(stop Stop) []Job {
	for i, c := range p.live {
		j := &p.snap.Jobs[i]
		if end, limit, known := p.end(i); known {
			train, confident := p.snap.Now, c.trained
			if c.busy.After(train) {
				train = c.busy
			}
			if p.fleetOf(j) != nil {
				seconds := max(0, end.Sub(train).Seconds())
				c.trained, c.trust = confident+seconds, c.trust+seconds*laneTrust
			} else if _, sure, ok := p.pace(j); ok {
				seconds := max(0, end.Sub(train).Seconds())
				c.trained, c.trust = confident+seconds, c.trust+seconds*sure
			}
			c.finishAt(end, limit, end.Sub(p.began), stop != Complete)
			continue
		}
		c.job.Unknown = p.unknown(j)
	}
	out := make([]Job, len(p.all))
	for i, c := range p.all {
		out[i] = c.job
	}
	return out
}

// unknown returns why the end of a job is not known.
// The job is in the snapshot as it is at the end of the projection.
func (p *projector) unknown(j *elastic.Job) Unknown {
	waiting := j.Phase == elastic.Waiting || j.Phase == elastic.Queued
	switch _, counted := j.Remaining(); {
	case j.Directive.Hold && waiting, j.Phase == elastic.Suspended, waiting && j.Blocked.Code != "":
		return Held
	case waiting && p.fleetOf(j) != nil:
		return Waits
	case !counted || j.Overruns():
		return NoTotal
	case j.Curve.Samples() == 0 && !j.Curve.Exact():
		return NoSpeed
	}
	return Waits
}
