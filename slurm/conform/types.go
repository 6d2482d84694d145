package conform

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/slurm"
)

// Types are the GPU types that RunTypes expects on its first node: each type has half of
// its four GPUs.
var Types = []slurm.OfType{{Type: "red", GPUs: 2}, {Type: "blue", GPUs: 2}}

// RunTypes is Run with the promises about GPU types only, for a subject whose first node
// has Types and whose other nodes have "blue" GPUs.
func RunTypes(t *testing.T, s Subject) Score {
	s.Stop, s.Lanes = nil, 1
	s.Nodes = s.Nodes[:1] // they concern this node
	return hold(t, s, types)
}

var types = []promise{
	{"types on a node are counted apart", 1, func(c *check) {
		c.splitIs(c.typed("red", 1), 1)
		c.used("blue 0 of 2, red 1 of 2")
		c.splitIs(c.typed("blue", 2), 2)
		c.used("blue 2 of 2, red 1 of 2")
	}},
	{"a job gets GPUs of the type it names, or waits", 1, func(c *check) {
		first := c.typed("blue", 1)
		next := c.submit(long, "--nodes=1", "--ntasks=1", "--gres=gpu:blue:2", "--nodelist="+c.nodes[0])
		c.stays(next, "pending", isPending)
		c.used("blue 1 of 2, red 0 of 2")
		c.must(c.Owner.Cancel(c.ctx, first.ID))
		c.runs(next)
		c.used("blue 2 of 2, red 0 of 2")
	}},
	{"a job that names no type gets any", 1, func(c *check) {
		id := c.held(1)
		c.write(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 3, CPUs: 1})
		c.splitIs(c.runs(id), 3)
		if n := c.node(c.nodes[0]); n.GPUsUsed != 3 || n.Types[0].Used < 1 || n.Types[1].Used < 1 {
			c.Errorf("%+v", n)
		}
	}},
	{"a held job's number of GPUs can be changed within its type", 1, func(c *check) {
		id := c.submit(long, "--hold", "--nodes=1", "--ntasks=1", "--gres=gpu:red:1")
		c.write(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: 2, GPUType: "red", CPUs: 1})
		c.splitIs(c.runs(id), 2)
		c.used("blue 0 of 2, red 2 of 2")
		if j := c.listed(id); j.GPUType != "red" {
			c.Errorf("listed with GPUs of type %q", j.GPUType)
		}
	}},
	// Slurm 20.11 and 22.05 refuse it. There a job whose type is changed gets GPUs of
	// both types; sluice never changes a type, so this is not checked.
	{"a type given to a job that named none is refused, or kept", 1, func(c *check) {
		id := c.held(1)
		u := slurm.Update{Nodes: c.nodes, GPUsPerNode: 2, GPUType: "red", CPUs: 1}
		if err := c.Owner.Update(c.ctx, id, u); err != nil {
			c.fails("a type", err, slurm.ErrRefused)
			return
		}
		c.write(id, u)
		c.splitIs(c.runs(id), 2)
		c.used("blue 0 of 2, red 2 of 2")
	}},
}

// typed runs a job on this many GPUs of a type.
func (c *check) typed(kind string, gpus int) slurm.Detail {
	c.Helper()
	id := c.submit(long, "--hold", "--nodes=1", "--ntasks=1", "--gres=gpu:"+kind+":1")
	c.write(id, slurm.Update{Nodes: c.nodes, GPUsPerNode: gpus, GPUType: kind, CPUs: 1})
	return c.runs(id)
}

// used checks how many GPUs of each type are in use on the node.
func (c *check) used(want string) {
	c.Helper()
	n := c.node(c.nodes[0])
	total := 0
	for _, t := range n.Types {
		total += t.Used
	}
	if got := typesText(n); got != want || n.GPUsUsed != total || n.GPUs != 4 || n.GPUType != "" || n.Kind() != "blue+red" {
		c.Errorf("%s; want %s: %+v", got, want, n)
	}
}

func typesText(n slurm.Node) string {
	var words []string
	for _, t := range n.Types {
		words = append(words, fmt.Sprintf("%s %d of %d", t.Type, t.Used, t.GPUs))
	}
	return strings.Join(words, ", ")
}
