package welfare

// None is the option of a job without nodes.
const None = -1

// Node is one machine.
type Node struct {
	// Free is the free amount of each resource, at least 0.
	// All nodes of a problem MUST list the same resources, in the same order. The first one is
	// the resource by which Greedy ranks gains and by which nodes are filled best.
	Free []int64
	// Account says to which of the problem's costs the use of each resource counts; nil:
	// resource r counts to cost r. An index beyond the last cost costs nothing.
	// It has at least as many entries as Free, none below 0.
	Account []int
}

// account returns the cost to which the use of resource r on the node counts.
func (n *Node) account(r int) int {
	if n.Account == nil {
		return r
	}
	return n.Account[r]
}

// Task is a number of equal tasks of a gang.
type Task struct {
	Count int // at least 1
	// Needs may be shorter than Node.Free, and MUST NOT be longer; what it does not list is 0.
	Needs []int64 // amount of each resource, on its node
	// Nodes are the edges of the bipartite graph of tasks and nodes: the nodes it may be on,
	// ascending.
	Nodes []int32
}

// Option is one way to run a job: all its tasks run, each on its own node.
// Options of a job that are alike SHOULD be next to each other: Genetic often tries one at most four
// places away.
type Option struct {
	Tasks []Task
	// Value is the value of an hour of it to the user: proportional to its speed, finite, and
	// possibly negative.
	Value float64
}

// tasks returns their number.
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
	// Must says that it MUST NOT be left without nodes.
	Must bool
}

// Problem is what there is to decide.
type Problem struct {
	Nodes []Node
	Jobs  []Job
	// Costs are the provider's costs per hour, by account; an account without one costs
	// nothing.
	Costs []Cost
	// Used is what others use, by account; it matters where costs rise with use.
	// It may be shorter than Costs: others use nothing of the rest.
	Used []int64
	// Allows reports whether a plan meets further conditions; nil = there are none.
	// It MUST give the same answer for the same places, and MUST NOT change or keep them. It is
	// called for each plan that a search considers. Bound disregards it, and stays a bound.
	Allows func(places []Place) bool
}

// kinds returns how many resources a node has.
// It is 0 for a problem without nodes, in which no task has room.
func (p *Problem) kinds() int {
	if len(p.Nodes) == 0 {
		return 0
	}
	return len(p.Nodes[0].Free)
}

// used returns what others use of an account.
// It is 0 for an account beyond the end of Used.
func (p *Problem) used(account int) int64 {
	if account >= len(p.Used) {
		return 0
	}
	return p.Used[account]
}

// Place is the nodes of a job's tasks.
// Nodes has as many entries as the option has tasks, all different. It does not count if Option is
// None.
type Place struct {
	Option int     // None = no nodes
	Nodes  []int32 // by task, equal tasks one after the other
}

// nowhere is the place of a job without nodes. The zero Place is not: its option is the first.
var nowhere = Place{Option: None}

// Plan is a place for every job.
type Plan struct {
	Places []Place
	// Welfare is the sum of the values less the costs that the plan adds, per hour.
	// Costs are counted from what others use: the plan without nodes has the welfare 0.
	Welfare float64
}
