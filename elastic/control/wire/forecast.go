package wire

import (
	"fmt"
	"time"
)

// Forecast is what the daemon expects if nothing happens that it does not know of now. It is
// computed by repeating the daemon's own decision forward.
type Forecast struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"` // of the observation that it starts from
	Policy  string    `json:"policy"`
	Until   time.Time `json:"until"` // up to when it was computed
	// Complete: every job that will end is seen to end before Until. Else Stopped says why not: "horizon",
	// "steps" or "time".
	Complete bool   `json:"complete"`
	Stopped  string `json:"stopped,omitempty"`
	Steps    int    `json:"steps"` // decisions made
	Blind    string `json:"blind,omitempty"`
	// Jobs are the jobs that the caller may see and that have not ended.
	Jobs []Expected `json:"jobs"`
}

// Expected is what is expected of one job.
type Expected struct {
	JobID  int64     `json:"job_id"`
	Name   string    `json:"name"`
	User   string    `json:"user"`
	GPUs   int       `json:"gpus"`            // now
	Starts time.Time `json:"starts,omitzero"` // first expected start of a job that waits
	Ends   time.Time `json:"ends,omitzero"`   // expected end; absent = not known, or after Until
	Low    time.Time `json:"ends_low,omitzero"`
	High   time.Time `json:"ends_high,omitzero"`
	// Sure is how sure Ends is, from 0 to 1; 0 = nothing is known. etc/doc/api.md says how it is
	// computed.
	Sure float64 `json:"sure"`
	// Limit: it ends by its time limit, before its work is done.
	Limit    bool        `json:"by_time_limit,omitempty"`
	Deadline time.Time   `json:"deadline,omitzero"`
	Meets    *bool       `json:"meets_deadline,omitempty"` // absent without a deadline, or if the end is not known
	Unknown  string      `json:"unknown,omitempty"`        // why the end is not known: "no_total", "no_speed", "held" or "waits"
	Sizes    []Expecting `json:"sizes"`                    // oldest first, without gaps from At on
}

// Expecting is a time during which a job is expected to have one size.
type Expecting struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to,omitzero"` // absent = up to the end of the forecast
	GPUs  int       `json:"gpus"`        // 0 = it waits
	Nodes int       `json:"nodes"`
	Moves bool      `json:"moves,omitempty"` // it is between two sizes, and does not train
	Sure  float64   `json:"sure"`            // that the segment is so
}

// WhatIf is a change of one job, or a sweep, that is tried and not made. Exactly one of the changes is
// set.
type WhatIf struct {
	JobID int64 `json:"job_id,omitempty"` // absent with Submit
	GPUs  int   `json:"gpus,omitempty"`   // pinned to so many
	// Deadline is a new deadline, and Soft its mode; NoDeadline takes it away.
	Deadline   time.Time `json:"deadline,omitzero"`
	Soft       bool      `json:"deadline_soft,omitempty"`
	NoDeadline bool      `json:"no_deadline,omitempty"`
	Hold       bool      `json:"hold,omitempty"` // as the order hold: it is not started (again)
	End        bool      `json:"end,omitempty"`  // it ends now
	// Submit is a sweep of the caller's.
	Submit *Submission `json:"submit,omitempty"`
}

// Submission is a sweep that is tried as if the caller submitted it now.
type Submission struct {
	Name      string  `json:"name"`
	Partition string  `json:"partition,omitempty"` // absent = any
	MinGPUs   int     `json:"min_gpus"`            // of a lane
	MaxGPUs   int     `json:"max_gpus"`
	Lanes     int     `json:"lanes"`
	Trials    int     `json:"trials"`
	Seconds   float64 `json:"trial_seconds"` // of one trial in a lane, on average
}

// Bounds of a Submission.
const (
	maxLanes   = 1000
	maxTrials  = 10_000
	maxSeconds = 30 * 24 * 3600
	maxName    = 200
)

// Validate reports what is out of range.
func (s Submission) Validate() error {
	switch {
	case s.MinGPUs < 1 || s.MaxGPUs < s.MinGPUs || s.MaxGPUs > maxGPUs:
		return fmt.Errorf("min_gpus %d, max_gpus %d: want 1 to %d, the least first", s.MinGPUs, s.MaxGPUs, maxGPUs)
	case s.Lanes < 1 || s.Lanes > maxLanes:
		return fmt.Errorf("lanes %d: want 1 to %d", s.Lanes, maxLanes)
	case s.Trials < 1 || s.Trials > maxTrials:
		return fmt.Errorf("trials %d: want 1 to %d", s.Trials, maxTrials)
	case !(s.Seconds > 0 && s.Seconds <= maxSeconds):
		return fmt.Errorf("trial_seconds %v: want above 0 and at most %d", s.Seconds, maxSeconds)
	case len(s.Name) > maxName || len(s.Partition) > maxName:
		return fmt.Errorf("name or partition longer than %d bytes", maxName)
	}
	return nil
}

// Validate reports what is wrong with it alone, without regard to the job.
func (w WhatIf) Validate() error {
	n := 0
	for _, set := range []bool{w.GPUs != 0, !w.Deadline.IsZero(), w.NoDeadline, w.Hold, w.End} {
		if set {
			n++
		}
	}
	if w.Submit != nil {
		if n > 0 || w.JobID != 0 || w.Soft {
			return fmt.Errorf("submit: want no job and no other change with it")
		}
		return w.Submit.Validate()
	}
	switch {
	case w.JobID < 1:
		return fmt.Errorf("job_id %d: want a job number", w.JobID)
	case n != 1:
		return fmt.Errorf("%d changes: want exactly one of gpus, deadline, no_deadline, hold and end, or submit", n)
	case w.GPUs < 0 || w.GPUs > maxGPUs:
		return fmt.Errorf("gpus %d: want 1 to %d", w.GPUs, maxGPUs)
	case w.Soft && w.Deadline.IsZero():
		return fmt.Errorf("deadline_soft: want a deadline with it")
	}
	return nil
}

// WhatIfAnswer is the expected end of every job that the caller may see, without the change and with
// it. Nothing was ordered.
type WhatIfAnswer struct {
	Version int          `json:"version"`
	At      time.Time    `json:"at"`
	Policy  string       `json:"policy"`
	Change  WhatIf       `json:"change"`
	Jobs    []Difference `json:"jobs"`
	// Added are the lanes of Submit, in their order; their numbers are no job's.
	Added []Expected `json:"added,omitempty"`
	// Before and After are the sums over all jobs whose end is known in both, in seconds from At.
	Before float64 `json:"before_seconds"`
	After  float64 `json:"after_seconds"`
}

// Difference is one job without the change and with it.
type Difference struct {
	JobID  int64    `json:"job_id"`
	Name   string   `json:"name"`
	User   string   `json:"user"`
	Before Expected `json:"before"`
	After  Expected `json:"after"`
	// Later is by how many seconds the job ends later with the change; negative = earlier, absent = one
	// of the ends is not known.
	Later *float64 `json:"later_seconds,omitempty"`
}
