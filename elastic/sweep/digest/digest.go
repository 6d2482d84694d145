package digest

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep"
	"github.com/sluice-hpc/sluice/elastic/sweep/book"
)

// Orders of the table of trials.
const (
	ByResult = "best"   // as every list of trials is (book.Sort)
	ByNumber = "number" // the first trial first
)

// Bounds of a digest.
const (
	MostTrials = 100 // rows of the table
	bestCurves = 80  // curves of the best trials
	newCurves  = 40  // and of the newest ones
	mostPoints = 40  // of a curve
	mostDots   = 400
	mostParams = 12
	mostBests  = 200
	readPoint  = 16 << 10 // bytes of the parameters of a trial that are looked at
	maxPoint   = 2000     // and that the table has
	maxWords   = 500      // bytes of why it failed
	maxName    = 200      // bytes of the name of a parameter
	maxValue   = 100      // bytes of a value of a parameter
)

// Query selects a part of the table of trials. The zero value is its first page, the best first.
type Query struct {
	Sort string // ByResult or ByNumber; all else is ByResult
	From int    // trials that are left out before it; of too many the last trial is shown
}

// Digest is a sweep as a page shows it. Curves, Dots and, by result, Trials have the best trial first.
type Digest struct {
	Sort   string  `json:"sort"`
	From   int     `json:"from"` // place of the first row, from 0
	All    int     `json:"all"`  // trials that have begun
	Trials []Trial `json:"trials"`
	// Top is the number of the best trial; 0 = there is none.
	Top int `json:"top,omitempty"`
	// Curves are those of the best 80 trials and of the newest 40.
	Curves []Curve `json:"curves"`
	// Params are the first 12 parameters that are searched and that a dot has; Further counts the others.
	Params  []Param `json:"params"`
	Further int     `json:"params_further,omitempty"`
	// Dots are the trials with a result, at most 400: of more the best 200, and 200 spread over the others.
	Dots  []Dot     `json:"dots"`
	Bests []Best    `json:"best_over_time"` // oldest first
	Began time.Time `json:"began,omitzero"` // the first trial; absent = none has
}

// Trial is a row of the table.
type Trial struct {
	Number     int    `json:"trial"`
	State      string `json:"state"` // see book.State
	Starts     int    `json:"starts"`
	Point      string `json:"point"` // NAME=VALUE,…
	sweep.Lost        // where it was paused
	// Epoch is that of Last, its last report; absent = it has reported nothing. Best is its best one.
	Epoch float64  `json:"epoch,omitempty"`
	Last  *float64 `json:"last,omitempty"`
	Best  *float64 `json:"best,omitempty"`
	Words string   `json:"words,omitempty"`  // why it failed
	Job   int64    `json:"job_id,omitempty"` // of the lane of its last start; 0 = not known
}

// Curve is a learning curve: at most 40 of its reports, the first and the last among them.
type Curve struct {
	Number int     `json:"trial"`
	State  string  `json:"state"`
	Best   float64 `json:"best"`
	Marks  []Mark  `json:"marks"`
}

// Mark is one report. Job is the lane that the trial ran in then; 0 = not known.
type Mark struct {
	Epoch float64 `json:"epoch"`
	Value float64 `json:"value"`
	At    int64   `json:"at_ms,omitempty"` // Unix time by the lane's clock; 0 = not known
	Job   int64   `json:"job_id,omitempty"`
}

// Param is a parameter that is searched. Kind is that of the space: int, log, choice and so on.
type Param struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Dot is the best result of a trial, with the value of each of Params; "" = the trial lacks it.
type Dot struct {
	Number int      `json:"trial"`
	State  string   `json:"state"`
	Best   float64  `json:"best"`
	Values []string `json:"values"`
}

// Best is the best result until a time.
type Best struct {
	At    time.Time `json:"at"`
	Value float64   `json:"value"`
	Trial int       `json:"trial"`
}

// Start is one start of a trial.
type Start struct {
	Number int // from 1
	Lane   string
}

// Source is what is known of a sweep. Of changes nothing in it and keeps nothing of it.
type Source struct {
	sweep.Sweep
	Book   *book.Book
	States []book.State     // of all trials, by number
	Starts map[int][]Start  // of each trial
	Jobs   map[string]int64 // of the lanes, by their tokens; those that are known
}
