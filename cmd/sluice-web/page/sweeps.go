package page

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/cmd/present"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
	"github.com/sluice-hpc/sluice/elastic/sweep/own"
)

// sweepsView is the list of sweeps.
type sweepsView struct {
	At            int64
	Sweeps        []sweepRow
	All, From     int
	Before, After string // links; "" = none
	Own           bool
	Gone          string // why sluiced's sweeps are missing
	Unread        string // why the viewer's own folders are
	Folders       bool   // the viewer's own folders are read
}

// sweepRow is a sweep without its trials, as far as it is known.
type sweepRow struct {
	Number         int64
	Name, User     string
	Mine           bool
	State          string // running, waiting, paused or over
	Why            string // it is over, or what its level follows from
	Search, Metric string
	Max            bool
	Done, Running, Waiting, Paused, Stopped,
	Failed, Begun, Asked int
	Lanes, Parallel, GPUs, Wants int
	Best                         *wire.SweepBest
	Goal                         *float64
	Level, Counted               int
	Gap, Bid                     float64
	Problem                      string
	Created                      time.Time
	Published                    *wire.Sweep // nil = sluiced does not look after it
	own                          bool        // it is in the viewer's folders
}

// sweepsOfPage is how many sweeps a page lists.
const sweepsOfPage = 100

func (p *Pages) sweeps(v *visit) (*sheet, error) {
	view := sweepsView{At: v.now.Unix(), Folders: p.Sweeps != nil}
	all, err := p.allSweeps(v, &view)
	if err != nil {
		return nil, err
	}
	view.All = len(all)
	view.From = min(max(number(v.FormValue("from")), 0), max(0, len(all)-1))
	link := func(from int) string { return "?" + url.Values{"from": {strconv.Itoa(from)}}.Encode() }
	if view.From > 0 {
		view.Before = link(max(0, view.From-sweepsOfPage))
	}
	end := min(view.From+sweepsOfPage, len(all))
	if end < len(all) {
		view.After = link(end)
	}
	view.Sweeps = all[view.From:end]
	return &sheet{name: "sweeps", title: "Sweeps", view: view, refresh: true}, nil
}

// ownWithin bounds the time for the viewer's own folders, which may hang.
const ownWithin = 20 * time.Second

// allSweeps are the sweeps that sluiced publishes and those in the viewer's folders: those that are not
// over first, then the newest. One of the two sources may be missing.
func (p *Pages) allSweeps(v *visit, view *sweepsView) ([]sweepRow, error) {
	published, err := v.daemon.Sweeps(v.Context())
	if err != nil && (p.Sweeps == nil || v.Context().Err() != nil) {
		return nil, err
	}
	if err != nil {
		view.Gone = err.Error()
	}
	view.Own = published.Own
	var rows []sweepRow
	for i := range published.Sweeps {
		rows = append(rows, publishedRow(&published.Sweeps[i], v.viewer))
	}
	if p.Sweeps != nil {
		ctx, cancel := context.WithTimeout(v.Context(), ownWithin)
		defer cancel()
		found, err := p.Sweeps.List(ctx)
		if err != nil {
			view.Unread = err.Error()
		}
		for _, s := range found {
			i := slices.IndexFunc(rows, func(r sweepRow) bool { return r.Published != nil && r.Published.Token == s.Token && r.Mine })
			if i < 0 {
				rows = append(rows, ownRow(s, v.viewer))
				continue
			}
			rows[i].own = true
			rows[i].fill(s)
		}
	}
	slices.SortStableFunc(rows, func(a, b sweepRow) int {
		return cmp.Or(cmp.Compare(rank(a.State == "over"), rank(b.State == "over")), b.Created.Compare(a.Created), cmp.Compare(b.Number, a.Number))
	})
	return rows, nil
}

