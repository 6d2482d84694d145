package main

import (
	"context"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/sluice-hpc/sluice/cmd/sluice-top/screen"
	"github.com/sluice-hpc/sluice/elastic/control/client"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// app carries out the effects of the screen.
type app struct {
	model  screen.Model
	ctx    context.Context
	daemon *client.Client
	send   func(tea.Msg)

	mu   sync.Mutex
	stop context.CancelFunc // of the log that is followed
}

// Init starts the clock; the first tick asks for everything.
func (a *app) Init() tea.Cmd {
	return func() tea.Msg { return screen.TickMsg(time.Now()) }
}

// Update passes the message to the screen, and returns what it wants done.
func (a *app) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var effects []screen.Effect
	a.model, effects = a.model.Update(msg)
	var all []tea.Cmd
	if _, is := msg.(screen.TickMsg); is {
		all = append(all, tea.Tick(time.Second, func(at time.Time) tea.Msg { return screen.TickMsg(at) }))
	}
	for _, e := range effects {
		all = append(all, a.command(e))
	}
	return a, tea.Batch(all...)
}

// View is the screen's.
func (a *app) View() tea.View { return a.model.View() }

// mostPast bounds the pages of the history that are read for the lanes.
const mostPast = 5

// command is an effect as bubbletea runs it.
func (a *app) command(e screen.Effect) tea.Cmd {
	switch e := e.(type) {
	case screen.Quit:
		return tea.Quit
	case screen.Fetch:
		return func() tea.Msg {
			ask := a.daemon.Present
			if e.All {
				ask = a.daemon.Report
			}
			report, err := ask(a.ctx)
			return screen.ReportMsg{Report: report, Err: err, At: time.Now()}
		}
	case screen.FetchPast:
		return func() tea.Msg {
			past, err := a.past(e.From)
			return screen.PastMsg{Past: past, Err: err}
		}
	case screen.FetchForecast:
		return func() tea.Msg {
			f, err := a.daemon.Forecast(a.ctx)
			return screen.ForecastMsg{Forecast: f, Err: err}
		}
	case screen.FetchSweeps:
		return func() tea.Msg {
			s, err := a.daemon.Sweeps(a.ctx)
			return screen.SweepsMsg{Sweeps: s, Err: err}
		}
	case screen.Run:
		return func() tea.Msg {
			output, failed := runSluice(a.ctx, e.Args)
			return screen.RanMsg{Run: e, Output: output, Failed: failed}
		}
	case screen.Follow:
		ctx := a.follow()
		return func() tea.Msg {
			followSluice(ctx, e.Args, func(lines []string, over bool) { a.send(screen.LogMsg{Seq: e.Seq, Lines: lines, Over: over}) })
			return nil
		}
	case screen.Unfollow:
		a.unfollow()
	}
	return nil
}

// past reads the pages of the history.
func (a *app) past(from time.Time) (all wire.Past, err error) {
	q := client.PastQuery{Of: wire.OfJobs, From: from, Limit: wire.PastRowsMost}
	for range mostPast {
		page, err := a.daemon.Past(a.ctx, q)
		if err != nil {
			return all, err
		}
		page.Jobs = append(all.Jobs, page.Jobs...)
		if all = page; page.Next == "" {
			break
		}
		q.Cursor = page.Next
	}
	return all, nil
}

// follow returns the context of a new log; that of the one before ends.
func (a *app) follow() context.Context {
	a.unfollow()
	a.mu.Lock()
	defer a.mu.Unlock()
	ctx, stop := context.WithCancel(a.ctx)
	a.stop = stop
	return ctx
}

func (a *app) unfollow() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stop != nil {
		a.stop()
		a.stop = nil
	}
}

// listenAgain is the pause before the stream of events is opened again.
const listenAgain = 5 * time.Second

// listen passes on the daemon's events. Where there are none, over TCP or of an older daemon, the
// screen is as new as its interval.
func (a *app) listen() {
	last := ""
	for a.ctx.Err() == nil {
		_ = a.daemon.Events(a.ctx, last, func(h wire.Happening) error {
			last = h.ID
			a.send(screen.EventMsg(h))
			return nil
		})
		select {
		case <-a.ctx.Done():
		case <-time.After(listenAgain):
		}
	}
}
