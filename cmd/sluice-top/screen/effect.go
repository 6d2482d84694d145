package screen

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/control/wire"
)

// Effect is what Update wants done. Its result comes back as the message that is named with it.
type Effect interface{ effect() }

// The effects.
type (
	// Fetch asks for the report: ReportMsg. All: with the jobs that have ended.
	Fetch struct{ All bool }
	// FetchPast asks for the history since From: PastMsg.
	FetchPast struct{ From time.Time }
	// FetchForecast asks for what is expected: ForecastMsg.
	FetchForecast struct{}
	// Run runs 'sluice ARGS': RanMsg.
	Run struct {
		Args []string
		For  string // what the output is for, returned in the message
		Seq  int    // likewise
	}
	// Follow follows the log of a job: LogMsg, until Unfollow. There is one at a time.
	Follow struct {
		Args []string // of sluice
		Seq  int
	}
	// Unfollow ends it.
	Unfollow struct{}
	// Quit ends the program.
	Quit struct{}
)

func (Fetch) effect()         {}
func (FetchPast) effect()     {}
func (FetchForecast) effect() {}
func (Run) effect()           {}
func (Follow) effect()        {}
func (Unfollow) effect()      {}
func (Quit) effect()          {}

// The messages beside those of the terminal.
type (
	// TickMsg is the time, about once a second.
	TickMsg time.Time
	// ReportMsg is a report, or why there is none.
	ReportMsg struct {
		Report wire.Report
		Err    error
		At     time.Time
	}
	// PastMsg is a part of the history, or why there is none.
	PastMsg struct {
		Past wire.Past
		Err  error
	}
	// ForecastMsg is what is expected, or why that is not known.
	ForecastMsg struct {
		Forecast wire.Forecast
		Err      error
	}
	// RanMsg is the end of a Run: what it printed on both outputs.
	RanMsg struct {
		Run    Run
		Output string
		Failed bool
	}
	// LogMsg is more of the log that is followed.
	LogMsg struct {
		Seq   int
		Lines []string
		Over  bool // nothing more will come
	}
	// EventMsg is an event of the daemon's stream.
	EventMsg wire.Happening
)
