package ranks

import (
	"fmt"
	"os/exec"
	"slices"
)

// A gang is a job's workers and its other kinds of tasks, which start together or not at
// all. Slurm starts an allocation as a whole; within it every node writes in its note
// which tasks it has and whether it can start them, and nothing is started before all
// nodes have done so.

// gangNote is a node's note about the tasks that it is to start.
type gangNote struct {
	Address string     `json:"address"` // address of this node for the other nodes
	Kinds   []kindNote `json:"kinds"`   // the workers first
	Lack    *lack      `json:"lack,omitempty"`
}

// kindNote is a node's share of a kind.
type kindNote struct {
	Name  string `json:"name"`
	Count string `json:"count,omitempty"` // as written; "" for the workers
	Ports []int  `json:"ports"`           // one port for each task here
}

// lack is the reason why a node cannot start its tasks.
type lack struct {
	Kind string `json:"kind"`
	Why  string `json:"why"` // names the program if that is the reason
}

// Group is all tasks of one kind, with their numbers.
type Group struct {
	Kind  string
	First int // number of the first one on this node
	Local int // tasks on this node
	Tasks []Task
}

// Task is one process of a gang.
type Task struct {
	ID      int    `json:"id"` // index in its kind, from 0, over the whole job, in the order of the nodes
	Node    string `json:"node"`
	Address string `json:"address"`
	Port    int    `json:"port"` // free when the nodes met
}

// enlist returns this node's part of a gang, and holds the ports it names.
func (n Node) enlist(worker []string, others []Kind, seed string) (*gangNote, *held) {
	counts := append([]int{n.Local}, shares(others, n.ID, n.Nodes, n.GPUs)...)
	kinds := append([]Kind{{Name: Worker, Argv: worker}}, others...)
	g := &gangNote{Address: n.address(), Kinds: make([]kindNote, len(kinds))}
	total := 0
	for i, k := range kinds {
		g.Kinds[i].Name = k.Name
		if i > 0 {
			g.Kinds[i].Count = k.Count.String()
		}
		if counts[i] > 0 && g.Lack == nil {
			g.Lack = lacking(k)
		}
		total += counts[i]
	}
	h, err := hold(total, seed)
	if err != nil {
		if g.Lack == nil {
			g.Lack = &lack{Kind: Worker, Why: err.Error()}
		}
		return g, nil
	}
	next := h.ports
	for i, count := range counts {
		g.Kinds[i].Ports, next = next[:count], next[count:]
	}
	return g, h
}

// lacking returns why a kind's program cannot be started here; nil if it can.
func lacking(k Kind) *lack {
	if _, err := exec.LookPath(k.Argv[0]); err != nil {
		return &lack{Kind: k.Name, Why: clip(err.Error())}
	}
	return nil
}

// local is the number of tasks of all kinds that the node starts.
func (g *gangNote) local() (sum int) {
	for _, k := range g.Kinds {
		sum += len(k.Ports)
	}
	return sum
}

// sound reports whether a note of another node is valid.
func (g *gangNote) sound(workers int) bool {
	if len(g.Kinds) == 0 || len(g.Kinds) > maxKinds || g.Kinds[0].Name != Worker {
		return false
	}
	for i, k := range g.Kinds {
		if !kindName().MatchString(k.Name) || g.Lack == nil && i == 0 && len(k.Ports) != workers ||
			slices.ContainsFunc(k.Ports, func(p int) bool { return p < 1 || p > 65535 }) {
			return false
		}
	}
	return g.local() <= maxTasks
}

// like reports whether two nodes were told to start the same kinds with the same counts.
func (g *gangNote) like(other *gangNote) bool {
	if g == nil || other == nil {
		return g == other
	}
	return slices.EqualFunc(g.Kinds, other.Kinds, func(a, b kindNote) bool { return a.Name == b.Name && a.Count == b.Count })
}

// groups numbers the tasks of all nodes. If a node cannot start its own tasks the error
// is a *lackError.
func groups(notes []note, own int) ([]Group, error) {
	mine := notes[own].Gang
	var first *lackError
	for id, n := range notes {
		switch {
		case !mine.like(n.Gang):
			return nil, fmt.Errorf("nodes %s and %s were told to start different kinds of tasks: give every node of a step the same command", notes[own].Name, n.Name)
		case n.Gang == nil || n.Gang.Lack == nil:
		case first == nil:
			first = &lackError{lack: *n.Gang.Lack, node: n.Name, rank: before(notes[:id], Worker), id: before(notes[:id], n.Gang.Lack.Kind)}
		default:
			first.more++
		}
	}
	if first != nil {
		return nil, first
	}
	if mine == nil {
		return nil, nil
	}
	all := make([]Group, len(mine.Kinds))
	for k := range all {
		all[k] = group(notes, own, k)
	}
	return all, nil
}

// before counts the tasks of a kind on the first nodes.
func before(notes []note, kind string) (sum int) {
	for _, n := range notes {
		for _, k := range n.Gang.Kinds {
			if k.Name == kind {
				sum += len(k.Ports)
			}
		}
	}
	return sum
}

// group numbers the tasks of the kind with index k.
func group(notes []note, own, k int) Group {
	g := Group{Kind: notes[own].Gang.Kinds[k].Name}
	for id, n := range notes {
		ports := n.Gang.Kinds[k].Ports
		if id == own {
			g.First, g.Local = len(g.Tasks), len(ports)
		}
		for _, port := range ports {
			g.Tasks = append(g.Tasks, Task{ID: len(g.Tasks), Node: n.Name, Address: n.Gang.Address, Port: port})
		}
	}
	return g
}

// lackError is a gang that is not started because a node cannot start its tasks.
type lackError struct {
	lack lack
	node string
	rank int // of the node's first worker
	id   int // of the node's first task of the kind
	more int // number of other nodes that cannot start theirs
}

// Error names one node and what it lacks, and how many more nodes lack something.
func (e *lackError) Error() string {
	more := ""
	if e.more > 0 {
		more = fmt.Sprintf("; nor can %d more", e.more)
	}
	return fmt.Sprintf("node %s cannot start %s: %s%s. Nothing was started on any node", e.node, e.lack.Kind, e.lack.Why, more)
}

// failure is the report to the other nodes and the runner.
func (e *lackError) failure(f Failure) Failure {
	f.Node, f.Rank, f.Why = e.node, e.rank, e.lack.Why
	if e.lack.Kind != Worker {
		f.Task, f.ID = e.lack.Kind, e.id
	}
	return f
}
