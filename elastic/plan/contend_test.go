package plan_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestContend: a job that waits contends in Slurm's own order where an ordinary job of lower priority
// waits for GPUs that it could use, and nothing but its begin time keeps it from starting.
func TestContend(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*elastic.Snapshot, *elastic.Job)
		contends bool
	}{
		"as it came":             {func(*elastic.Snapshot, *elastic.Job) {}, true},
		"nobody waits":           {func(s *elastic.Snapshot, _ *elastic.Job) { s.Demands = nil }, false},
		"the other comes first":  {func(s *elastic.Snapshot, _ *elastic.Job) { s.Demands[0].Priority = 90 }, false},
		"equal but for its age":  {func(_ *elastic.Snapshot, j *elastic.Job) { j.Aged = 30 }, false},
		"priority not known":     {func(s *elastic.Snapshot, _ *elastic.Job) { s.Demands[0].Priority = 0 }, false},
		"other nodes":            {func(s *elastic.Snapshot, _ *elastic.Job) { s.Demands[0].Partition = "b" }, false},
		"common nodes are down":  {func(s *elastic.Snapshot, _ *elastic.Job) { s.Nodes[0].Usable = false }, false},
		"it runs":                {func(_ *elastic.Snapshot, j *elastic.Job) { j.Phase = elastic.Running }, false},
		"it waits in Slurm":      {func(_ *elastic.Snapshot, j *elastic.Job) { j.Phase = elastic.Queued }, false},
		"its user holds it":      {func(_ *elastic.Snapshot, j *elastic.Job) { j.Directive.Hold = true }, false},
		"held in Slurm":          {func(_ *elastic.Snapshot, j *elastic.Job) { j.UserHold = true }, false},
		"pinned":                 {func(_ *elastic.Snapshot, j *elastic.Job) { j.Directive.Pin = 2 }, false},
		"a dependency":           {func(_ *elastic.Snapshot, j *elastic.Job) { j.Blocked.Code = elastic.Depends }, false},
		"it has run":             {func(_ *elastic.Snapshot, j *elastic.Job) { j.Begun = noon }, false},
		"a size was written":     {func(_ *elastic.Snapshot, j *elastic.Job) { j.Incarnation = 1 }, false},
		"Slurm refused it":       {func(_ *elastic.Snapshot, j *elastic.Job) { j.Refused.Start.Times = 1 }, false},
		"its last run lingers":   {func(_ *elastic.Snapshot, j *elastic.Job) { j.Lingers = true }, false},
		"it rests":               {func(_ *elastic.Snapshot, j *elastic.Job) { j.Rest = noon.Add(time.Minute) }, false},
		"a scavenger":            {func(_ *elastic.Snapshot, j *elastic.Job) { j.Scavenger = true }, false},
		"several types of GPU":   {func(_ *elastic.Snapshot, j *elastic.Job) { j.Spec.Types = []string{"a100", "h100"} }, false},
		"a node has unfit GPUs":  {func(s *elastic.Snapshot, _ *elastic.Job) { s.Nodes = append(s.Nodes, unfit("a")) }, false},
		"another's are unfit":    {func(s *elastic.Snapshot, _ *elastic.Job) { s.Nodes = append(s.Nodes, unfit("c")) }, true},
		"an edge pool":           {func(s *elastic.Snapshot, _ *elastic.Job) { s.Edges = map[string]bool{"a": true} }, false},
		"a task of %N":           {func(_ *elastic.Snapshot, j *elastic.Job) { j.Spec.Array = elastic.Array{Count: 9, Limit: 2} }, false},
		"a license":              {func(_ *elastic.Snapshot, j *elastic.Job) { j.Licenses = []string{"solver"} }, false},
		"admitted by a deadline": {func(_ *elastic.Snapshot, j *elastic.Job) { j.Spec.Deadline = noon.Add(time.Hour) }, false},
		"it has a move": {func(s *elastic.Snapshot, j *elastic.Job) {
			s.Intents = []elastic.Intent{{Job: j.ID, Kind: elastic.Start, Cause: reason.Released}}
		}, false},
	} {
		s := elastic.Snapshot{Now: noon, Nodes: []nodes.Node{
			{Name: "n1", GPUs: 4, Used: 4, Usable: true, Partitions: []string{"a", "b"}}, {Name: "n2", GPUs: 4, Used: 4, Usable: true, Partitions: []string{"b"}}}}
		s.Demands = []elastic.Demand{{ID: 9, Priority: 60, Partition: "a", Nodes: 1, GPUs: 4}}
		s.Jobs = []elastic.Job{{ID: 1, Phase: elastic.Waiting, Partition: "a", Priority: 80, Spec: elastic.Spec{Min: 4, Max: 4}}}
		if c.change(&s, &s.Jobs[0]); name == "other nodes" {
			s.Nodes[0].Partitions = []string{"a"}
		}
		p := plan.Reconcile(s, elastic.Allocation{}, plan.Arrangement{})
		if got := slices.Equal(p.Contend, []elastic.JobID{1}); got != c.contends || !got && len(p.Contend) > 0 {
			t.Errorf("%s: %v contend", name, p.Contend)
		}
		if c.contends && p.Reasons[0].Why != (reason.Contends{Job: 9}) {
			t.Errorf("%s: because %v", name, p.Reasons[0].Why)
		}
	}
}

// unfit returns a node on which sluice starts nothing.
func unfit(partition string) nodes.Node {
	return nodes.Node{Name: "n9", GPUs: 4, Partitions: []string{partition}, Why: nodes.Unusable{State: nodes.Unfit}}
}

// TestContendsOnlyIfItMust: a job that starts by itself does not contend, and few do at once.
func TestContendsOnlyIfItMust(t *testing.T) {
	s := elastic.Snapshot{Now: noon, Nodes: []nodes.Node{{Name: "n1", GPUs: 4, Usable: true}}, Demands: []elastic.Demand{{ID: 99, Priority: 1, Nodes: 1, GPUs: 1}}}
	where := plan.Arrangement{Target: map[elastic.JobID]nodes.Placement{1: {{Node: "n1", GPUs: 4}}}}
	for id := range elastic.JobID(40) {
		s.Jobs = append(s.Jobs, elastic.Job{ID: id + 1, Phase: elastic.Waiting, Priority: 80, Spec: elastic.Spec{Min: 4, Max: 4}})
	}
	p := plan.Reconcile(s, elastic.Allocation{}, where)
	if len(p.Open) != 1 || len(p.Contend) != 16 || slices.Contains(p.Contend, 1) {
		t.Errorf("%d start, %v contend", len(p.Open), p.Contend)
	}
}
