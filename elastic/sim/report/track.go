package report

import (
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic/sim/replay"
)

// What a Track keeps at most, whatever the number of jobs and events.
const (
	trackSlots = 2048 // of time, for the whole cluster
	laneSlots  = 256  // of time, for a lane of several jobs
	maxLanes   = 500  // jobs with a lane of their own
	fewLanes   = 200  // lanes when several jobs share one
	maxSpans   = 1024 // of one job; later ones are joined
)

// Track follows the events of one run and keeps what a page draws from them:
// GPUs at work, GPUs being restarted and jobs without GPUs over time, and a lane a
// job, or, above 500 jobs, a lane for each group of jobs that came one after the
// other. Its size is bounded whatever the number of jobs.
type Track struct {
	restart    func(job int) time.Duration
	useful     *series
	restarting *series
	waiting    *series
	lanes      []lane
	jobs       int
	active     map[[2]int]state // by job and lane of a sweep
	end        time.Duration
}

// lane is one job's, or several jobs', part of a chart.
type lane struct {
	name   string
	submit time.Duration
	spans  []span
	moves  int     // starts, resizes, moves and stops
	group  *series // GPUs, when jobs share the lane
	sum    state   // of the lanes of a sweep
}

// span is a time at one size; 0 GPUs is waiting.
type span struct {
	from, to   time.Duration
	gpus       int
	restarting time.Duration // at its beginning
}

// state is what a job that has not ended does.
type state struct {
	since time.Duration
	gpus  int
}

// NewTrack returns a track for a workload of so many jobs; restart says what each
// start and resize of a job takes.
func NewTrack(jobs int, restart func(job int) time.Duration) *Track {
	t := &Track{
		restart: restart, jobs: jobs, active: map[[2]int]state{},
		useful: newSeries(trackSlots), restarting: newSeries(trackSlots), waiting: newSeries(trackSlots),
	}
	if jobs <= maxLanes {
		t.lanes = make([]lane, jobs)
		return t
	}
	t.lanes = make([]lane, fewLanes)
	for i := range t.lanes {
		t.lanes[i].group = newSeries(laneSlots)
	}
	return t
}

// Event takes the next event; give it to replay.Config.Events.
func (t *Track) Event(e replay.Event) {
	if e.Job < 0 || e.Job >= t.jobs {
		return
	}
	t.end = max(t.end, e.At)
	l := t.lane(e.Job)
	of := [2]int{e.Job, e.Lane}
	was, known := t.active[of]
	if e.Lane > 0 {
		l = l.together(e, was)
	}
	if known && (e.Lane == 0 || was.gpus > 0) { // a sweep waits for its first lane only
		t.pass(l, e.Job, was, e.At)
	}
	switch e.Kind {
	case "end":
		delete(t.active, of)
	case "submit":
		if l.group == nil {
			l.name, l.submit = e.Name, e.At
		}
		t.active[of] = state{since: e.At}
	default:
		l.moves++
		t.active[of] = state{since: e.At, gpus: e.To.GPUs()}
	}
}

func (t *Track) lane(job int) *lane {
	return &t.lanes[job*len(t.lanes)/t.jobs]
}

// together draws the lanes of a sweep as one job with the GPUs of all. It returns where the
// event's own lane is drawn beside that: nowhere, or with the group.
func (l *lane) together(e replay.Event, was state) *lane {
	if l.group != nil {
		return l
	}
	if l.name == "" {
		l.name, _, _ = strings.Cut(e.Name, ".")
		l.submit, l.sum.since = e.At, e.At
	}
	if more := e.To.GPUs() - was.gpus; more != 0 {
		if e.At > l.sum.since {
			l.keep(span{from: l.sum.since, to: e.At, gpus: l.sum.gpus})
		}
		l.sum = state{since: max(e.At, l.sum.since), gpus: l.sum.gpus + more}
	}
	return &lane{group: newSeries(1)}
}

// pass books the time a job spent as it was.
func (t *Track) pass(l *lane, job int, was state, until time.Duration) {
	if until <= was.since {
		return
	}
	if was.gpus == 0 {
		t.waiting.add(was.since, until, 1)
		l.keep(span{from: was.since, to: until})
		return
	}
	ready := min(was.since+t.restart(job), until)
	t.restarting.add(was.since, ready, float64(was.gpus))
	t.useful.add(ready, until, float64(was.gpus))
	l.keep(span{was.since, until, was.gpus, ready - was.since})
}

// keep adds a span to the lane.
func (l *lane) keep(s span) {
	if l.group != nil {
		l.group.add(s.from, s.to, float64(s.gpus))
		return
	}
	if n := len(l.spans); n == maxSpans {
		l.spans[n-1].to = s.to
		return
	}
	l.spans = append(l.spans, s)
}
