package page

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/draw"
)

// Bounds of a drawing of lanes.
const (
	maxLanes     = 300 // jobs in one drawing
	maxTitled    = 900 // spans with a title and a link of their own
	maxJobsAsked = 2000
)

// timeView is the lanes of every job.
type timeView struct {
	At       int64
	Range    string
	Ranges   []string
	From, To time.Time
	Lanes    template.HTML
	Jobs     []laneRow
	Left     int // jobs of the range that are not drawn
	Own      bool
	Kept     time.Time
	NoFuture string // why there is no forecast
	Forecast *wire.Forecast
	Since    time.Time // jobs that ended before are left out; zero = none is
}

// laneRow is a job in the table behind the lanes.
type laneRow struct {
	pastLane
	Waited, Ran time.Duration
	Moves       int
	Dead        float64 // seconds that its moves cost
}

// pastLane is a job with its past and its expected future.
type pastLane struct {
	ID                 int64
	Name, User         string
	Submitted, EndedAt time.Time
	State              string
	GPUs               int // now
	ETA                time.Time
	Runs               []wire.Segment
	Expected           *wire.Expected
}

// ranges are the lengths of time that a page offers: back and, half of it, ahead.
var ranges = []string{"1h", "6h", "24h", "168h"}

// rangeOf returns the range of a request and its length.
func rangeOf(v *visit) (string, time.Duration) {
	name := v.FormValue("range")
	if !slices.Contains(ranges, name) {
		name = ranges[1]
	}
	d, _ := time.ParseDuration(name)
	return name, d
}

func (p *Pages) lanes(v *visit) (*sheet, error) {
	name, back := rangeOf(v)
	view := timeView{At: v.now.Unix(), Range: name, Ranges: ranges, From: v.now.Add(-back), To: v.now.Add(back / 2)}
	past, all, err := pastJobs(v, view.From, time.Time{})
	if err != nil {
		return nil, err
	}
	view.Own, view.Kept = past.Own, past.Kept
	view.Since = leftOut(past, view.From)
	forecast, err := v.daemon.Forecast(v.Context())
	if err != nil {
		view.NoFuture = err.Error()
		view.To = v.now.Add(back / 12)
	} else {
		view.Forecast = &forecast
	}
	lanes := joined(all, view.Forecast)
	slices.SortStableFunc(lanes, func(a, b pastLane) int { return a.Submitted.Compare(b.Submitted) })
	if len(lanes) > maxLanes { // the newest are drawn
		view.Left = len(lanes) - maxLanes
		lanes = lanes[view.Left:]
	}
	for _, l := range lanes {
		view.Jobs = append(view.Jobs, l.row(v.now))
	}
	scale := timescale{from: view.From, to: view.To, now: v.now}
	view.Lanes = scale.draw(lanes, "GPUs of each job over time: what was, and paler what is expected; the table below has the same", p.Base, false)
	return &sheet{name: "time", title: "Time", view: view, refresh: true}, nil
}

// maxHalvings bounds how often pastJobs asks for a shorter range.
const maxHalvings = 12

// pastJobs returns the jobs of a time range, about maxJobsAsked at most. sluiced lists what ended first
// before what ended later, so a range of more jobs is halved from its beginning: the oldest are left out.
// past.From says from when on none is.
func pastJobs(v *visit, from, to time.Time) (last wire.Past, all []wire.PastJob, err error) {
	end := v.now
	if !to.IsZero() && to.Before(end) {
		end = to
	}
	for range maxHalvings {
		if last, all, err = jobsSince(v, from, to); err != nil || last.Next == "" {
			break
		}
		from = from.Add(end.Sub(from) / 2)
	}
	last.From = from
	return last, all, err
}

// jobsSince returns the jobs of a range. past.Next is not "" if there are more than maxJobsAsked.
func jobsSince(v *visit, from, to time.Time) (last wire.Past, all []wire.PastJob, err error) {
	q := client.PastQuery{Of: wire.OfJobs, From: from, To: to, Limit: wire.PastRowsMost}
	for {
		if last, err = v.daemon.Past(v.Context(), q); err != nil {
			return last, nil, err
		}
		all = append(all, last.Jobs...)
		if q.Cursor = last.Next; q.Cursor == "" || len(all) >= maxJobsAsked {
			return last, all, nil
		}
	}
}

// leftOut returns the time before which ended jobs are left out; zero if none is.
func leftOut(past wire.Past, from time.Time) time.Time {
	if past.From.After(from) {
		return past.From
	}
	return time.Time{}
}

