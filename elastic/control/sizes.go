package control

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/control/wire"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/policy"
	"github.com/sluice-hpc/sluice/nodes"
)

// manySizes bounds the sizes that an explanation lists.
const manySizes = 64

// viewExplanation lists the sizes that the job accepts and could have on the cluster as built,
// whatever is free now, and its present size.
func viewExplanation(r *publish.Report, jr publish.JobReport) wire.Explanation {
	decider := cmp.Or(jr.Policy, r.Policy)
	out := wire.Explanation{Version: wire.Version, At: r.At, Policy: decider, Promises: promises(decider), Blind: r.Blind, BlindFor: r.BlindFor.Seconds(), Job: viewJob(r, jr), Type: typed(r, jr), Sizes: []wire.Size{}}
	if jr.Ended {
		return out
	}
	for _, n := range in(r.Nodes, jr.Record.Partition) {
		if h := viewHealth(r, n.Name, func(publish.JobReport) bool { return false }); h != nil && h.Excluded {
			out.LeftOut = append(out.LeftOut, wire.LeftOut{Node: n.Name, Why: h.Why, Until: h.Until})
		}
	}
	spec := jr.Record.Tag.Spec
	options := spec.Options(max(capacity(r.Nodes, jr.Record.Partition), spec.Min))
	can := attainable(r, jr, options)
	for _, gpus := range options[:min(len(options), manySizes)] {
		if slices.Contains(can, gpus) || gpus == jr.Job.Place.GPUs() {
			out.Sizes = append(out.Sizes, viewSize(r, jr, gpus))
		}
	}
	return out
}

// viewSize returns the speed at a size on the fewest nodes, or at the present size on its own
// nodes. With the remaining work in units and the seconds per unit s,
//
//	Left = remaining * s + Dead
func viewSize(r *publish.Report, jr publish.JobReport, gpus int) wire.Size {
	now := jr.Job.Place.GPUs() == gpus
	out := wire.Size{GPUs: gpus, Nodes: fewest(in(r.Nodes, jr.Record.Partition), gpus, jr.Record.Tag.Spec.Type()), Now: now}
	if now {
		out.Nodes = len(jr.Job.Place)
	}
	out.Seconds, out.Source = pace(curveOf(jr), speed.Shape{GPUs: gpus, Nodes: max(1, out.Nodes)})
	if c := curveOf(jr); out.Seconds == 0 && len(c.Shapes()) > 0 {
		seconds, src := c.Seconds(speed.Shape{GPUs: gpus, Nodes: max(1, out.Nodes)})
		out.Relative, out.Source = 1/seconds, string(src)
	}
	if left, ok := jr.Job.Remaining(); ok && out.Seconds > 0 {
		out.Left = left * out.Seconds
		out.Dead = deadTime(*jr.Job, gpus).Seconds()
		out.Left += out.Dead
	}
	return out
}

// promises reports whether the policy admits jobs with deadlines.
func promises(name string) bool {
	p, err := policy.ByName(name)
	return err == nil && p.Dates
}

// deadTime returns how long the job would make no progress on its way to a size: the cost of a
// resize, or of its start.
func deadTime(j elastic.Job, gpus int) time.Duration {
	switch j.GPUs() {
	case gpus:
		return 0
	case 0:
		return j.Price.Start + j.Price.Load
	}
	return j.Price.Total()
}

// typed returns the GPU type that the speeds are of, if the partition has several.
func typed(r *publish.Report, jr publish.JobReport) string {
	for _, n := range in(r.Nodes, jr.Record.Partition) {
		if n.GPUs > 0 && n.Type != jr.Kind && len(jr.Job.Place) > 0 {
			return jr.Kind
		}
	}
	return ""
}

// fewest returns the smallest number of nodes that hold this many GPUs of a type when empty; 0
// if all nodes together do not. The largest nodes first is optimal.
func fewest(all []nodes.Node, gpus int, kind string) int {
	sizes := make([]int, len(all))
	for i, n := range all {
		sizes[i] = n.Has(kind)
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	for i, size := range sizes {
		if gpus -= size; gpus <= 0 {
			return i + 1
		}
	}
	return 0
}

// attainable returns those of the sizes that the job could have on the cluster as built.
func attainable(r *publish.Report, jr publish.JobReport, sizes []int) []int {
	j := elastic.Job{ID: jr.Record.ID, Spec: jr.Record.Tag.Spec, Partition: jr.Record.Partition, MaxNodes: jr.Job.MaxNodes}
	return elastic.Attainable(j, r.Nodes, sizes[:min(len(sizes), manySizes)])
}

// sizesInWords returns the sizes that a job accepts, for people: "1, 2, 4 or 8 GPUs".
func sizesInWords(options []int) string {
	if len(options) > 2 && options[len(options)-1]-options[0] == len(options)-1 {
		return fmt.Sprintf("%d to %d GPUs", options[0], options[len(options)-1])
	}
	words := make([]string, len(options))
	for i, n := range options {
		words[i] = fmt.Sprint(n)
	}
	if len(words) == 1 {
		return words[0] + " only"
	}
	if len(words) == 0 {
		return "no size this cluster has"
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last] + " GPUs"
}

// capacity returns the number of GPUs that a job of the partitions (comma separated, "" for
// all) could have at most.
func capacity(all []nodes.Node, partitions string) int {
	total := 0
	for _, n := range in(all, partitions) {
		total += n.GPUs
	}
	return total
}

func in(all []nodes.Node, partitions string) []nodes.Node {
	var out []nodes.Node
	for _, n := range all {
		if n.InAny(partitions) {
			out = append(out, n)
		}
	}
	return out
}
