package forecast

import (
	"context"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
)

// Decide is the decision that is repeated: pure, as of Snapshot.Now.
// Project calls it in its own goroutine, one call after the other. It MUST NOT keep or change the
// snapshot, which is changed between two calls. Of the plan only Open and Reasons are used; moves
// other than starts, resizes and parks are left out.
type Decide func(elastic.Snapshot) elastic.Plan

// Bounds limit a projection. A field of 0 or less is that of Usual.
type Bounds struct {
	Steps   int           // decisions
	Horizon time.Duration // from Snapshot.Now
	// Every is the least time between two decisions, so that many ends close together cost one.
	Every time.Duration
}

// Usual are the bounds of the daemon.
// A program MUST NOT change them while it projects.
var Usual = Bounds{Steps: 400, Horizon: 14 * 24 * time.Hour, Every: 10 * time.Second}

// Stop says why a projection ended before every job had.
type Stop string

// The values of Stop.
const (
	Complete Stop = ""        // all have ended that will
	Horizon  Stop = "horizon" // Bounds.Horizon
	Steps    Stop = "steps"   // Bounds.Steps
	Cut      Stop = "time"    // the context ended
)

// Unknown says why a job's end is not known.
// Where several reasons apply it is the first in this order: Held, NoTotal, NoSpeed, Waits.
type Unknown string

// The values of Unknown.
const (
	Known   Unknown = ""
	NoTotal Unknown = "no_total" // no work declared, or it trains past it
	NoSpeed Unknown = "no_speed" // its speed was never measured
	Held    Unknown = "held"     // it, or its start, is held or blocked without a known end
	Waits   Unknown = "waits"    // it does not get GPUs before the end of the projection
)

// Segment is a time with one size.
type Segment struct {
	// Segments of a job follow each other without gaps. GPUs 0: it waits.
	From, To    time.Time // To is zero: up to the end of the projection
	GPUs, Nodes int
	Moves       bool // between two sizes; it does not train
	Sure        float64
}

// Job is what is expected of one job.
type Job struct {
	ID              elastic.JobID
	Starts          time.Time // of a waiting job: when it is started; zero = not in the projection
	Ends, Low, High time.Time // zero = not known, see Unknown; all the same for an end by the time limit
	Sure            float64   // from 0 to 1; 0 where the end is not known
	// Limit: it ends by its time limit, not by its work.
	Limit    bool
	Unknown  Unknown
	Segments []Segment
}

// Projection is the result.
type Projection struct {
	// At is Snapshot.Now; Until is as far as the projection came.
	At, Until time.Time
	Steps     int
	Stop      Stop
	Jobs      []Job // in the order of the snapshot
}

// Project projects the snapshot forward, which it does not change. It stops early when ctx ends, between
// two decisions.
//
// With Stop other than Complete, jobs that still run at Until are expected to keep their size to
// their end, and those that wait have Unknown. Complete does not say that every job ended: it also
// ends when nothing that is known will change anything. The cost is that of the decisions.
func Project(ctx context.Context, s elastic.Snapshot, decide Decide, b Bounds) Projection {
	if b.Steps <= 0 {
		b.Steps = Usual.Steps
	}
	if b.Horizon <= 0 {
		b.Horizon = Usual.Horizon
	}
	if b.Every <= 0 {
		b.Every = Usual.Every
	}
	p := newProjector(s)
	end := s.Now.Add(b.Horizon)
	out := Projection{At: s.Now}
	for p.living > 0 {
		if ctx.Err() != nil {
			out.Stop = Cut
			break
		}
		if out.Steps == b.Steps {
			out.Stop = Steps
			break
		}
		moved := p.decide(decide)
		out.Steps++
		next, something := p.next(b.Every, moved)
		if !something {
			break // nothing that is known of will happen any more
		}
		if next.After(end) {
			p.pass(end)
			out.Stop = Horizon
			break
		}
		p.pass(next)
	}
	out.Until = p.snap.Now
	out.Jobs = p.results(out.Stop)
	return out
}
