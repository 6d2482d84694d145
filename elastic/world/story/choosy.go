package story

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm/fake"
)

// constraints are the node constraints of random jobs. Each accepts gpu1, which is never lost for good.
var constraints = []string{"fast", "fast&all", "slow|fast", "[fast|slow]", "[slow|fast]&all"}

// choosy draws nodes with features, and jobs with constraints on them.
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

// features returns the features of each node. The first node is always fast and the last slow, since
// Slurm rejects a job with a feature that no node has.
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

// asks returns a job's additional sbatch options.
func (j Job) asks() []string {
	if j.Constraint == "" {
		return nil
	}
	return []string{"--constraint=" + j.Constraint}
}

// placed checks that every run of a job with a constraint, and every update of its nodes in Slurm,
// satisfies the constraint.
func (p *play) placed(i int) {
	j, job := p.s.Jobs[i], p.jobs[i]
	if j.Constraint == "" || p.s.forgetful() { // slurmctld may reuse numbers then
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

// accepts reports whether the nodes satisfy the constraint, independently of package slurm.
func (s Story) accepts(constraint string, at nodes.Placement) bool {
	fast, slow := 0, 0
	for n, node := range s.grid() {
		switch {
		case at.On(node.Name) == 0:
		case n >= s.Nodes:
			return false // nodes of the edge pool have no features
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
