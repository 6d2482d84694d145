package conform

import (
	"context"
	"fmt"
	"strings"

	"github.com/sluice-hpc/sluice/slurm"
)

// affinity are the promises about features, constraints and nodes that jobs exclude.
// sluice names the nodes of each job, and Slurm then starts the job there or not at all.
// So sluice evaluates constraints itself (slurm.ParseConstraint, elastic/engine).
var affinity = []promise{
	{"a job runs on nodes with its feature, and waits for good on others", 2, func(c *check) {
		f := c.features([]string{"fast"}, []string{"slow"})
		id := c.running(long, 1, "--constraint="+f.is("fast"))
		c.must(c.Owner.RequeueHold(c.ctx, id))
		c.pends(id)
		c.write(id, slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 1, CPUs: 1})
		c.badConstraints(id)
		c.must(c.Operator.Hold(c.ctx, id))
		c.write(id, slurm.Update{Nodes: c.nodes[:1], GPUsPerNode: 2, CPUs: 1})
		c.splitIs(c.runs(id), 2)
	}},
	{"a constraint and excluded nodes are told, and outlive requeue and resize", 3, func(c *check) {
		f := c.features([]string{"fast"}, []string{"fast"}, []string{"slow"})
		id := c.running(long, 1, "--constraint="+f.is("fast|slow"), "--exclude="+c.nodes[1])
		c.reportsConstraint(id, f.is("fast|slow"), c.nodes[1])
		c.splitIs(c.resize(id, slurm.Update{Nodes: []string{c.nodes[0], c.nodes[2]}, GPUsPerNode: 1}), 1, 1)
		c.reportsConstraint(id, f.is("fast|slow"), c.nodes[1])
	}},
	{"nodes that a job excludes keep it waiting where they are named for it", 2, func(c *check) {
		id := c.written(slurm.Update{Nodes: c.nodes[1:], GPUsPerNode: 1, CPUs: 1}, "--exclude="+c.nodes[1])
		c.badConstraints(id)
	}},
	{"constraints are read from left to right", 2, func(c *check) {
		f := c.features([]string{"fast", "x"}, []string{"slow", "y"})
		for constraint, good := range map[string][2]bool{
			"slow|fast&x":         {true, false},
			"fast&x|y":            {true, true},
			"slow|(fast&y)":       {false, true},
			"(slow|fast)&y":       {false, true},
			"y&(slow|fast)":       {false, true},
			"(slow&y)|(fast&x)":   {true, true},
			"(slow&y)|(fast&y)":   {false, true},
			"[fast|slow]&x":       {true, false},
			"[(fast&x)|(slow&x)]": {true, false},
			"fast,x":              {true, false},
		} {
			f.starts(constraint, good)
		}
	}},
	{"alternatives in brackets bind where Slurm chooses the nodes", 2, func(c *check) {
		f := c.features([]string{"fast"}, []string{"slow"})
		_, _, err := c.Owner.Submit(c.ctx, slurm.Submission{Args: []string{"--nodes=2", "--gres=gpu:1", "--output=/dev/null", "--constraint=" + f.is("[fast|slow]")}, Dir: "/tmp", Stdin: []byte(long)})
		c.fails("submit", err, slurm.ErrRefused)
	}},
	{"alternatives in brackets do not bind nodes that are named", 2, func(c *check) {
		f := c.features([]string{"fast"}, []string{"slow"})
		id := c.written(slurm.Update{Nodes: c.nodes, GPUsPerNode: 1, CPUs: 2}, "--constraint="+f.is("[fast|slow]"))
		c.splitIs(c.runs(id), 1, 1)
	}},
	{"a feature that a node has lost leaves what runs there alone, and starts it no more", 1, func(c *check) {
		f := c.features([]string{"fast", "x"})
		id := c.running(long, 1, "--constraint="+f.is("x"))
		c.must(c.Features(c.ctx, c.nodes[0], f.names[0][:1], f.names[0]))
		c.stays(id, "running", isRunning)
		if n := c.node(c.nodes[0]); fmt.Sprint(n.Features) != fmt.Sprint(f.names[0][:1]) {
			c.Errorf("the node has %v", n.Features)
		}
		c.must(c.Owner.RequeueHold(c.ctx, id))
		c.pends(id)
		c.write(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 1, CPUs: 1})
		c.badConstraints(id)
	}},
	{"a feature that no node has is refused", 0, func(c *check) {
		_, _, err := c.Owner.Submit(c.ctx, slurm.Submission{Args: []string{"--constraint=nosuch", "--output=/dev/null"}, Dir: "/tmp", Stdin: []byte(long)})
		c.fails("submit", err, slurm.ErrRefused)
	}},
}

// featured are features of a check's nodes that no other node has.
type featured struct {
	c     *check
	names [][]string
}

// features gives the check's nodes these features, each under a name unique to this
// check, until the check ends.
func (c *check) features(of ...[]string) featured {
	c.Helper()
	f := featured{c: c}
	for i, list := range of {
		var names []string
		for _, name := range list {
			names = append(names, f.is(name))
		}
		f.names = append(f.names, names)
		c.must(c.Features(c.ctx, c.nodes[i], names, names))
		c.made = append(c.made, func(ctx context.Context) error { return c.Features(ctx, c.nodes[i], nil, nil) })
	}
	return f
}

// is writes a constraint with the names that its features have in this check.
func (f featured) is(constraint string) string {
	var b strings.Builder
	for i, r := range constraint {
		if letter := r >= 'a' && r <= 'z'; letter && (i == 0 || constraint[i-1] < 'a' || constraint[i-1] > 'z') {
			b.WriteString(f.c.name("f"))
		}
		b.WriteRune(r)
	}
	return b.String()
}

// starts checks on which of its two nodes Slurm starts a job with the constraint.
func (f featured) starts(constraint string, good [2]bool) {
	f.c.Helper()
	c, err := slurm.ParseConstraint(constraint)
	f.c.must(err)
	for i, node := range f.c.nodes {
		id := f.c.written(slurm.Update{Nodes: []string{node}, GPUsPerNode: 1, CPUs: 1}, "--nodelist=", "--constraint="+f.is(constraint))
		if good[i] {
			f.c.runs(id)
		} else {
			f.c.badConstraints(id)
		}
		f.c.gone(id)
		some := false
		for a := range c.Alternatives() {
			some = some || c.Accepts(a, strings.Split(strings.ReplaceAll(strings.Join(f.names[i], ","), f.c.name("f"), ""), ","))
		}
		if some != good[i] {
			f.c.Errorf("%s on a node with %v is read as %t", constraint, f.names[i], some)
		}
	}
}

// badConstraints waits until Slurm gives the reason that the job's constraints cannot be
// met.
func (c *check) badConstraints(id slurm.JobID) {
	c.Helper()
	c.until(id, "given up", func(d slurm.Detail) bool { return isPending(d) && d.Held && d.Reason == "BadConstraints" })
}

// reportsConstraint checks the job's reported constraint and the one node that it
// excludes.
func (c *check) reportsConstraint(id slurm.JobID, constraint, excluded string) {
	c.Helper()
	for from, j := range map[string]slurm.Job{"list": c.listed(id), "job": c.job(id).Job} {
		nodes := j.ExcNodes
		if len(nodes) == 0 {
			nodes = c.limits().Excluded[id]
		}
		if j.Constraint != constraint || fmt.Sprint(nodes) != fmt.Sprint([]string{excluded}) {
			c.Errorf("%s: constraint %q, excluded %v; want %q, %s", from, j.Constraint, nodes, constraint, excluded)
		}
	}
}
