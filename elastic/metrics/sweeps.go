package metrics

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
)

// Sweep is what sluiced knows of a sweep from its lanes' files. Trials counts them by state, of
// trialStates. Best is nil until something was reported.
type Sweep struct {
	Number int64 // the job id of its first lane; 0 = not known
	UID    uint32
	Metric string
	State  string // one of sweepStates
	Trials map[string]int
	Level  int
	Best   *float64
}

// The values of labels.
var (
	sweepStates = []string{"running", "waiting", "paused", "over"}
	trialStates = []string{"running", "waiting", "paused", "stopped", "failed", "done"}
	trialEnds   = []string{"done", "failed"}
	laneStates  = []string{"first", "further", "waiting"}
)

// mostSweeps bounds the sweeps with series of their own; there is no series for the others, since
// metrics of different sweeps have no sum.
const mostSweeps = 100

// sweepBook is what has to be remembered of sweeps from cycle to cycle, by token.
type sweepBook struct {
	without map[string]time.Time      // since when a sweep that is not paused has had no lane
	ended   map[string]map[string]int // trials that had ended, by how
}

// fleet is the lanes of a sweep in a report.
type fleet struct {
	runs, waits int
	ready       int       // of those that wait: neither held nor before their user's begin time
	submitted   time.Time // of its first lane
}

// Sweeps takes over what is known of the sweeps, by token. It belongs to the cycle's goroutine, and
// MUST be called BEFORE the Cycle with the report.
func (m *Metrics) Sweeps(known map[string]Sweep) {
	if m == nil {
		return
	}
	m.known = known
	for token, s := range known {
		old, met := m.sweeps.ended[token]
		now := map[string]int{}
		for _, how := range trialEnds {
			now[how] = s.Trials[how]
			if more := now[how] - old[how]; met && more > 0 { // what ended before this daemon is not counted
				m.trials.WithLabelValues(how).Add(float64(more))
			}
		}
		m.sweeps.ended[token] = now
	}
	for token := range m.sweeps.ended {
		if _, is := known[token]; !is {
			delete(m.sweeps.ended, token)
		}
	}
}

// fleetsOf returns the lanes of each sweep that have not ended, by token.
func fleetsOf(r *publish.Report) map[string]fleet {
	out := map[string]fleet{}
	live(r, func(jr *publish.JobReport) {
		token := jr.Record.Tag.Spec.Sweep
		if token == "" {
			return
		}
		f := out[token]
		if f.submitted.IsZero() || jr.Record.Submitted.Before(f.submitted) {
			f.submitted = jr.Record.Submitted
		}
		if jr.Job.GPUs() > 0 {
			f.runs++
		} else if phase := cmp.Or(jr.Job.Phase, elastic.Waiting); phase == elastic.Waiting || phase == elastic.Queued {
			f.waits++
			if !jr.Job.UserHold && !jr.Record.Tag.Directive.Hold && !jr.Record.Tag.Begin.After(r.At) {
				f.ready++
			}
		}
		out[token] = f
	})
	return out
}

// cycle remembers since when each sweep that wants a lane has had none, and returns the longest such
// time. A sweep that was met without lanes counts from its submission.
func (b *sweepBook) cycle(fleets map[string]fleet, known map[string]Sweep, at time.Time) (longest time.Duration) {
	for token, f := range fleets {
		state := known[token].State
		if f.runs > 0 || f.ready == 0 || state == "paused" || state == "over" {
			b.without[token] = time.Time{} // it had a lane, or wants none
			continue
		}
		since, met := b.without[token]
		if !met {
			since = f.submitted
		} else if since.IsZero() {
			since = at
		}
		b.without[token] = since
		longest = max(longest, at.Sub(since))
	}
	for token := range b.without {
		if _, is := fleets[token]; !is {
			delete(b.without, token)
		}
	}
	return longest
}

// sweeps adds what is known of sweeps and their lanes.
func (g *gauges) sweeps(fleets map[string]fleet, known map[string]Sweep, longest time.Duration, each bool) {
	states, trials, lanes := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for token, f := range fleets {
		if f.runs > 0 {
			lanes["first"]++
			lanes["further"] += float64(f.runs - 1)
		}
		lanes["waiting"] += float64(f.waits)
		if _, is := known[token]; !is { // its files were not read yet
			states["waiting"]++
		}
	}
	var shown []Sweep
	for _, s := range known {
		states[s.State]++
		for state, n := range s.Trials {
			trials[state] += float64(n)
		}
		if s.Number > 0 && s.State != "over" {
			shown = append(shown, s)
		}
	}
	for _, state := range sweepStates {
		g.add("sluice_sweeps", states[state], state)
	}
	for _, state := range trialStates {
		g.add("sluice_sweep_trials", trials[state], state)
	}
	for _, state := range laneStates {
		g.add("sluice_sweep_lanes", lanes[state], state)
	}
	g.add("sluice_sweep_longest_without_lane_seconds", longest.Seconds())
	if !each {
		return
	}
	// The newest ones. Two users may have written the same number into their files.
	slices.SortFunc(shown, func(x, y Sweep) int { return cmp.Or(cmp.Compare(y.Number, x.Number), cmp.Compare(x.UID, y.UID)) })
	shown = slices.CompactFunc(shown, func(x, y Sweep) bool { return x.Number == y.Number })
	for _, s := range shown[:min(len(shown), mostSweeps)] {
		number := strconv.FormatInt(s.Number, 10)
		g.add("sluice_sweep_level", float64(s.Level), number)
		if s.Best != nil {
			g.add("sluice_sweep_best", *s.Best, number, s.Metric)
		}
	}
}
