package page

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/draw"
	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
)

// sweepView is one sweep.
type sweepView struct {
	sweepRow
	At       int64
	Gone     string // why what sluiced says is missing
	Detailed bool   // its trials are known
	Unread   string // why they are not, though the viewer may see them; "" = that is not so
	Command  string // that shows the trials
	Orders   []sweepButton
	LaneList []laneOfSweep
	Bests    template.HTML // charts; "" = nothing is known yet
	Levels   template.HTML
	Curves   template.HTML
	Keys     []gpuKey // colours of the curves
	Drawn    int      // curves
	Params   []paramChart
	NotDrawn int // parameters
	Trials   []trialRow
	All      int
	From     int
	Sort     string // best or number
	Before   string // links; "" = none
	After    string
}

// sweepButton is an order that the page offers.
type sweepButton struct{ Verb, Text string }

// laneOfSweep is a lane.
type laneOfSweep struct {
	Job    int64
	GPUs   int    // now; -1 = not known
	Trials string // that it runs; "" = none
	State  string
}

// trialRow is a trial in the table.
type trialRow struct {
	digest.Trial
	Text string // its parameters, for people
	Note string
	Top  bool
}

func (p *Pages) sweep(v *visit) (*sheet, error) {
	row, sources, err := p.sweepOf(v)
	if err != nil {
		return nil, err
	}
	view := sweepView{sweepRow: row, At: v.now.Unix(), Gone: sources.Gone, Sort: "best", Command: command([]string{"sweep", "show", strconv.FormatInt(row.Number, 10)})}
	if v.FormValue("sort") == "number" {
		view.Sort = "number"
	}
	if row.Published != nil {
		view.published(row.Published, v.now)
	}
	if view, err = p.withTrials(v, view); err != nil {
		return nil, err
	}
	if row.Mine && row.own && p.Tool != nil && p.may("sweep") {
		view.Orders = sweepButtons(row.State)
	}
	return &sheet{name: "sweep", title: fmt.Sprintf("Sweep %d", row.Number), view: view, refresh: true}, nil
}

// published fills in what sluiced publishes.
func (view *sweepView) published(s *wire.Sweep, now time.Time) {
	for _, l := range s.Lanes {
		lane := laneOfSweep{Job: l.JobID, GPUs: l.GPUs, Trials: trialsText(l.Trials()), State: "waiting"}
		if l.GPUs > 0 {
			lane.State = "running"
		}
		view.LaneList = append(view.LaneList, lane)
	}
	began := s.Began
	if began.IsZero() {
		return
	}
	var bests []draw.Stair
	for _, b := range s.Bests {
		if !b.At.IsZero() {
			bests = append(bests, draw.Stair{At: b.At.Sub(began).Seconds(), Value: b.Value})
		}
	}
	view.Bests = view.stairs(bests, began, now, false)
	levels := []draw.Stair{{}}
	for _, l := range s.Levels {
		levels = append(levels, draw.Stair{At: l.At.Sub(began).Seconds(), Value: float64(l.Level)})
	}
	view.Levels = view.stairs(levels, began, now, true)
}

// stairs draws the best result, or the level, over time.
func (view *sweepView) stairs(all []draw.Stair, began, now time.Time, level bool) template.HTML {
	end := now
	if view.State == "over" && len(all) > 0 {
		end = began.Add(time.Duration((all[len(all)-1].At + 60) * 1.05 * float64(time.Second)))
	}
	scale := timescale{from: began, to: end, now: now}
	if level {
		return draw.Stairs(all, end.Sub(began).Seconds(), scale.ticks(8), nil, true, fmt.Sprintf("Level of sweep %d over time", view.Number), "level")
	}
	return draw.Stairs(all, end.Sub(began).Seconds(), scale.ticks(8), view.Goal, false, fmt.Sprintf("Best result of sweep %d over time", view.Number), short(view.Metric, 40))
}