// joined puts a job's past and its expected future together. Jobs that have ended are in the past
// only, and new ones may be in the forecast only.
func joined(past []wire.PastJob, forecast *wire.Forecast) (out []pastLane) {
	expected := map[int64]*wire.Expected{}
	if forecast != nil {
		for i := range forecast.Jobs {
			expected[forecast.Jobs[i].JobID] = &forecast.Jobs[i]
		}
	}
	for _, j := range past {
		out = append(out, pastLane{ID: j.JobID, Name: j.Name, User: j.User, Submitted: j.Submitted, EndedAt: j.EndedAt, State: j.State,
			Runs: j.Runs, Expected: expected[j.JobID]})
		delete(expected, j.JobID)
	}
	for _, e := range expected {
		out = append(out, pastLane{ID: e.JobID, Name: e.Name, User: e.User, Submitted: forecast.At, GPUs: e.GPUs, Expected: e})
	}
	slices.SortFunc(out, func(a, b pastLane) int { return int(min(max(a.ID-b.ID, -1), 1)) })
	return out
}

// row sums a lane up.
func (l pastLane) row(now time.Time) laneRow {
	r := laneRow{pastLane: l, Moves: max(0, len(l.Runs)-1)}
	end := now
	if !l.EndedAt.IsZero() {
		end = l.EndedAt
	}
	for i, run := range l.Runs {
		r.Ran += runEnd(l.Runs, i, end).Sub(run.Started)
		r.Dead += run.Price.Total
	}
	r.Ran = max(0, r.Ran)
	if !l.Submitted.IsZero() {
		r.Waited = max(0, end.Sub(l.Submitted)-r.Ran)
	}
	return r
}

// runEnd is when a run ended: at its end, at the next run's start, or at the end of the job or now.
func runEnd(runs []wire.Segment, i int, end time.Time) time.Time {
	switch {
	case !runs[i].Ended.IsZero():
		return runs[i].Ended
	case i+1 < len(runs) && !runs[i+1].Started.IsZero():
		return runs[i+1].Started
	}
	return end
}

// timescale is the time axis of a drawing.
type timescale struct{ from, to, now time.Time }

func (s timescale) at(t time.Time) float64 { return t.Sub(s.from).Seconds() }

// ticks marks round times of day.
func (s timescale) ticks(most int) []draw.Tick {
	step := draw.NiceStep(s.to.Sub(s.from), most)
	first := s.from.Local().Truncate(time.Minute)
	_, offset := first.Zone()
	shift := time.Duration(offset) * time.Second
	first = first.Add(shift).Truncate(step).Add(-shift) // round in local time
	form := "15:04"
	switch {
	case step < time.Minute:
		form = "15:04:05"
	case step >= draw.Day:
		form = "2 Jan"
	case s.to.Sub(s.from) > 2*draw.Day:
		form = "Mon 15:04"
	}
	var out []draw.Tick
	for t := first; t.Before(s.to) && len(out) < 4*most; t = t.Add(step) {
		if !t.Before(s.from) {
			out = append(out, draw.Tick{At: s.at(t), Text: t.Format(form)})
		}
	}
	return out
}

const (
	lanesWidth = 1080.0
	namesWidth = 150.0
)

// draw draws lanes. One job alone gets a high lane.
func (s timescale) draw(lanes []pastLane, label, base string, alone bool) template.HTML {
	end := s.to.Sub(s.from).Seconds()
	if len(lanes) == 0 || end <= 0 {
		return ""
	}
	high, left := draw.LaneHeight(len(lanes)), namesWidth
	if alone {
		high, left = 44, 8
	} else if high < draw.NameHeight {
		left = 60
	}
	p := draw.Panel{Left: left, Top: 18, Width: lanesWidth - left - 12, Height: high * float64(len(lanes))}
	d := draw.NewWithLinks(lanesWidth, p.Top+p.Height+22, "chart lanes", label)
	ticks, mark := s.ticks(8), p.Left+p.Width*s.at(s.now)/end
	d.TimeAxis(p, ticks, end, true)
	for _, t := range ticks { // above many lanes, too: the axis below them is out of sight
		if x := p.Left + p.Width*t.At/end; len(lanes) > 20 && math.Abs(x-mark) > 60 {
			d.Text(x, p.Top-8, "middle", "tick", t.Text)
		}
	}
	most, spans := 1, 0
	for _, l := range lanes {
		most = max(most, l.most())
		spans += len(l.Runs) + 2
	}
	for i, l := range lanes {
		lane := l.lane(s, base, spans <= maxTitled)
		room := draw.Panel{Left: p.Left, Top: p.Top + high*float64(i), Width: p.Width, Height: high}
		d.Lane(lane, room, end, most)
		if !alone && high >= draw.NameHeight {
			d.Printf(`<a href="%s">`, draw.Escaped(lane.Href))
			d.Text(p.Left-8, room.Top+high/2+3.5, "end", "tick", draw.Shortened(lane.Name, 22))
			d.Printf(`</a>`)
		}
	}
	if s.now.After(s.from) && s.now.Before(s.to) {
		d.Line(mark, p.Top-4, mark, p.Top+p.Height, "now")
		d.Text(mark, p.Top-8, "middle", "tick nowmark", "now")
	}
	return d.Done()
}

