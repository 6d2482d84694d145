package offcycle

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// Bounds of the time between two steps of a sweep. A step that finds a lane that wants a trial ends the
// idle time of its GPUs; one that finds nothing costs a few reads for each lane.
const (
	lookEvery = 500 * time.Millisecond
	lookSoon  = 25 * time.Millisecond
	// soonFor is how long before and after the expected end of a trial its lane is looked at so often.
	soonBefore, soonAfter = time.Second, 5 * time.Second
	// shareOfSteps bounds the part of the time in which steps run, to one in so many.
	shareOfSteps = 4
)

// pace finds when a lane of a sweep will want a trial. The zero value is for a sweep without lanes.
type pace struct {
	lanes map[string]laneOfPace
	mean  time.Duration // of trials that ended; 0 = none has
	stops bool          // a trial was told to stop
}

// laneOfPace is the trial that a lane runs, by the lane's clock.
type laneOfPace struct {
	trial, start int
	at           time.Time
	epoch        float64
	each         time.Duration // an epoch
	ends         time.Time     // expected; zero = unknown
}

// take takes in a line of a lane.
func (p *pace) take(lane string, e sweep.Event) {
	if p.lanes == nil {
		p.lanes = map[string]laneOfPace{}
	}
	l := p.lanes[lane]
	switch {
	case e.Kind == sweep.Began:
		l = laneOfPace{trial: e.Trial, start: e.Start, at: e.At}
	case e.Kind == sweep.Reported && l.trial == e.Trial && l.start == e.Start && e.Epoch > l.epoch:
		l.each = time.Duration(float64(e.At.Sub(l.at)) / (e.Epoch - l.epoch))
		l.at, l.epoch = e.At, e.Epoch
	case e.Kind == sweep.EndedAs:
		delete(p.lanes, lane)
		return
	default:
		return
	}
	p.lanes[lane] = l
}

// foresee finds when the trials that run will end.
func (p *pace) foresee(b *book.Book, s sweep.Sweep) {
	for lane, l := range p.lanes {
		l.ends = time.Time{}
		if s.Epochs > 0 && l.each > 0 {
			l.ends = l.at.Add(time.Duration(max(0, s.Epochs-l.epoch) * float64(l.each)))
		}
		p.lanes[lane] = l
	}
	p.stops = false
	for _, t := range b.Trials {
		if t.State == book.Running && (t.Rung > 0 || t.Yields || b.Over != book.NotOver || s.State != sweep.Active) {
			p.stops = true
		}
	}
	p.mean = 0
	if n := b.Count(book.Done) + b.Count(book.Paused); n > 0 {
		p.mean = time.Duration(b.Seconds() / float64(n) * float64(time.Second))
	}
}

// next is how long after the beginning of the last step the next one is due. took is how long the last
// one took; all the sweeps that there are share the time for quick looks. Where a trial's end is not
// known, at most a hundredth of the mean length of trials is lost.
func (p *pace) next(now time.Time, took time.Duration, sweeps int) time.Duration {
	wait := lookEvery
	if p.mean > 0 {
		wait = min(wait, p.mean/100)
	}
	for _, l := range p.lanes {
		if !l.ends.IsZero() && now.After(l.ends.Add(-soonBefore)) && now.Before(l.ends.Add(soonAfter)) {
			wait = lookSoon
		}
	}
	if p.stops {
		wait = lookSoon
	}
	return min(max(wait, lookSoon, shareOfSteps*took*time.Duration(sweeps)), max(lookEvery, shareOfSteps*took))
}
