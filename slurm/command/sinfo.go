package command

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// The fields asked of sinfo, in the order they are printed.
const (
	nName = iota
	nPartition
	nStates
	nStateLong
	nGres
	nGresUsed
	nCPUs
	nMemory
	nMemUsed
	nFeatures
	nReason
	nodeFieldCount
)

var nodeFields = [nodeFieldCount]string{
	"NodeList", "PartitionName", "StateComplete", "StateLong", "Gres", "GresUsed",
	"CPUsState", "Memory", "AllocMem", "features_act", "Reason",
}

// Nodes returns all nodes that belong to a partition, in Slurm's order: one
// sinfo, which costs slurmctld one query for nodes and one for partitions.
//
// Slurm counts the GPUs of a COMPLETING job as free at once, but starts nothing
// on a node in the state COMPLETING until the cleaning is over.
func (c *Client) Nodes(ctx context.Context) ([]slurm.Node, error) {
	const op = "sinfo"
	d := newDelimiter()
	out, err := c.read(ctx, op, 0, "sinfo", []string{"-h", "-a", "-N", "-O", d.format(nodeFields[:])})
	if err != nil {
		return nil, err
	}
	nodes, err := parseNodes(out.stdout, d)
	if err != nil {
		return nil, &slurm.Error{Op: op, Err: slurm.ErrGarbage, Words: clean(err.Error()), Hint: "run sinfo by hand and see what it prints"}
	}
	return nodes, nil
}

// parseNodes reads sinfo's answer, which has one record for each node and
// partition, and joins a node's records into one. A node whose numbers cannot
// be read gets the state UNKNOWN, in which nothing is started.
func parseNodes(out string, d delimiter) ([]slurm.Node, error) {
	var nodes []slurm.Node
	at, words, tooMany := map[string]int{}, pool{}, false
	records, err := d.split(out, int(nodeFieldCount), func(r []string) {
		names, _ := slurm.Expand(r[nName][strings.LastIndexByte(r[nName], '\n')+1:]) // none where it is no list
		for _, name := range names {
			i, known := at[name]
			switch {
			case known:
				addPartition(&nodes[i], words.own(r[nPartition]))
			case len(nodes) == slurm.MaxHosts:
				tooMany = true
				return
			default:
				node := parseNode(name, r)
				words.ofNode(&node)
				at[node.Name] = len(nodes)
				nodes = append(nodes, node)
			}
		}
	})
	switch {
	case err != nil:
		return nil, err
	case tooMany:
		return nil, fmt.Errorf("more than %d nodes", slurm.MaxHosts)
	case len(nodes) == 0 && records > 0:
		return nil, fmt.Errorf("%d records, and none has a node", records)
	}
	return nodes, nil
}

// ofNode copies what was said of a node out of the answer.
func (p pool) ofNode(n *slurm.Node) {
	p.all(&n.Name, &n.GPUType, &n.Reason)
	p.list(n.States)
	p.list(n.Features)
	p.list(n.Partitions)
}

func parseNode(name string, r []string) slurm.Node {
	v := reader{record: r}
	n := slurm.Node{Name: name, States: nodeStates(r[nStates], r[nStateLong]), Reason: text(r[nReason])}
	if n.Reason == "none" {
		n.Reason = ""
	}
	addPartition(&n, r[nPartition])
	for _, f := range strings.Split(r[nFeatures], ",") {
		if !empty(f) {
			n.Features = append(n.Features, f)
		}
	}
	configured, used := v.gpus(nGres), v.gpus(nGresUsed)
	n.GPUs, n.GPUType, n.GPUsUsed = max(0, configured.count-configured.slices), configured.kind, max(0, used.count-used.slices)
	n.Slices, n.Types = configured.slices, typesOf(configured, used)
	n.CPUs, n.CPUsUsed = v.cpus(nCPUs)
	n.MemoryMB, n.MemUsedMB = v.megabytes(nMemory), v.megabytes(nMemUsed)
	if v.err != nil {
		n.States = append([]string{"UNKNOWN"}, n.States...)
	}
	return n
}

// typesOf lists the types of a node's GPUs, by name, where it has several.
func typesOf(configured, used gpus) []slurm.OfType {
	if len(configured.types) < 2 {
		return nil
	}
	var out []slurm.OfType
	for _, kind := range slices.Sorted(maps.Keys(configured.types)) {
		out = append(out, slurm.OfType{Type: strings.Clone(kind), GPUs: configured.types[kind], Used: used.types[kind]})
	}
	return out
}

func addPartition(n *slurm.Node, partition string) {
	partition = strings.TrimSuffix(partition, "*") // the default one
	if !empty(partition) && !slices.Contains(n.Partitions, partition) {
		n.Partitions = append(n.Partitions, partition)
		slices.Sort(n.Partitions) // sinfo's order is that of the moment
	}
}

// cpus reads "allocated/idle/other/total".
func (v *reader) cpus(field int) (total, used int) {
	parts := strings.Split(v.record[field], "/")
	if len(parts) != 4 {
		v.note(field, fmt.Errorf("%q is not A/I/O/T", shorten(v.record[field])))
		return
	}
	used, err := count(parts[0])
	v.note(field, err)
	total, err = count(parts[3])
	v.note(field, err)
	return total, used
}

func (v *reader) megabytes(field int) int64 {
	n, err := size(v.record[field])
	v.note(field, err)
	return n
}

// stateMarks are the characters sinfo puts behind a node's state (20.11, which
// lacks StateComplete, tells flags in no other way).
var stateMarks = map[byte]string{
	'*': "NOT_RESPONDING", '~': "POWERED_DOWN", '#': "POWERING_UP", '!': "POWER_DOWN", '%': "POWERING_DOWN",
	'$': "MAINT", '@': "REBOOT_REQUESTED", '^': "REBOOT_ISSUED", '-': "PLANNED", '+': "CLOUD",
}

// nodeStates returns the base state and the flags in upper case. complete is
// "mixed+drain+not_responding"; long is one word with marks behind it, such as
// "draining*", and stands in where complete is empty.
func nodeStates(complete, long string) []string {
	var states []string
	if !empty(complete) {
		for _, s := range strings.Split(strings.ToUpper(complete), "+") {
			switch s {
			case "":
			case "MAINTENANCE":
				states = append(states, "MAINT")
			default:
				states = append(states, s)
			}
		}
		return states
	}
	var flags []string
	for long != "" {
		flag, ok := stateMarks[long[len(long)-1]]
		if !ok {
			break
		}
		flags = append(flags, flag)
		long = long[:len(long)-1]
	}
	if empty(long) {
		return append([]string{"UNKNOWN"}, flags...)
	}
	return append([]string{strings.ToUpper(long)}, flags...)
}
