package metrics

import (
	"cmp"
	"slices"

	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/nodes"
)

// nodes adds the GPUs by type and use. Of a node with several types, the use by elastic jobs is shared
// out in proportion: Slurm does not say which jobs have which.
func (g *gauges) nodes(r *publish.Report) {
	held := map[string]int{}
	live(r, func(jr *publish.JobReport) {
		for _, s := range jr.Job.Place {
			held[s.Node] += s.GPUs
		}
	})
	uses := map[string]map[string]float64{}
	all := map[string]float64{}
	for _, n := range r.Nodes {
		for _, t := range typesOf(n) {
			if uses[t.Type] == nil {
				uses[t.Type] = map[string]float64{}
			}
			elastic := min(float64(t.Used), float64(held[n.Name])*fraction(t.Used, n.Used))
			of, free := uses[t.Type], float64(max(0, t.GPUs-t.Used))
			of["elastic"] += elastic
			of["other"] += float64(t.Used) - elastic
			if n.Usable {
				of["idle"] += free
			} else {
				of["unusable"] += free
			}
			all[t.Type] += float64(t.GPUs)
		}
	}
	for _, k := range merge(uses, all, mostTypes) {
		for _, use := range []string{"elastic", "other", "idle", "unusable"} {
			g.add("sluice_gpus", uses[k][use], k, use)
		}
	}
	excluded := 0
	for _, f := range r.Health {
		if f.Excluded {
			excluded++
		}
	}
	g.add("sluice_nodes_excluded", float64(excluded))
}

// merge keeps the most keys with the largest weights, adds the others to other, and returns the keys in
// order.
func merge(of map[string]map[string]float64, weight map[string]float64, most int) []string {
	keep := map[string]bool{}
	for _, k := range largest(weight, most) {
		keep[k.name] = true
	}
	var keys []string
	for name, values := range of {
		if keep[name] {
			keys = append(keys, name)
			continue
		}
		if of[other] == nil {
			of[other] = map[string]float64{}
		}
		for k, v := range values {
			of[other][k] += v
		}
	}
	if of[other] != nil && !slices.Contains(keys, other) {
		keys = append(keys, other)
	}
	slices.Sort(keys)
	return keys
}

// typesOf returns a node's GPUs by type.
func typesOf(n nodes.Node) []nodes.OfType {
	list := slices.Clone(n.Types)
	if len(list) == 0 && n.GPUs > 0 {
		list = []nodes.OfType{{Type: n.Type, GPUs: n.GPUs, Used: n.Used}}
	}
	for i := range list {
		list[i].Type = cmp.Or(list[i].Type, untyped)
	}
	return list
}

func fraction(part, whole int) float64 {
	if whole <= 0 {
		return 0
	}
	return float64(part) / float64(whole)
}
