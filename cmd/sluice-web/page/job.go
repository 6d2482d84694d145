package page

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/draw"
)

// jobView is one job.
type jobView struct {
	wire.Explanation
	Mine   bool // the viewer may give orders about it, as far as the page knows
	Runs   []wire.Segment
	Lanes  template.HTML
	Curve  template.HTML
	Speeds []speedRow
	Next   *oneMore
	Choice []int // sizes to offer
	Lane   *sweepOfJob
}

// sweepOfJob is the sweep whose lane the job is.
type sweepOfJob struct {
	Number  int64 // 0 = not known
	Name    string
	Trials  string // that it runs; "" = none
	Several bool
}

// sweepOfLane returns the sweep whose lane a job is; nil if it is none.
func sweepOfLane(v *visit, j *wire.Job) *sweepOfJob {
	if j.Sweep == "" {
		return nil
	}
	out := &sweepOfJob{}
	all, err := v.daemon.Sweeps(v.Context())
	if err != nil {
		return out // the page says what it can
	}
	for _, s := range all.Sweeps {
		if s.Token != j.Sweep || s.UID != j.UID {
			continue
		}
		out.Number, out.Name = s.Number, s.Name
		for _, l := range s.Lanes {
			if l.JobID == j.JobID {
				out.Trials, out.Several = trialsText(l.Trials()), len(l.Beside) > 0
			}
		}
	}
	return out
}

// speedRow is a size and its speed, measured or expected: the table behind the curve.
type speedRow struct {
	wire.Size
	Measured bool
}

// oneMore is what the next larger size would bring now.
type oneMore struct {
	From, To       int
	Saves          float64 // seconds; negative = it would end later
	GPUHours       float64 // more than at the present size; negative = fewer
	Worth          bool
	SaysNothingYet bool // the speed at one of the sizes is not known
}

// jobOf returns the number in the request's path.
func jobOf(v *visit) (elastic.JobID, error) {
	n, err := strconv.ParseInt(v.PathValue("job"), 10, 64)
	if err != nil || n < 1 {
		return 0, wire.Fail(wire.NotFound, "", "%.40q is not the number of a job", v.PathValue("job"))
	}
	return elastic.JobID(n), nil
}

func (p *Pages) job(v *visit) (*sheet, error) {
	id, err := jobOf(v)
	if err != nil {
		return nil, err
	}
	e, err := v.daemon.Explain(v.Context(), id)
	if err != nil {
		return nil, err
	}
	view := jobView{Explanation: e, Mine: p.Orders != nil && e.Job.UID == v.viewer.UID}
	view.Lane = sweepOfLane(v, &e.Job)
	h, err := v.daemon.History(v.Context(), id)
	if err != nil {
		return nil, err
	}
	view.Runs = h.Segments
	if n := len(view.Runs); n > maxRuns {
		view.Runs = view.Runs[n-maxRuns:]
	}
	measured := map[int]bool{}
	if e.Job.Model != "" {
		uid := e.Job.UID
		if s, err := v.daemon.Speeds(v.Context(), e.Job.Model, &uid); err == nil { // the page says what it can without
			for _, m := range s.Measured {
				measured[m.GPUs] = true
			}
		}
	}
	view.speeds(measured)
	view.Next = moreOf(&e)
	for _, s := range e.Sizes {
		if len(view.Choice) < 64 {
			view.Choice = append(view.Choice, s.GPUs)
		}
	}
	view.Lanes = jobLane(&e.Job, view.Runs, nil, v.now, p.Base)
	return &sheet{name: "job", title: fmt.Sprintf("Job %d", id), view: view, refresh: true}, nil
}

// maxRuns bounds the runs that a page lists; the last ones are.
const maxRuns = 200

// speeds fills in the curve and its table.
func (view *jobView) speeds(measured map[int]bool) {
	var points []draw.Point
	axis := "units of work a minute"
	if view.Job.Unit != "" {
		axis = view.Job.Unit + "s a minute"
	}
	for _, s := range view.Sizes {
		row := speedRow{s, measured[s.GPUs] || s.Source == "measured"}
		view.Speeds = append(view.Speeds, row)
		speed, title := 0.0, ""
		switch {
		case s.Seconds > 0:
			speed, title = 60/s.Seconds, fmt.Sprintf("%d GPUs: %s s for each %s", s.GPUs, figure(s.Seconds), view.Job.Unit)
		case s.Relative > 0:
			speed, title, axis = s.Relative, fmt.Sprintf("%d GPUs: %s times as fast as 1 GPU", s.GPUs, figure(s.Relative)), "times as fast as 1 GPU"
		default:
			continue
		}
		source := s.Source
		if row.Measured {
			source = "measured"
		}
		points = append(points, draw.Point{GPUs: float64(s.GPUs), Speed: speed, Measured: row.Measured, Now: s.Now, Title: title + ", " + source})
	}
	if len(points) > 1 {
		view.Curve = draw.Speeds(points, fmt.Sprintf("Speed of job %d by number of GPUs, as in the table below", view.Job.JobID), axis)
	}
}

// moreOf compares the present size with the next larger one; nil if there is none.
func moreOf(e *wire.Explanation) *oneMore {
	at := slices.IndexFunc(e.Sizes, func(s wire.Size) bool { return s.Now })
	if at < 0 || at+1 >= len(e.Sizes) {
		return nil
	}
	now, next := e.Sizes[at], e.Sizes[at+1]
	m := &oneMore{From: now.GPUs, To: next.GPUs}
	if now.Left <= 0 || next.Left <= 0 {
		m.SaysNothingYet = true
		return m
	}
	m.Saves = now.Left - next.Left
	m.GPUHours = (next.Left*float64(next.GPUs) - now.Left*float64(now.GPUs)) / 3600
	m.Worth = m.Saves > 0
	return m
}

// jobLane draws one job: past runs, now, and what is expected.
func jobLane(j *wire.Job, runs []wire.Segment, expected *wire.Expected, now time.Time, base string) template.HTML {
	if len(runs) == 0 {
		return ""
	}
	from := runs[0].Started
	if !j.Submitted.IsZero() && j.Submitted.Before(from) {
		from = j.Submitted
	}
	to := now
	switch {
	case j.Ended && !j.EndedAt.IsZero():
		to = j.EndedAt
	case j.ETA.After(now):
		to = j.ETA
	}
	scale := timescale{from: from, to: to.Add(to.Sub(from) / 50), now: now}
	l := pastLane{ID: j.JobID, Name: j.Name, User: j.User, Submitted: j.Submitted, EndedAt: j.EndedAt, Runs: runs, Expected: expected, ETA: j.ETA, GPUs: j.GPUs}
	return scale.draw([]pastLane{l}, fmt.Sprintf("Sizes of job %d over time, as in the table of its runs", j.JobID), base, true)
}
