package welfare

// None is the option of a job that is left without nodes.
const None = -1

// Node is one machine.
type Node struct {
	// Free is what is free of each resource, at least 0.
	Free []int64
	// Account says which of the problem's costs the use of each resource counts for;
	// nil: resource r counts for cost r.
	Account []int
}

// account is the cost that the use of resource r on the node counts for.
func (n *Node) account(r int) int {
	if n.Account == nil {
		return r
	}
	return n.Account[r]
}

// Task is a number of equal tasks of a gang.
type Task struct {
	Count int     // at least 1
	Needs []int64 // of each resource, on its node
	// Nodes are the edges of the bipartite graph of tasks and nodes: where it may be,
	// ascending.
	Nodes []int32
}

// Option is one way to run a job: all its tasks run, each on a node of its own.
type Option struct {
	Tasks []Task
	// Value is what an hour of it is worth to the user: proportional to its speed.
	// It may be negative and is finite.
	Value float64
}

// tasks is how many there are.
func (o *Option) tasks() int {
	n := 0
	for i := range o.Tasks {
		n += o.Tasks[i].Count
	}
	return n
}

// Job is one job to decide about.
type Job struct {
	Options []Option
	// Must says that it may not be left without nodes.
	Must bool
}

// Problem is what there is to decide.
type Problem struct {
	Nodes []Node
	Jobs  []Job
	// Costs are the provider's, an hour, by account; what has none costs nothing.
	Costs []Cost
	// Used is what others use, by account: where costs rise with use it counts.
	Used []int64
	// Allows is what else is asked of a plan; nil = nothing.
	Allows func(places []Place) bool
}

// kinds is how many resources a node has.
func (p *Problem) kinds() int {
	if len(p.Nodes) == 0 {
		return 0
	}
	return len(p.Nodes[0].Free)
}

// used is what others use of an account.
func (p *Problem) used(account int) int64 {
	if account >= len(p.Used) {
		return 0
	}
	return p.Used[account]
}

// Place is where a job's tasks are.
type Place struct {
	Option int     // None = nowhere
	Nodes  []int32 // by task, equal tasks one after the other
}

var nowhere = Place{Option: None}

// Plan is a place for every job.
type Plan struct {
	Places []Place
	// Welfare is the sum of the values less the costs that the plan adds, an hour.
	Welfare float64
}
