package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// constraints are what drawn jobs ask of their nodes. Each accepts gpu1, which is never
// lost for good.
var constraints = []string{"fast", "fast&all", "slow|fast", "[fast|slow]", "[slow|fast]&all"}

// choosy draws nodes with features, and jobs that ask for some.
func (d *drawing) choosy() {
	if !d.one(6) {
		return
	}
	for range d.Nodes {
		d.Features = append(d.Features, []string{"all,fast", "all,slow"}[d.IntN(2)])
	}
	for i := range d.Jobs {
		if d.one(2) {
			d.Jobs[i].Constraint = constraints[d.IntN(len(constraints))]
		}
	}
}

// features are those of each node: the first is fast and the last slow whatever was drawn,
// for Slurm takes no job that names what no node has.
func (s Story) features() []string {
	if len(s.Features) < s.Nodes {
		return make([]string, s.Nodes)
	}
	list := slices.Clone(s.Features[:s.Nodes])
	list[s.Nodes-1] = "all,slow"
	list[0] = "all,fast"
	return list
}

// grid is the story's nodes.
func (s Story) grid() []fake.NodeConfig {
	grid := fake.Grid(s.Nodes+s.Edge, s.GPUs)
	for i := range grid[s.Nodes:] {
		grid[s.Nodes+i].Partitions = []string{edgePool}
	}
	for i, features := range s.features() {
		if features != "" {
			grid[i].Features = strings.Split(features, ",")
		}
	}
	return grid
}

// asks is what a job is handed in with besides the usual.
func (j Job) asks() []string {
	if j.Constraint == "" {
		return nil
	}
	return []string{"--constraint=" + j.Constraint}
}

// placed holds every run of a choosy job against what it accepts, and Slurm to never
// having been told nodes for it that it does not.
func (p *play) placed(i int) {
	j, job := p.s.Jobs[i], p.jobs[i]
	if j.Constraint == "" || p.s.forgetful() { // slurmctld gives numbers twice then
		return
	}
	for _, r := range job.Runs() {
		if !p.s.accepts(j.Constraint, r.Aim) {
			p.broken("I4 job %d, which wants %s, was to run on %s of %v", i, j.Constraint, r.Aim, p.s.features())
		}
	}
	given := fmt.Sprintf(" job %d bad constraints", job.ID())
	if at := slices.IndexFunc(p.w.Slurm.Log(), func(line string) bool { return strings.HasSuffix(line, given) }); at >= 0 {
		p.broken("I4 job %d, which wants %s, was given up by Slurm: %s", i, j.Constraint, p.w.Slurm.Log()[at])
	}
}

// accepts reports whether the nodes are as one of constraints says, by hand.
func (s Story) accepts(constraint string, at nodes.Placement) bool {
	fast, slow := 0, 0
	for n, node := range s.grid() {
		switch {
		case at.On(node.Name) == 0:
		case n >= s.Nodes:
			return false // those of the edge pool have no features
		case slices.Contains(node.Features, "fast"):
			fast++
		default:
			slow++
		}
	}
	switch constraint {
	case "fast", "fast&all":
		return slow == 0
	case "slow|fast":
		return true
	}
	return fast == 0 || slow == 0
}
