package report

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/draw"
)

// courseSteps is how many steps of time a chart of a whole run shows.
const courseSteps = 360

// courseScale is what the charts of one workload have in common, so that policies
// can be compared by eye.
type courseScale struct {
	end     time.Duration
	gpus    float64
	waiting float64 // the most, of any policy
	most    int     // GPUs of one job, of any policy
	left    float64 // where time begins: there is room for names, or for numbers
}

// scaleOf finds the scale that holds the tracked runs of the block, but for those
// that take more than twice as long as the shortest (see own).
func scaleOf(b block) courseScale {
	s := courseScale{end: time.Second, gpus: 1, waiting: 1, most: 1, left: numbersLeft}
	shortest := time.Duration(math.MaxInt64 / 2)
	for _, r := range b.rows {
		if t := r.track(); t != nil {
			shortest = min(shortest, t.end)
		}
	}
	for _, r := range b.rows {
		s.gpus = max(s.gpus, float64(r.GPUs))
		t := r.track()
		if t == nil {
			continue
		}
		if t.end <= 2*shortest {
			s.end = max(s.end, t.end)
		}
		if draw.LaneHeight(len(t.lanes)) >= draw.NameHeight {
			s.left = namesLeft
		}
		for _, l := range t.lanes {
			for _, sp := range l.spans {
				s.most = max(s.most, sp.gpus)
			}
		}
	}
	for _, r := range b.rows {
		if t := r.track(); t != nil {
			own, _ := s.own(t)
			s.waiting = max(s.waiting, slices.Max(t.waiting.means(own.end, courseSteps)))
		}
	}
	return s
}

// own is the scale to draw the run on: the common one, or, where the run would not
// fit, the same with a time of its own.
func (s courseScale) own(t *Track) (scale courseScale, differs bool) {
	if t.end > s.end {
		s.end = t.end
		return s, true
	}
	return s, false
}

// track is the course of the row's first seed; nil when it was not followed.
func (r row) track() *Track {
	for _, run := range r.runs {
		if run.Track != nil {
			return run.Track
		}
	}
	return nil
}

const (
	courseWidth = 1080.0
	courseRight = 16.0
	numbersLeft = 56.0
	namesLeft   = 130.0
)

// courseChart draws the jobs that have the GPUs, and below them the waiting ones, over time.
func courseChart(t *Track, s courseScale, policy, class string) template.HTML {
	const useHeight, waitHeight, gap = 120.0, 52.0, 26.0
	d := draw.New(courseWidth, 20+useHeight+gap+waitHeight+22, "chart", "GPUs in use and waiting jobs over time under "+policy)
	use := draw.Panel{Left: s.left, Top: 20, Width: courseWidth - s.left - courseRight, Height: useHeight}
	wait := draw.Panel{Left: s.left, Top: 20 + useHeight + gap, Width: use.Width, Height: waitHeight}
	ticks := draw.TimeTicks(s.end, 14)

	useful, restarting := t.useful.means(s.end, courseSteps), t.restarting.means(s.end, courseSteps)
	none, one := make([]float64, courseSteps), make([]float64, courseSteps)
	for i := range useful {
		useful[i] = min(1, useful[i]/s.gpus)
		restarting[i] = min(1, useful[i]+restarting[i]/s.gpus)
		one[i] = 0
		if float64(i) < float64(courseSteps)*t.end.Seconds()/s.end.Seconds() {
			one[i] = 1
		}
	}
	d.Text(use.Left, 12, "start", "axis", "GPUs")
	d.Path("idle", use.Steps(none, one), "")
	d.Path("restarting", use.Steps(useful, restarting), "")
	d.Path("useful "+class, use.Steps(none, useful), "")
	d.CountAxis(use, draw.CountTicks(s.gpus, 4), s.gpus)
	d.TimeAxis(use, ticks, s.end.Seconds(), false)

	waiting := t.waiting.means(s.end, courseSteps)
	for i := range waiting {
		waiting[i] /= s.waiting
	}
	d.Text(wait.Left, wait.Top-7, "start", "axis", "jobs without a GPU")
	d.CountAxis(wait, draw.CountTicks(s.waiting, 2), s.waiting)
	d.TimeAxis(wait, ticks, s.end.Seconds(), true)
	d.Path("waiting", wait.Steps(none, waiting), "")
	return d.Done()
}

// colour is the class of the i-th policy's colour.
func colour(i int) string { return fmt.Sprintf("p%d", i%10) }
