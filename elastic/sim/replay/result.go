package replay

import "time"

// Result is what came of one simulation.
type Result struct {
	Policy   string
	Workload string
	Seed     uint64 // the workload's
	Info     Info
	Note     string      // the workload's
	Jobs     []JobResult // without lanes
	Sweeps   []SweepResult
	// Makespan is from the first submit to the last end.
	Makespan time.Duration
	Restarts int // resizes, moves and stops of started jobs
	// GPU-seconds of training, of restarting and idle ones, until the last end, lanes included.
	Useful, Restarting, Idle float64
	// Decisions is how long each decision took; nil when not measured.
	Decisions []time.Duration
	Rounds    int
	// Fragmentation is the mean share of free GPUs that lie on partly used nodes,
	// over the rounds that have free GPUs; 0..1.
	Fragmentation float64
	// Accounts are those of Config.Shares, in their order; nil without shares.
	Accounts []AccountResult
}

// JobResult is one job's part.
type JobResult struct {
	Name, Account      string
	Submit, Start, End time.Duration // after the workload's start; Start = first GPU
	Deadline           time.Duration // 0 = none
	Restarts           int
	Useful, Restarting float64 // GPU-seconds
	// Worth is what its work is worth to its user, Cost what its GPUs cost while it had
	// them, below the peak, both by Limits.Costs; 0 without.
	Worth, Cost float64

	at   int // index in the workload
	lane int // of a sweep, from 1; 0 = it is a job
}

// JCT is the time from submit to end.
func (j JobResult) JCT() time.Duration { return j.End - j.Submit }

// Wait is the time from submit to the first GPU.
func (j JobResult) Wait() time.Duration { return j.Start - j.Submit }

// SweepResult is one sweep's part. Times are after the workload's start.
type SweepResult struct {
	Name, User, Account string
	Task                string
	Submit              time.Duration
	First               time.Duration // its first lane has a GPU
	Goal                time.Duration // a trial is as good as the goal; below 0 = none was
	Over, End           time.Duration // no trial is left to run; the last lane has ended
	Asked               int           // trials that it may begin
	Begun, Done, Paused int           // trials
	Lanes               int           // the most that ran at once
	Taken               int           // how often a lane lost its GPUs to others
	GPUSeconds          float64       // of its lanes, starts included
}
