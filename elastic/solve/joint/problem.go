package joint

// Node is one machine.
type Node struct {
	Free  int // GPUs, at least 0
	Class int // jobs name the groups of classes they may use; from 0
	// CPUs and MemoryMB are what is free of each; -1 = not counted.
	CPUs     int
	MemoryMB int64
	// Spanning is whether somebody who is not in the problem, and runs on several
	// nodes, is on it.
	Spanning bool
	// Types are the free GPUs of each type, counted as Job.Type does, where it has several;
	// nil elsewhere.
	Types []int
}

// Share is a job's GPUs on one node.
type Share struct {
	Node int // index into the nodes
	GPUs int
}

// Option is one way to run a job.
type Option struct {
	Split []int   // GPUs on each node; all different nodes
	Value float64 // higher is better; finite
	// Loose says that every other split over as many nodes is worth as much.
	Loose bool
	// Of is the group of the job's that it is on, counted from 1; 0 = any.
	Of int
}

// Size lists the options of one size, at least one, best value first.
type Size struct {
	GPUs    int
	Options []Option
}

// Job is one job to decide about.
type Job struct {
	// Groups are the classes of nodes it may use, best group first; all nodes of a
	// run are of one group.
	Groups [][]int
	// Sizes are ascending in GPUs.
	Sizes []Size
	// Now is where the job is; it may stay there at the value Stay.
	Now  []Share
	Stay float64
	// Must says that the job may not be left without GPUs. One that cannot be
	// placed otherwise stays where it is.
	Must bool
	// Mixes lets it share nodes with jobs on several nodes though Problem.Share does
	// not, because nobody can keep it from doing so.
	Mixes bool

	CPUsPerGPU  int // 0 = one CPU a node
	MemPerGPUMB int64
	Type        int // of GPU that it asks for, counted from 1; 0 = any
}

// Problem is a cluster without the jobs to decide about, and those.
type Problem struct {
	Nodes []Node
	Jobs  []Job
	// Share lets two jobs that both run on several nodes share a node.
	Share bool
	// AtOnce says that all jobs change places in one moment: a plan need not be
	// reachable one job after the other.
	AtOnce bool
	// Near is by how much, relatively, an option may be worse than the best that
	// fits and still be taken because it breaks fewer idle nodes, or lies tighter.
	Near float64
}

// Plan is an answer: a place for each job, nil for none.
type Plan struct {
	Places [][]Share
	Value  float64
}

func gpus(split []int) int {
	n := 0
	for _, g := range split {
		n += g
	}
	return n
}

func held(place []Share) int {
	n := 0
	for _, s := range place {
		n += s.GPUs
	}
	return n
}
