package elastic

// Sweep is what decisions know of a sweep: its lanes are the jobs with its token (Spec.Sweep).
type Sweep struct {
	Number JobID  // of its first lane
	Metric string // by which it searches
	Paused bool   // its user paused it
	Over   bool   // its lanes end as soon as they run; those that wait are cancelled
	Wants  int    // lanes that it can use now
	// Level is how far it has converged (level.Rule): Trials are done, and neighbours among the
	// best of them are Gap apart on average.
	Level  int
	Trials int
	Gap    float64
	Bid    float64 // what a GPU-second more is worth to it, 0 or more; see level.Bid
	// Ended trials are done or paused, and took Each seconds in a lane on average; 0 = none has ended.
	// Left are still to end, with those that run.
	Ended, Left int
	Each        float64
}

// SweepKey names a sweep. A token alone does not: any user's job may have it.
type SweepKey struct {
	Token string
	UID   uint32 // of its owner
}

// SweepKey names the sweep of which the job is a lane; an empty token = none.
func (j *Job) SweepKey() SweepKey { return SweepKey{j.Spec.Sweep, j.UID} }

// unknownSweep is the standing of a sweep of which nothing is known yet, with this many lanes.
func unknownSweep(first JobID, lanes int) Sweep {
	return Sweep{Number: first, Wants: lanes, Bid: 1}
}

// SweepOf returns what is known of a sweep, of which these lanes exist.
func (s *Snapshot) SweepOf(token string, first JobID, lanes int) Sweep {
	known, is := s.Sweeps[token]
	if !is {
		return unknownSweep(first, lanes)
	}
	if known.Number == 0 {
		known.Number = first
	}
	return known
}

// Trial is the trial that a lane of a sweep runs, or ran last.
type Trial struct {
	Sweep  JobID
	Number int     // from 1
	Metric string  // by which the sweep searches
	Epoch  float64 // of its last report
	Value  float64 // of the metric then, finite
	Known  bool    // it has reported
	// Beside are the others that the lane runs at once, ascending, without trials beside themselves.
	Beside []Trial
}
