package reason

import (
	"time"

	"github.com/sluice-hpc/sluice/nodes"
)

// What a decision makes of a job. GPUs is its size after the decision.
type (
	// Starts: a job that waits starts.
	Starts struct {
		value
		GPUs    int
		Because Reason
	}
	// StartsAtMinimum: it starts on the least it accepts.
	StartsAtMinimum struct {
		value
		GPUs    int
		Because Reason
	}
	// StartsOnReturned: on its minimum, which jobs that run give back.
	StartsOnReturned struct {
		value
		GPUs int
	}
	// StartsAbove: on more than its minimum.
	StartsAbove struct {
		value
		GPUs, Above int
		Because     Reason
	}
	// StartsAsAsked: on the fixed size that it asks for.
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
	// StaysOn: it stays on a node that it should leave (Leaving).
	StaysOn struct {
		value
		GPUs    int
		Leaving Reason
		Because Reason
	}
	// Resizes: it grows, or shrinks.
	Resizes struct {
		value
		From, To int
		Because  Reason
	}
	// Moves: it keeps its size and changes nodes.
	Moves struct {
		value
		From, To nodes.Placement
		Because  Reason
	}
	// MovesTo: it changes nodes, and perhaps its size, for what Because says.
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
	// Waits: it waits for so many GPUs.
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
	// WaitsOn: it waits for something else than GPUs.
	WaitsOn struct {
		value
		Because Reason
	}
	// WaitsBehind: a job that came first waits for so many GPUs.
	WaitsBehind struct {
		value
		Job  int64
		GPUs int
	}
	// WaitsForRoom: what keeps a job that waits and comes first from starting. Free is by
	// node that has any; All are the usable GPUs of its partition.
	WaitsForRoom struct {
		value
		GPUs, All int
		Free      []int
		Uneven    bool // what is free would do, if the job took different numbers on nodes
		Minimum   int  // jobs that run there at their minimum
		Fixed     int  // jobs that run there and cannot be resized now
	}
	// CannotStart: so many GPUs cannot be had even on an empty cluster.
	CannotStart struct {
		value
		GPUs   int
		Have   int  // of the usable nodes of its partition
		Split  bool // they are enough, and cannot be split evenly
		Uneven bool // --allow-uneven would help
		Fixed  bool // it asks for one size alone
	}
	// NeverStarts: it asks for a longer time limit than its partition gives.
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
	// Quiet: Slurm calls it running, and nothing of it was heard since.
	Quiet struct {
		value
		Since time.Time
		Job   int64
	}
)