// rank orders false before true.
func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// publishedRow is a sweep as sluiced publishes it.
func publishedRow(s *wire.Sweep, viewer Viewer) sweepRow {
	r := sweepRow{Number: s.Number, Name: s.Name, User: s.User, Mine: s.UID == viewer.UID, State: s.State, Search: s.Algorithm, Metric: s.Metric, Max: s.Max,
		Done: s.Done, Running: s.Running, Waiting: s.Waiting, Paused: s.Paused, Stopped: s.Stopped, Failed: s.Failed, Begun: s.Begun, Asked: s.Trials,
		Lanes: s.LanesRun(), Parallel: s.Parallel, GPUs: s.GPUs, Wants: s.Wants, Best: s.Best, Goal: s.Goal, Level: s.Level, Counted: s.Counted, Gap: s.Gap, Bid: s.Bid,
		Problem: s.Problem, Created: s.Created, Published: s}
	r.Why = present.SweepLevel(s.Counted, s.Gap)
	if s.State == "over" {
		r.Why = present.SweepEnd(book.End(s.End), s.Failed)
	}
	return r
}

// ownRow is a sweep that only the viewer's folders have.
func ownRow(s own.Summary, viewer Viewer) sweepRow {
	r := sweepRow{User: viewer.Name, Mine: true, own: true, Lanes: s.Lanes, Level: s.Standing.Level, Counted: s.Standing.Counted, Gap: s.Standing.Gap, Wants: s.Standing.Wants}
	r.Problem = s.Standing.Problem
	r.fill(s)
	return r
}

// fill takes what the viewer's folders say, which is newer than what sluiced published.
func (r *sweepRow) fill(s own.Summary) {
	c := s.Counts
	r.Number, r.Name, r.Search, r.Metric, r.Max, r.Goal, r.Asked, r.Parallel, r.Created = s.Number, s.Name, s.Algorithm, s.Metric.Name, s.Metric.Max, s.Goal, s.Trials, s.Parallel, s.Created
	r.Done, r.Running, r.Waiting, r.Paused, r.Stopped, r.Failed, r.Begun = c[book.Done], c[book.Running], c[book.Waiting], c[book.Paused], c[book.Stopped], c[book.Failed], s.Begun
	if b := s.Best; b != nil {
		r.Best = &wire.SweepBest{At: b.At, Value: b.Value, Trial: b.Trial, Epoch: b.Epoch}
	}
	r.State, r.Why = s.Word, present.SweepLevel(r.Counted, r.Gap)
	if s.End != book.NotOver {
		r.State, r.Why = "over", present.SweepEnd(s.End, r.Failed)
	}
}

// errNoSweep is a sweep that the viewer does not see.
func errNoSweep(number int64) error {
	return wire.Fail(wire.NotFound, "the page Sweeps lists those that are known", "there is no sweep %d that you may see", number)
}

// sweepOf returns the sweep that a request names.
func (p *Pages) sweepOf(v *visit) (sweepRow, sweepsView, error) {
	n, err := strconv.ParseInt(v.PathValue("sweep"), 10, 64)
	if err != nil || n < 1 {
		return sweepRow{}, sweepsView{}, wire.Fail(wire.NotFound, "", "%.40q is not the number of a sweep", v.PathValue("sweep"))
	}
	var sources sweepsView
	rows, err := p.allSweeps(v, &sources)
	if err != nil {
		return sweepRow{}, sources, err
	}
	found := func(mine bool) int {
		return slices.IndexFunc(rows, func(r sweepRow) bool { return r.Number == n && r.Mine == mine })
	}
	i := found(true) // numbers of jobs are given again
	if i < 0 {
		i = found(false)
	}
	switch {
	case i >= 0:
		return rows[i], sources, nil
	case sources.Unread != "":
		return sweepRow{}, sources, wire.Fail(wire.Unavailable, "", "%s", sources.Unread)
	}
	return sweepRow{}, sources, errNoSweep(n)
}

// unreadable is an error of the viewer's folders, for its page.
func unreadable(number int64, err error) error {
	switch {
	case errors.Is(err, own.ErrNotFound):
		return errNoSweep(number)
	case errors.Is(err, own.ErrBusy):
		return wire.Fail(wire.Unavailable, "", "%v", err)
	}
	return wire.Fail(wire.Internal, "", "sweep %d: %v", number, err)
}
