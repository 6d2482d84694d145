package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/cmd/terminal"
	"github.com/sluice-hpc/sluice/elastic"
	planner "github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// capacity is the GPUs of one type, or of any, that are configured on the nodes of a
// partition: on all its nodes, because one that is down, drained or powered off may be
// back when the job could start. Slurm counts in the same way.
type capacity struct {
	partition, kind string
	inventory       []planner.Node // nodes with such GPUs, and only with these
	each            []int          // GPUs per node, largest first
	types           []string       // all GPUs of the partition, by type
}

// tooMany is the refusal of a job whose smallest size none of its partitions can ever
// provide, with what they have and what to type; at is the option that requests it.
// sbatch refuses such a job too, without saying what to type. It is nil if a partition can
// provide the size, or its nodes are unknown.
func tooMany(spec elastic.Spec, at string, partitions []string, inventory []slurm.Node) error {
	kinds := spec.Types
	if len(kinds) == 0 {
		kinds = []string{""}
	}
	var best capacity
	for k, partition := range partitions {
		for i, kind := range kinds {
			s, known := capacityOf(partition, kind, inventory)
			if !known || s.gives(spec) {
				return nil
			}
			if k+i == 0 || s.most(spec) > best.most(spec) {
				best = s
			}
		}
	}
	if len(partitions) == 0 {
		return nil
	}
	if best.most(spec) == 0 {
		best.kind = strings.Join(spec.Types, " or ")
	}
	said, do := best.lacks(spec, at)
	if len(partitions) > 1 {
		said += ", and the job's other partitions do not have more"
	}
	if at != "" {
		at += ": "
	}
	return fmt.Errorf("%sthe job would never start: %s; %s", at, said, do)
}

// nodesFor returns the least number of nodes on which the first partition that can provide the
// job's smallest size does so: in equal parts, else in unequal ones; 0 if none is known to.
func nodesFor(spec elastic.Spec, partitions []string, inventory []slurm.Node) int {
	for _, partition := range partitions {
		for _, kind := range append(slices.Clone(spec.Types), "")[:max(1, len(spec.Types))] {
			if s, known := capacityOf(partition, kind, inventory); known && s.splits(spec, spec.Min) {
				return s.nodesFor(spec.Min)
			}
		}
	}
	return 0
}

func (s capacity) nodesFor(gpus int) int {
	for n := 1; n <= len(s.each); n++ {
		if gpus%n == 0 && s.each[n-1] >= gpus/n {
			return n
		}
	}
	for n, sum := 1, 0; n <= len(s.each); n++ {
		if sum += s.each[n-1]; sum >= gpus {
			return n
		}
	}
	return 0
}

// capacityOf returns false if the partition has no nodes that the user may see, or nodes
// whose GPUs cannot be counted.
func capacityOf(partition, kind string, inventory []slurm.Node) (s capacity, known bool) {
	s = capacity{partition: partition, kind: kind}
	for i := range inventory {
		n := &inventory[i]
		if !slices.Contains(n.Partitions, partition) {
			continue
		}
		if known = true; n.Slices > 0 || slices.Contains(n.States, "UNKNOWN") {
			return s, false
		}
		have := 0
		for _, of := range typesOf(n) {
			if kind == "" || of.Type == kind {
				have += of.GPUs
			}
			if of.Type != "" && of.GPUs > 0 && !slices.Contains(s.types, of.Type) {
				s.types = append(s.types, of.Type)
			}
		}
		if have > 0 {
			s.each = append(s.each, have)
			s.inventory = append(s.inventory, planner.Node{Name: n.Name, GPUs: have})
		}
	}
	slices.SortFunc(s.each, func(a, b int) int { return b - a })
	slices.Sort(s.types)
	return s, known
}

// typesOf is a node's GPUs by type.
func typesOf(n *slurm.Node) []slurm.OfType {
	if n.Types != nil {
		return n.Types
	}
	return []slurm.OfType{{Type: n.GPUType, GPUs: n.GPUs}}
}

