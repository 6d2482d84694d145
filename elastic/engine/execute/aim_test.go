package execute

import (
	"context"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
)

// aims keeps what the next run of a job is told.
type aims struct {
	*world
	told checkpoint.Target
}

func (a *aims) Aim(_ string, t checkpoint.Target) error                 { a.told = t; return nil }
func (a *aims) Update(context.Context, slurm.JobID, slurm.Update) error { return nil }
func (a *aims) Withdraw(string) error                                   { return nil }

// TestTypeIsTold: a run is told the type of its GPUs where it follows from the nodes of the plan, or from the job.
func TestTypeIsTold(t *testing.T) {
	for _, c := range []struct {
		types    []string
		place    nodes.Placement
		anyNodes bool
		want     string
	}{
		{nil, nodes.Placement{{Node: "g1", GPUs: 2}}, false, "a100"},
		{nil, nodes.Placement{{Node: "g2", GPUs: 2}}, false, "t4"},
		{[]string{"a100", "t4"}, nodes.Placement{{Node: "g2", GPUs: 2}}, false, "t4"},
		{nil, nodes.Placement{{Node: "g1", GPUs: 2}, {Node: "g2", GPUs: 2}}, false, "a100+t4"},
		{nil, nodes.Placement{{Node: "g1", GPUs: 2}}, true, ""}, // Slurm chooses
		{[]string{"t4"}, nodes.Placement{{Node: "g2", GPUs: 2}}, true, "t4"},
	} {
		x, w, _ := executor(t)
		mail := &aims{world: w}
		x.Mail, x.Slurm = mail, mail
		x.Seen.Nodes = []slurm.Node{{Name: "g1", GPUs: 4, GPUType: "a100"}, {Name: "g2", GPUs: 4, GPUType: "t4"}}
		job := elastic.Job{ID: 7, Spec: elastic.Spec{Types: c.types, Max: 4}}
		if err := x.write(t.Context(), elastic.Write{Job: 7, To: 1, Target: c.place, AnyNodes: c.anyNodes}, job); err != nil || mail.told.Type != c.want {
			t.Errorf("%+v: %q, %v", c, mail.told.Type, err)
		}
	}
}
