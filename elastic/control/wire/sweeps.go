package wire

import (
	"time"

	"github.com/sluice-hpc/sluice/elastic/sweep/digest"
)

// Sweeps are the sweeps that sluiced looks after: those that have lanes in its report, also lanes
// that have ended. Users find older ones in their own folders.
type Sweeps struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	// Own: only the caller's own sweeps are listed, since this site keeps jobs private.
	Own    bool    `json:"own_only,omitempty"`
	Sweeps []Sweep `json:"sweeps"`
}

// SweepTrials are trials of one sweep, with their parameters: for its user and operators only.
type SweepTrials struct {
	Version int       `json:"version"`
	At      time.Time `json:"at"`
	Number  int64     `json:"sweep"`
	Token   string    `json:"token"`
	User    string    `json:"user"`
	digest.Digest
}

// Sweep is one sweep. It has counts and results, and no parameters: other users may see it.
type Sweep struct {
	Number    int64    `json:"sweep"` // the job id of its first lane
	Token     string   `json:"token"`
	Name      string   `json:"name"`
	User      string   `json:"user"`
	UID       uint32   `json:"uid"`
	Account   string   `json:"account,omitempty"`
	State     string   `json:"state"` // running, waiting, paused or over
	End       string   `json:"end,omitempty"`
	Algorithm string   `json:"algorithm"`
	Metric    string   `json:"metric"`
	Max       bool     `json:"metric_max"` // the larger, the better
	Goal      *float64 `json:"goal,omitempty"`
	// Trials: asked for, begun, and of these so many in each state.
	Trials  int `json:"trials"`
	Begun   int `json:"begun"`
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	Paused  int `json:"paused"`
	Stopped int `json:"stopped"`
	Failed  int `json:"failed"`
	Done    int `json:"done"`
	// Lanes are its jobs that have not ended; it may have Parallel, and can use Wants now.
	Lanes    []SweepLane `json:"lanes"`
	Parallel int         `json:"parallel"`
	Wants    int         `json:"wants"`
	GPUs     int         `json:"gpus"` // of all lanes, now
	// Level: Counted trials are done, and neighbours among the best are Gap apart on average. Bid is
	// what a GPU-second more is worth to it; it compares any two sweeps.
	Level   int     `json:"level"`
	Gap     float64 `json:"gap"`
	Counted int     `json:"counted"`
	Bid     float64 `json:"bid"`

	Best   *SweepBest   `json:"best,omitempty"` // absent = nothing was reported yet
	Bests  []SweepBest  `json:"best_over_time"` // the best so far, oldest first, thinned
	Levels []SweepLevel `json:"level_over_time"`

	Created time.Time `json:"created,omitzero"`
	Began   time.Time `json:"began,omitzero"` // its first trial; absent = none has
	// Problem is why sluiced cannot look after it now; "" = it can.
	Problem string `json:"problem,omitempty"`
	// Open: the caller may ask for its trials, and sluiced knows them.
	Open bool `json:"trials_open,omitempty"`
}

// LanesRun counts the lanes that have GPUs; the others wait.
func (s *Sweep) LanesRun() (n int) {
	for _, l := range s.Lanes {
		if l.GPUs > 0 {
			n++
		}
	}
	return n
}

// SweepLane is a lane: an ordinary job that runs one trial after the other.
type SweepLane struct {
	JobID int64 `json:"job_id"`
	GPUs  int   `json:"gpus"`            // now; 0 = it waits
	Trial int   `json:"trial,omitempty"` // that it runs; 0 = none
	// Beside are the others that it runs at once, ascending; at most 7.
	Beside []int `json:"beside,omitempty"`
}

// Trials are all trials that the lane runs.
func (l SweepLane) Trials() []int {
	if l.Trial == 0 {
		return nil
	}
	return append([]int{l.Trial}, l.Beside...)
}

// SweepBest is the best result of a sweep until a time.
type SweepBest struct {
	At    time.Time `json:"at,omitzero"` // absent = not known
	Value float64   `json:"value"`
	Trial int       `json:"trial"`
	Epoch float64   `json:"epoch"`
}

// SweepLevel is a level from a time on. Before the first one it was 0.
type SweepLevel struct {
	At      time.Time `json:"at"`
	Level   int       `json:"level"`
	Gap     float64   `json:"gap"`
	Counted int       `json:"counted"`
}
