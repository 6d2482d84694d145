package page

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/draw"
	"github.com/sluice-hpc/sluice/sbatch"
)

// whatifView is what is expected of all jobs, and what a change of one would do to it.
type whatifView struct {
	At       int64
	Job      int64
	Change   string // resize, deadline, hold or cancel; "" = none is tried
	GPUs     string
	Deadline string
	Soft     bool
	Wrong    string // what is wrong with the change
	Order    *Order // that makes it so
	May      bool   // these pages may give it for the viewer
	Command  string
	Jobs     []wire.Job // to choose from
	Forecast *wire.Forecast
	More     int // jobs of the forecast that are not listed
	Answer   *wire.WhatIfAnswer
	Moved    []wire.Difference
	Same     int // jobs whose end stays, or is not known
	Known    int // jobs whose end is known without the change and with it
	Drawing  template.HTML
	Sooner   float64 // seconds, over all jobs whose end is known in both; negative = later
	Told     time.Time
}

// maxExpected bounds the jobs whose expected ends are listed.
const maxExpected = 300

// maxMoved bounds the jobs whose moved ends are drawn.
const maxMoved = 60

func (p *Pages) whatif(v *visit) (*sheet, error) {
	view := whatifView{At: v.now.Unix(), Change: v.FormValue("change"), GPUs: strings.TrimSpace(v.FormValue("gpus")),
		Deadline: strings.TrimSpace(v.FormValue("deadline")), Soft: v.FormValue("soft") != "", Told: v.now}
	view.Job, _ = strconv.ParseInt(v.FormValue("job"), 10, 64)
	report, err := v.daemon.Present(v.Context())
	if err != nil {
		return nil, err
	}
	for _, j := range report.Jobs { // those that the viewer may change
		if j.UID == v.viewer.UID && len(view.Jobs) < 500 {
			view.Jobs = append(view.Jobs, j)
		}
	}
	if view.Change == "" || view.Job == 0 {
		f, err := v.daemon.Forecast(v.Context())
		if err != nil {
			return nil, err
		}
		if view.Forecast = &f; len(f.Jobs) > maxExpected {
			view.More, f.Jobs = len(f.Jobs)-maxExpected, f.Jobs[:maxExpected]
		}
		return &sheet{name: "whatif", title: "What if", view: view}, nil
	}
	ask, order, err := view.ask(v.now)
	if err != nil {
		view.Wrong = err.Error()
		return &sheet{name: "whatif", title: "What if", view: view}, nil
	}
	view.Order, view.Command = &order, command(order.Command())
	view.May = p.may(order.Verb) && slices.ContainsFunc(report.Jobs, func(j wire.Job) bool { return j.JobID == view.Job && j.UID == v.viewer.UID })
	answer, err := v.daemon.WhatIf(v.Context(), ask)
	if err != nil {
		view.Wrong = err.Error()
		return &sheet{name: "whatif", title: "What if", view: view}, nil
	}
	view.show(answer)
	return &sheet{name: "whatif", title: "What if", view: view}, nil
}

// ask returns the change as sluiced is asked, and the order that would make it so.
func (view *whatifView) ask(now time.Time) (wire.WhatIf, Order, error) {
	w := wire.WhatIf{JobID: view.Job}
	o := Order{Job: elastic.JobID(view.Job)}
	switch view.Change {
	case "resize":
		n, err := strconv.Atoi(view.GPUs)
		if err != nil {
			return w, o, fmt.Errorf("%.20q is not a number of GPUs", view.GPUs)
		}
		w.GPUs, o.Verb, o.GPUs = n, "resize", view.GPUs
	case "deadline":
		o.Verb, o.Deadline, o.Soft = "deadline", view.Deadline, view.Soft
		t, err := Deadline(view.Deadline, now)
		if err != nil {
			return w, o, err
		}
		w.Deadline, w.NoDeadline, w.Soft = t, t.IsZero(), view.Soft && !t.IsZero()
	case "hold":
		w.Hold, o.Verb = true, "hold"
	case "cancel":
		w.End, o.Verb = true, "cancel"
	default:
		return w, o, fmt.Errorf("%.20q is not a change", view.Change)
	}
	if err := w.Validate(); err != nil {
		return w, o, err
	}
	return w, o, o.Validate()
}

// Deadline reads a deadline as sluice submit does. A zero time is "none".
func Deadline(text string, now time.Time) (time.Time, error) {
	if text == "none" {
		return time.Time{}, nil
	}
	t, err := sbatch.ParseDeadline(text, now.Local())
	if err != nil {
		return t, fmt.Errorf("deadline %.40q: %w, or none", text, err)
	}
	return t, nil
}

// show fills in what the change would do: the jobs whose end moves, those most first.
func (view *whatifView) show(answer wire.WhatIfAnswer) {
	view.Answer = &answer
	view.Sooner = answer.Before - answer.After
	end := time.Duration(0)
	for _, d := range answer.Jobs {
		if d.Later != nil {
			view.Known++
		}
		moved := d.JobID == view.Job || d.Later != nil && math.Abs(*d.Later) >= 1 || d.Before.Ends.IsZero() != d.After.Ends.IsZero()
		if !moved {
			view.Same++
			continue
		}
		view.Moved = append(view.Moved, d)
		end = max(end, d.Before.Ends.Sub(answer.At), d.After.Ends.Sub(answer.At))
	}
	by := func(d wire.Difference) float64 {
		if d.JobID == view.Job {
			return math.Inf(1)
		}
		if d.Later == nil {
			return 0
		}
		return math.Abs(*d.Later)
	}
	slices.SortStableFunc(view.Moved, func(a, b wire.Difference) int { return cmp.Compare(by(b), by(a)) })
	view.Moved = view.Moved[:min(len(view.Moved), maxMoved)]
	var shifts []draw.Shift
	at := func(t time.Time) float64 {
		if t.IsZero() {
			return -1
		}
		return max(0, t.Sub(answer.At).Seconds())
	}
	for _, d := range view.Moved {
		title := fmt.Sprintf("job %d: end not known in one of the two", d.JobID)
		if d.Later != nil {
			title = fmt.Sprintf("job %d: %s", d.JobID, later(*d.Later))
		}
		shifts = append(shifts, draw.Shift{Name: fmt.Sprintf("%d %s", d.JobID, short(d.Name, 20)), Title: title, Before: at(d.Before.Ends), After: at(d.After.Ends)})
	}
	if len(shifts) > 0 && end > 0 {
		scale := timescale{from: answer.At, to: answer.At.Add(end + end/30), now: answer.At}
		view.Drawing = draw.Shifts(shifts, scale.ticks(8), scale.to.Sub(scale.from).Seconds(), "How expected ends would move; the table below has the same")
	}
}