// all is how many GPUs the nodes have that one job may use together.
func (s capacity) all(spec elastic.Spec) (n int) {
	each := s.each
	if spec.Nodes > 0 && spec.Nodes < len(each) {
		each = each[:spec.Nodes]
	}
	for _, g := range each {
		n += g
	}
	return n
}

// gives reports whether some size that the job accepts fits on the empty nodes.
func (s capacity) gives(spec elastic.Spec) bool {
	return slices.ContainsFunc(spec.Options(s.all(spec)), func(n int) bool { return s.splits(spec, n) })
}

// splits reports whether this many GPUs are available together, in the splits that the
// job accepts. CPUs and memory are not considered: the message is about GPUs.
func (s capacity) splits(spec elastic.Spec, n int) bool {
	alone := elastic.Job{Spec: elastic.Spec{AllowUneven: spec.AllowUneven}, MaxNodes: spec.Nodes}
	return len(elastic.Attainable(alone, s.inventory, []int{n})) > 0
}

// most is the largest available number of GPUs up to the job's smallest size.
func (s capacity) most(spec elastic.Spec) int {
	for n := min(spec.Min, s.all(spec)); n > 0; n-- {
		if s.splits(spec, n) {
			return n
		}
	}
	return 0
}

// lacks says what the partition has too few of, and what to type.
func (s capacity) lacks(spec elastic.Spec, at string) (said, do string) {
	of := ""
	if s.kind != "" {
		of = " of type " + s.kind
	}
	most := s.most(spec)
	switch {
	case most == 0 && s.kind != "" && len(s.types) > 0:
		return fmt.Sprintf("partition %s has no GPUs%s", s.partition, of), "it has " + strings.Join(s.types, ", ") + ": choose one of these, or leave the type out"
	case most == 0:
		return fmt.Sprintf("partition %s has no GPUs%s", s.partition, of), "name another partition with --partition"
	case spec.Min <= s.all(spec):
		return fmt.Sprintf("%s cannot be split evenly over the %s of partition %s, which has %d GPUs%s", terminal.Plural(spec.Min, "GPU"),
				terminal.Plural(len(s.each), "node"), s.partition, s.all(spec), of),
			"give --allow-uneven, or " + s.ask(at, most) + " or another size that splits"
	case spec.Nodes == 1:
		said = fmt.Sprintf("no node of partition %s has more than %s%s", s.partition, terminal.Plural(most, "GPU"), of)
	default:
		said = fmt.Sprintf("partition %s has %s%s on %s", s.partition, terminal.Plural(s.all(spec), "GPU"), of, terminal.Plural(len(s.each), "node"))
	}
	do = "give " + s.ask(at, most) + " or less"
	if anywhere := spec; spec.Nodes == 1 && spec.Fixed() {
		if anywhere.Nodes = 0; s.splits(anywhere, spec.Min) {
			do += fmt.Sprintf(", or --gpus=%s without a number of nodes", s.typed(spec.Min))
		}
	}
	return said, do
}

// ask is what to type for this many GPUs: the option that was used, if it counts GPUs.
func (s capacity) ask(at string, gpus int) string {
	for _, option := range []string{"--min-gpus=", "--gpu-sizes=", "--gpus-per-node=", "--gres=gpu:"} {
		if strings.HasPrefix(at, option) {
			switch option {
			case "--min-gpus=":
				return option + fmt.Sprint(gpus)
			case "--gpu-sizes=":
				return fmt.Sprintf("--gpu-sizes with a size of %d", gpus)
			}
			return option + s.typed(gpus)
		}
	}
	return "--gpus=" + s.typed(gpus)
}

// typed is a number of GPUs, with the type if the job names one.
func (s capacity) typed(gpus int) string {
	if s.kind == "" {
		return fmt.Sprint(gpus)
	}
	return fmt.Sprintf("%s:%d", s.kind, gpus)
}