// withTrials fills in the trials: from the viewer's folders if the sweep is there, else from sluiced, which
// answers its user and operators.
func (p *Pages) withTrials(v *visit, view sweepView) (sweepView, error) {
	query := digest.Query{Sort: view.Sort, From: max(number(v.FormValue("from")), 0)}
	var d digest.Digest
	switch {
	case view.own:
		ctx, cancel := context.WithTimeout(v.Context(), ownWithin)
		defer cancel()
		full := view // what Look fills counts only if it ends in time
		var found digest.Digest
		err := p.Sweeps.Look(ctx, view.Number, func(s *own.View) {
			found = digest.Of(s.Source(), query)
			full.fillLanes(s)
		})
		if err != nil {
			return view, unreadable(view.Number, err)
		}
		view, d = full, found
	case view.Published != nil && view.Published.Open:
		got, err := v.daemon.Sweep(v.Context(), view.Number, query)
		if err != nil || got.Token != view.Published.Token {
			view.Unread = "sluiced has another sweep of this number by now; load the page again"
			if err != nil {
				view.Unread = err.Error()
			}
			return view, nil
		}
		d = got.Digest
	default:
		return view, nil
	}
	view.fillTrials(d, p.sizes.of(v, view.sweepRow), v.now)
	return view, nil
}

// fillTrials fills in the trials and their drawings.
func (view *sweepView) fillTrials(d digest.Digest, sizes laneSizes, now time.Time) {
	view.Detailed = true
	view.drawCurves(d, sizes)
	view.drawParams(d)
	if len(d.Bests) > 0 {
		began := d.Began
		if began.IsZero() || d.Bests[0].At.Before(began) {
			began = d.Bests[0].At
		}
		var all []draw.Stair
		for _, b := range d.Bests {
			all = append(all, draw.Stair{At: b.At.Sub(began).Seconds(), Value: b.Value})
		}
		view.Bests = view.stairs(all, began, now, false)
	}
	view.list(d)
}

// trialsText lists the trials of a lane; "" = it has none.
func trialsText(numbers []int) string {
	if len(numbers) == 0 {
		return ""
	}
	return present.Trials(numbers)
}

// fillLanes adds the lanes that sluiced does not publish, and the trials of those that it does.
func (view *sweepView) fillLanes(s *own.View) {
	trials := map[string][]int{}
	for _, t := range s.Book.Trials {
		if lane := sweep.LaneOf(t.Lane); t.State == book.Running && len(trials[lane]) < sweep.MaxPerGPU {
			trials[lane] = append(trials[lane], t.Number)
		}
	}
	for _, l := range s.Lanes {
		if l.Job == 0 || !l.Runs {
			continue
		}
		i := slices.IndexFunc(view.LaneList, func(x laneOfSweep) bool { return x.Job == l.Job })
		if i < 0 {
			view.LaneList = append(view.LaneList, laneOfSweep{Job: l.Job, GPUs: -1, State: "running"})
			i = len(view.LaneList) - 1
		}
		if run := trials[l.Token]; len(run) > 0 {
			view.LaneList[i].Trials = trialsText(run)
		}
	}
	slices.SortFunc(view.LaneList, func(a, b laneOfSweep) int { return int(min(max(a.Job-b.Job, -1), 1)) })
}

// list fills in a page of the table of trials.
func (view *sweepView) list(d digest.Digest) {
	view.All, view.From, view.Sort = d.All, d.From, d.Sort
	link := func(from int) string {
		return "?" + url.Values{"sort": {view.Sort}, "from": {strconv.Itoa(from)}}.Encode() + "#trials"
	}
	if view.From > 0 {
		view.Before = link(max(0, view.From-digest.MostTrials))
	}
	if end := d.From + len(d.Trials); end < d.All {
		view.After = link(end)
	}
	for _, t := range d.Trials {
		note := cmp.Or(present.Place(&book.Trial{State: book.State(t.State), Lost: t.Lost}), t.Words)
		view.Trials = append(view.Trials, trialRow{Trial: t, Text: pointText(t.Point), Note: note, Top: t.Number == d.Top})
	}
}

// pointText writes parameters for people.
func pointText(point string) string {
	text := ""
	for i, p := range sweep.ParsePoint(short(point, 2000)) {
		if i > 0 {
			text += ", "
		}
		text += p.Name + " = " + p.Text
	}
	return text
}