func (l pastLane) most() int {
	most := l.GPUs
	for _, r := range l.Runs {
		most = max(most, r.GPUs)
	}
	if l.Expected != nil {
		for _, e := range l.Expected.Sizes {
			most = max(most, e.GPUs)
		}
	}
	return most
}

// lane is the lane as draw draws it; titled: each edge says why.
func (l pastLane) lane(s timescale, base string, titled bool) draw.Lane {
	link := fmt.Sprintf("%s/jobs/%d", base, l.ID)
	out := draw.Lane{Name: fmt.Sprintf("%d %s", l.ID, short(l.Name, 20)), Key: int(l.ID), Href: link}
	end, waited := s.now, l.Submitted
	if !l.EndedAt.IsZero() {
		end = l.EndedAt
	}
	wait := func(until time.Time) {
		if !waited.IsZero() && until.After(waited) {
			out.Spans = append(out.Spans, draw.Span{From: s.at(waited), To: s.at(until), Sure: 1})
		}
	}
	for i, r := range l.Runs {
		if r.Started.IsZero() {
			continue
		}
		wait(r.Started)
		waited = runEnd(l.Runs, i, end)
		span := draw.Span{From: s.at(r.Started), To: s.at(waited), GPUs: r.GPUs, Restarting: r.Price.Load, Sure: 1}
		if titled {
			span.Title = runStory(l.ID, r, waited)
		}
		out.Spans = append(out.Spans, span)
	}
	if l.EndedAt.IsZero() {
		wait(s.now)
	}
	out.Spans = append(out.Spans, l.future(s)...)
	out.Title = fmt.Sprintf("job %d, %s, of %s: %s", l.ID, short(l.Name, 40), short(l.User, 32), draw.Count(len(l.Runs), "run"))
	return out
}

// future are the spans that are expected.
func (l pastLane) future(s timescale) (out []draw.Span) {
	if l.Expected == nil {
		if l.ETA.After(s.now) && l.GPUs > 0 { // at the present size
			out = append(out, draw.Span{From: s.at(s.now), To: s.at(l.ETA), GPUs: l.GPUs, Sure: .5, Title: "at its present size it ends at " + when(l.ETA, s.now)})
		}
		return out
	}
	for _, e := range l.Expected.Sizes {
		to := e.To
		if to.IsZero() || to.After(s.to) {
			to = s.to
		}
		from := e.From
		if from.Before(s.now) {
			from = s.now
		}
		if !to.After(from) {
			continue
		}
		title := fmt.Sprintf("expected: %s from %s, %d%% sure", draw.Count(e.GPUs, "GPU"), when(e.From, s.now), percent(e.Sure, 1))
		if e.GPUs == 0 {
			title = fmt.Sprintf("expected to wait until %s", when(to, s.now))
		}
		out = append(out, draw.Span{From: s.at(from), To: s.at(to), GPUs: e.GPUs, Sure: min(e.Sure, .99), Title: title})
	}
	return out
}

// runStory is the title of a run: why it began, and what that cost.
func runStory(job int64, r wire.Segment, until time.Time) string {
	text := fmt.Sprintf("job %d, run %d: %s on %s for %s", job, r.Restarts, draw.Count(r.GPUs, "GPU"), place(r.Place), draw.Lasting(until.Sub(r.Started)))
	if r.Cause != "" {
		text += "; " + short(r.Cause, 200)
	}
	if r.Price.Total > 0 {
		text += fmt.Sprintf("; cost %s s: save %s, stop %s, start %s, load %s", figure(r.Price.Total), figure(r.Price.Save), figure(r.Price.Drain), figure(r.Price.Start), figure(r.Price.Load))
	}
	return text
}
