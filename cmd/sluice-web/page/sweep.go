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
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
)

// sweepView is one sweep.
type sweepView struct {
	sweepRow
	At       int64
	Gone     string // why what sluiced says is missing
	Detailed bool   // its trials are in the viewer's folders
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
	Job   int64
	GPUs  int // now; -1 = not known
	Trial int // that it runs; 0 = none
	State string
}

// trialRow is a trial in the table.
type trialRow struct {
	Number, Starts int
	State, Point   string
	Epoch          float64
	Last, Best     *float64
	Note           string
	Job            int64 // of the lane of its last start; 0 = not known
	Top            bool
}

// trialsOfPage is how many trials a page lists.
const trialsOfPage = 100

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
	if row.own {
		if view, err = p.ownSweep(v, view); err != nil {
			return nil, err
		}
	}
	if row.Mine && row.own && p.Tool != nil && p.may("sweep") {
		view.Orders = sweepButtons(row.State)
	}
	return &sheet{name: "sweep", title: fmt.Sprintf("Sweep %d", row.Number), view: view, refresh: true}, nil
}

// published fills in what sluiced publishes.
func (view *sweepView) published(s *wire.Sweep, now time.Time) {
	for _, l := range s.Lanes {
		lane := laneOfSweep{Job: l.JobID, GPUs: l.GPUs, Trial: l.Trial, State: "waiting"}
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

// ownSweep fills in what the viewer's folders have.
func (p *Pages) ownSweep(v *visit, view sweepView) (sweepView, error) {
	sizes := p.sizes.of(v, view.Number, view.Created)
	ctx, cancel := context.WithTimeout(v.Context(), ownWithin)
	defer cancel()
	from := max(number(v.FormValue("from")), 0)
	full := view // what Look fills counts only if it ends in time
	err := p.Sweeps.Look(ctx, view.Number, func(s *own.View) { full.fillTrials(s, sizes, from, v.now) })
	if err != nil {
		return view, unreadable(view.Number, err)
	}
	return full, nil
}

// rated is a trial with its best mark, which is needed many times.
type rated struct {
	*book.Trial
	best book.Mark
	has  bool
	late book.State // as it is now
}

// rate returns the trials in the order of all lists of them (book.Sort).
func rate(s *own.View) []rated {
	states := s.States()
	out := make([]rated, 0, len(states))
	for _, t := range s.Book.Sort(s.Sweep) {
		r := rated{Trial: t, late: states[t.Number-1]}
		r.best, r.has = t.Best(s.Metric)
		out = append(out, r)
	}
	return out
}

// leading is the number of the best trial; 0 = there is none.
func leading(s *own.View) int {
	if best := s.Book.Result(s.Sweep); best != nil {
		return best.Trial
	}
	return 0
}

// fillTrials fills in the trials, their drawings and the lanes.
func (view *sweepView) fillTrials(s *own.View, sizes laneSizes, from int, now time.Time) {
	view.Detailed = true
	trials := rate(s)
	view.drawCurves(s, trials, sizes)
	view.drawParams(s, trials)
	if bests := s.Book.Bests(s.Metric, 200); len(bests) > 0 {
		began := s.Book.Began
		if began.IsZero() || bests[0].At.Before(began) {
			began = bests[0].At
		}
		var all []draw.Stair
		for _, b := range bests {
			all = append(all, draw.Stair{At: b.At.Sub(began).Seconds(), Value: b.Value})
		}
		view.Bests = view.stairs(all, began, now, false)
	}
	view.fillLanes(s)
	view.list(s, trials, from)
}

// fillLanes adds the lanes that sluiced does not publish, and the trials of those that it does.
func (view *sweepView) fillLanes(s *own.View) {
	trial := map[string]int{}
	for _, t := range s.Book.Trials {
		if lane := sweep.LaneOf(t.Lane); t.State == book.Running && trial[lane] == 0 {
			trial[lane] = t.Number
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
		if trial[l.Token] > 0 {
			view.LaneList[i].Trial = trial[l.Token]
		}
	}
	slices.SortFunc(view.LaneList, func(a, b laneOfSweep) int { return int(min(max(a.Job-b.Job, -1), 1)) })
}

// list fills in a page of the table of trials.
func (view *sweepView) list(s *own.View, trials []rated, from int) {
	top := leading(s)
	if view.Sort == "number" {
		trials = slices.Clone(trials)
		slices.SortFunc(trials, func(a, b rated) int { return a.Number - b.Number })
	}
	view.All = len(trials)
	view.From = min(from, max(0, len(trials)-1))
	end := min(view.From+trialsOfPage, len(trials))
	link := func(from int) string {
		return "?" + url.Values{"sort": {view.Sort}, "from": {strconv.Itoa(from)}}.Encode() + "#trials"
	}
	if view.From > 0 {
		view.Before = link(max(0, view.From-trialsOfPage))
	}
	if end < len(trials) {
		view.After = link(end)
	}
	for _, t := range trials[view.From:end] {
		lane, _ := s.Lane(t.Lane)
		view.Trials = append(view.Trials, t.row(lane.Job, t.Number == top))
	}
}

// row is the trial in the table.
func (t rated) row(job int64, top bool) trialRow {
	r := trialRow{Number: t.Number, Starts: t.Start, State: string(t.late), Point: pointText(t.Point), Job: job, Top: top, Note: cmp.Or(present.Place(t.Trial), t.Words)}
	if last, ok := t.Last(); ok {
		value := last.Value
		r.Epoch, r.Last = last.Epoch, &value
	}
	if t.has {
		best := t.best.Value
		r.Best = &best
	}
	return r
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
