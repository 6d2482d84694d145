package reason

import (
	"time"

	"github.com/sluice-hpc/sluice/nodes"
)

// What a decision does with a job. GPUs is its size after the decision.
type (
	// Starts: a job that waits starts.
	Starts struct {
		value
		GPUs    int
		Because Reason
	}
	// StartsAtMinimum: it starts on the smallest size it accepts.
	StartsAtMinimum struct {
		value
		GPUs    int
		Because Reason
	}
	// StartsOnReturned: on its minimum, which running jobs give back.
	StartsOnReturned struct {
		value
		GPUs int
	}
	// StartsAbove: on more than its minimum.
	StartsAbove struct {
		value
		// Above is how many of GPUs are beyond the minimum.
		GPUs, Above int
		Because     Reason
	}
	// StartsAsAsked: on the fixed size that it requests.
	StartsAsAsked struct {
		value
		GPUs int
	}
	// Keeps: a job that runs keeps its size.
	Keeps struct {
		value
		GPUs    int
		Because Reason
	}
	// StaysOn: it stays on a node that it has to leave (Leaving).
	StaysOn struct {
		value
		GPUs    int
		Leaving Reason
		Because Reason
	}
	// Resizes: it grows, or shrinks.
	Resizes struct {
		value
		// Numbers of GPUs; they differ.
		From, To int
		Because  Reason
	}
	// Moves: it keeps its size and changes nodes.
	Moves struct {
		value
		From, To nodes.Placement
		Because  Reason
	}
	// MovesTo: it changes nodes, and perhaps its size, because of Because.
	MovesTo struct {
		value
		To      nodes.Placement
		GPUs    int
		Because Reason
	}
	// MovesToPool: it starts in another pool than the one it runs in.
	MovesToPool struct {
		value
		GPUs    int
		Because Reason
	}
	// Stops: it stops after a checkpoint, and waits again.
	Stops struct {
		value
		Because Reason
	}
	// Yields: jobs of its QOS may have only GPUs that no other job wants, and this job waits for so
	// many. QOS "" = not known.
	Yields struct {
		value
		QOS  string
		Job  int64
		GPUs int
	}
	// LaneYields: this job waits for so many GPUs, and comes before all lanes of a sweep but its
	// first.
	LaneYields struct {
		value
		Job  int64
		GPUs int
	}
	// SweepLevel: the sweep is to have this many lanes beside the other sweeps of its user, by what
	// one more trial is worth to each. Trials are done, and neighbours among the best of them are Gap
	// apart in Metric on average; "" = not known. Level is shown, and weighs nothing by default.
	SweepLevel struct {
		value
		Sweep         int64
		Level, Trials int
		Gap           float64
		Metric        string
		Lanes         int
	}
	// SweepPaused: its user paused its sweep.
	SweepPaused struct {
		value
		Sweep int64
	}
	// SweepEnded: its sweep is over, so it is cancelled.
	SweepEnded struct {
		value
		Sweep int64
	}
	// Leaves: it saves, and waits for GPUs on nodes that it may use.
	Leaves struct {
		value
		Because Reason
	}
	// LeavesEdge: it saves, leaves the edge pool, and waits for other GPUs.
	LeavesEdge struct {
		value
		Because Reason
	}
	// Waits: it waits for this many GPUs.
	Waits struct {
		value
		GPUs    int
		Because Reason
	}
	// WaitsPinned: it waits for the size that its user set.
	WaitsPinned struct {
		value
		GPUs    int
		Because Reason
	}
	// WaitsOn: it waits for something other than GPUs.
	WaitsOn struct {
		value
		Because Reason
	}
	// WaitsBehind: an earlier job waits for this many GPUs.
	WaitsBehind struct {
		value
		Job  int64
		GPUs int
	}
	// WaitsForRoom: what keeps the first waiting job from starting. Free is the free GPUs of
	// each node that has any; All is the usable GPUs of its partition.
	WaitsForRoom struct {
		value
		GPUs, All int
		Free      []int
		Uneven    bool // the free GPUs would be enough if the job accepted different numbers per node
		Minimum   int  // number of jobs that run there at their minimum
		Fixed     int  // number of jobs that run there and cannot be resized now
	}
	// CannotStart: this many GPUs are not available even on an empty cluster.
	CannotStart struct {
		value
		GPUs   int
		Have   int  // GPUs of the usable nodes of its partition
		Split  bool // they are enough, but cannot be split evenly
		Uneven bool // --allow-uneven would help
		Fixed  bool // it requests a single size
	}
	// NeverStarts: it requests a longer time limit than its partition allows.
	NeverStarts struct {
		value
		Job       int64
		Asked     float64 // seconds; 0 = without end
		MaxTime   float64 // seconds
		Partition string
	}
	// Throttled: as many tasks of its array run as its %N allows.
	Throttled struct {
		value
		Most int
	}
	// BeingStarted: its start is under way.
	BeingStarted struct {
		value
		GPUs    int
		Because Reason
	}
	// Moving: a change of its size or nodes is under way.
	Moving struct {
		value
		From, GPUs int
		Because    Reason
	}
	// HeldByUser: its user holds it.
	HeldByUser struct {
		value
		Job int64
	}
	// Quiet: Slurm calls it running, but it has written nothing since this time.
	Quiet struct {
		value
		Since time.Time
		Job   int64
	}
)
