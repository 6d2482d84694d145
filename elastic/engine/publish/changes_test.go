package publish

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// reported is a report of one node and a job of ann's.
func reported(change func(*JobReport)) *Report {
	jr := JobReport{Record: journal.JobRecord{Token: "t", Identity: journal.Identity{ID: 7, Owner: elastic.Owner{User: "ann", UID: 1001}, SlurmUID: 1001}}, Job: &elastic.Job{Phase: elastic.Waiting}}
	jr.Why = reason.Waits{GPUs: 1}
	if change != nil {
		change(&jr)
	}
	return &Report{At: noon, Policy: "lookahead", Nodes: []nodes.Node{{Name: "gpu1", GPUs: 4, Usable: true}}, Jobs: []JobReport{jr}}
}

func run(at string, restarts int) func(*JobReport) {
	return func(jr *JobReport) {
		jr.Job = &elastic.Job{Phase: elastic.Running, Place: nodes.Placement{{Node: at, GPUs: 2}}, Restarts: restarts}
		jr.Target, jr.Why = jr.Job.Place, reason.DeadlinesFirst
	}
}

// What is new is told once: a job, a run, another reason or target. A reason with other numbers is not new,
// and neither is anything in the first report after a start.
func TestChanges(t *testing.T) {
	var c Changes
	kinds := func(r *Report) (out []string) {
		list, _ := c.Note(r)
		for _, ch := range list {
			if ch.Job.ID != 7 || ch.Job.Owner.UID != 1001 || ch.Token != "t" {
				t.Errorf("%+v", ch)
			}
			out = append(out, fmt.Sprintf("%s %s", ch.Kind, ch.Target))
		}
		return out
	}
	empty := &Report{At: noon, Policy: "lookahead"}
	for i, step := range []struct {
		r    *Report
		want []string
	}{
		{empty, nil},
		{reported(nil), []string{"submitted -", "decision -"}},
		{reported(nil), nil},
		{reported(func(jr *JobReport) { jr.Why = reason.Waits{GPUs: 3} }), nil},
		{reported(func(jr *JobReport) { jr.Why = reason.HeldAside }), []string{"decision -"}},
		{reported(run("gpu1", 0)), []string{"started gpu1:2", "decision gpu1:2"}},
		{reported(run("gpu1", 0)), nil},
		{reported(run("gpu2", 1)), []string{"started gpu2:2", "decision gpu2:2"}},
		{reported(func(jr *JobReport) { jr.Ended, jr.Why = true, nil }), nil},
		{empty, nil},
		{reported(nil), []string{"submitted -", "decision -"}},
	} {
		if got := kinds(step.r); !slices.Equal(got, step.want) {
			t.Errorf("step %d: %q, want %q", i, got, step.want)
		}
	}
	var late Changes // after a start of the daemon
	if list, _ := late.Note(reported(run("gpu1", 0))); len(list) != 0 {
		t.Errorf("the first report: %+v", list)
	}
}

// The fingerprint stays while nothing that pages show changes, times and progress apart, and is another one
// with each change.
func TestPrint(t *testing.T) {
	print := func(r *Report) uint64 {
		var c Changes
		_, p := c.Note(r)
		return p
	}
	same := print(reported(nil))
	later := reported(func(jr *JobReport) { jr.Record.Done, jr.Why = 12, reason.Waits{GPUs: 2} })
	later.At = noon.AddDate(0, 0, 1)
	if print(later) != same {
		t.Error("another time and more progress make another fingerprint")
	}
	seen := map[uint64]string{same: "as it was"}
	for name, change := range map[string]func(*JobReport){
		"runs":     run("gpu1", 0),
		"restarts": run("gpu1", 1),
		"held":     func(jr *JobReport) { jr.Record.Tag.Directive.Hold = true },
		"pinned":   func(jr *JobReport) { jr.Record.Tag.Directive.Pin = 2 },
		"deadline": func(jr *JobReport) { jr.Record.Tag.Spec.Deadline = noon },
		"promised": func(jr *JobReport) { jr.Promised = true },
		"ended":    func(jr *JobReport) { jr.Ended = true },
		"moves":    func(jr *JobReport) { jr.Intent = &elastic.Intent{Kind: elastic.Resize, Step: elastic.Asked} },
		"step":     func(jr *JobReport) { jr.Intent = &elastic.Intent{Kind: elastic.Resize, Step: elastic.Verified} },
	} {
		p := print(reported(change))
		if was, known := seen[p]; known {
			t.Errorf("%s has the fingerprint of %s", name, was)
		}
		seen[p] = name
	}
	used := reported(nil)
	used.Nodes[0].Used = 3
	blind := reported(nil)
	blind.Blind = "squeue: timed out"
	for name, r := range map[string]*Report{"GPUs in use": used, "blind": blind} {
		if _, known := seen[print(r)]; known {
			t.Errorf("%s: the same fingerprint", name)
		}
	}
}

// A cluster for the history: GPUs by whom, and why a node is not usable.
func TestClusterOf(t *testing.T) {
	r := reported(run("gpu1", 0))
	r.Nodes[0].Used = 3
	r.Nodes = append(r.Nodes, nodes.Node{Name: "gpu2", GPUs: 4, Why: nodes.Unusable{State: "DRAIN"}}, nodes.Node{Name: "gpu3", GPUs: 4})
	r.Jobs = append(r.Jobs, reported(nil).Jobs[0], reported(func(jr *JobReport) { jr.Ended = true }).Jobs[0])
	c := ClusterOf(r)
	if c.Running != 1 || c.Waiting != 1 || c.Nodes[0].Elastic != 2 || c.Nodes[0].Used != 3 || c.Nodes[0].Free != 1 || c.Nodes[0].State != "" || c.Nodes[1].State != "DRAIN" || c.Nodes[2].State == "" {
		t.Errorf("%+v", c)
	}
	if _, divided := DivisionOf(r); divided {
		t.Error("there are no shares")
	}
}
