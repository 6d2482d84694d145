package joint

// Node is one machine.
type Node struct {
	// Free counts the GPUs of the problem's own jobs as free.
	Free  int // GPUs, at least 0
	Class int // jobs name the groups of classes that they may use; from 0
	// CPUs and MemoryMB are the free amounts; -1 = not counted.
	CPUs     int
	MemoryMB int64
	// Spanning says that a job outside the problem that runs on several nodes is on it.
	Spanning bool
	// Types are the free GPUs of each type, numbered as Job.Type, if it has several; else nil.
	Types []int
}

// Share is a job's GPUs on one node.
type Share struct {
	Node int // index into the nodes
	GPUs int
}

// Option is one way to run a job.
type Option struct {
	// Split MUST NOT be empty. Options may share its memory: nothing here changes it.
	Split []int   // GPUs on each node; all nodes differ
	Value float64 // larger is better; finite
	// Loose says that every other split over as many nodes has the same value.
	Loose bool
	// Of is the index, from 1, of the job's group that it is on; 0 = any.
	Of int
}

// Size lists the options of one size, at least one, largest value first.
type Size struct {
	GPUs    int
	Options []Option
}

// Job is one job to decide about.
type Job struct {
	// Groups are the classes of nodes that it may use, best group first; all nodes of a run are
	// in one group.
	Groups [][]int
	// Sizes are ascending in GPUs.
	Sizes []Size
	// Now is the job's present place; it may stay there at the value Stay.
	// A job without sizes can only stay where it is.
	Now []Share
	// Stay is on the scale of Option.Value. It MUST be 0 if Now is empty.
	Stay float64
	// Must says that the job may not be left without GPUs. If it cannot be placed otherwise it
	// stays where it is.
	Must bool
	// Mixes lets it share nodes with jobs on several nodes even if Problem.Share does not,
	// because nothing can prevent it.
	Mixes bool

	// What the job takes of a node for each GPU there; MemPerGPUMB 0 = memory is not checked.
	CPUsPerGPU  int // 0 = one CPU per node
	MemPerGPUMB int64
	Type        int // GPU type that it requests, from 1; 0 = any
}

// Problem is a cluster without the jobs to decide about, and these jobs.
type Problem struct {
	Nodes []Node
	Jobs  []Job
	// Share lets two jobs that both run on several nodes share a node.
	Share bool
	// AtOnce says that all jobs move at the same moment: a plan need not be reachable one job
	// after the other.
	AtOnce bool
	// Near is the relative difference up to which an option may be worse than the best that
	// fits and still be taken because it breaks fewer idle nodes, or is on fewer nodes.
	// From 0 to below 1. It never makes a job leave its present place: only options elsewhere are
	// compared by it.
	Near float64
}

// Plan is a solution: a place for each job, nil for none, and the sum of the values.
// The caller MUST NOT change the shares: plans, the search and Job.Now have them in common.
type Plan struct {
	Places [][]Share
	Value  float64
}

// gpus returns the size of a split.
func gpus(split []int) int {
	n := 0
	for _, g := range split {
		n += g
	}
	return n
}

// held returns the size of a place; 0 for none.
func held(place []Share) int {
	n := 0
	for _, s := range place {
		n += s.GPUs
	}
	return n
}
