package publish

import (
	"slices"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/journal"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestETA: a running job with a total and a known speed ends when its work is done at its present size;
// never in the past, however much work it declares.
func TestETA(t *testing.T) {
	place := nodes.Placement{{Node: "g1", GPUs: 2}}
	curve := speed.Fit([]speed.Sample{{Shape: speed.Shape{GPUs: 2, Nodes: 1}, Seconds: 10, Units: 1, At: noon}}, noon)
	for _, c := range []struct {
		name   string
		change func(*elastic.Job)
		want   time.Time
	}{
		{"7 units are left", func(*elastic.Job) {}, noon.Add(70 * time.Second)},
		{"it has done all", func(j *elastic.Job) { j.Done = 10 }, time.Time{}},
		{"it declared none", func(j *elastic.Job) { j.Spec.Total = 0 }, time.Time{}},
		{"it waits", func(j *elastic.Job) { j.Phase = elastic.Waiting }, time.Time{}},
		{"its speed is not known", func(j *elastic.Job) { j.Curve = nil }, time.Time{}},
		{"its user's jobs take twice what they declare", func(j *elastic.Job) { j.Stretch.Factor = 2 }, noon.Add(170 * time.Second)},
		{"it declared more than a Duration can hold", func(j *elastic.Job) { j.Spec.Total = 1e15 }, noon.Add(100 * 365 * 24 * time.Hour)},
	} {
		j := elastic.Job{Phase: elastic.Running, Place: place, Curve: curve, Done: 3, Spec: elastic.Spec{Total: 10}}
		c.change(&j)
		if got := ETA(&j, "", noon); got.Sub(c.want).Abs() > time.Millisecond {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestReportOf: a report has what the state and the plan have of the job, with its problems in a fixed
// order, and replaces all that was in its memory before.
func TestReportOf(t *testing.T) {
	b, js := board()
	words := &checkpoint.LastWords{Why: "no space left"}
	target := nodes.Placement{{Node: "g1", GPUs: 4}}
	js.Tells.Problem["runner"], js.Tells.Problem["folder"] = "it cannot be read", "it hangs"
	js.Tells.Said = elastic.JobReason{Job: 7, Why: reason.StartedBySlurm, Promised: true, Ends: noon, Due: elastic.DuePromised}
	js.Runs.Seg = &journal.Segment{Restarts: 3}
	js.Rec.Ending.Words = words
	b.Open = []elastic.Intent{{ID: 1, Job: 8, Target: target}, {ID: 2, Job: 7, Target: target}}
	jr := JobReport{ETA: noon, Problems: []string{"old"}, Use: Use{Kind: "old"}}
	b.ReportOf(&jr, js, elastic.Plan{Target: map[elastic.JobID]nodes.Placement{7: {{Node: "g2", GPUs: 1}}}})
	if !jr.ETA.IsZero() || jr.Kind != "" || !slices.Equal(jr.Problems, []string{"it hangs", "it cannot be read"}) || jr.Run.Restarts != 3 || jr.LastWords != words {
		t.Errorf("%+v", jr)
	}
	if jr.Intent == nil || jr.Intent.ID != 2 || !jr.Target.Equal(target) || jr.Why != reason.StartedBySlurm || !jr.Promised || !jr.Ends.Equal(noon) || jr.Due != elastic.DuePromised {
		t.Errorf("of the decision: %+v, its move %+v", jr.Decided, jr.Intent)
	}
	jr.Intent.Step = elastic.Released
	if b.Open[1].Step == elastic.Released {
		t.Error("the report shares its move with the state")
	}
	b.Open, js.Over.Words = nil, &checkpoint.LastWords{Why: "newer"}
	b.ReportOf(&jr, js, elastic.Plan{Target: map[elastic.JobID]nodes.Placement{7: {{Node: "g2", GPUs: 1}}}})
	if jr.Intent != nil || jr.Target.String() != "g2:1" || jr.LastWords.Why != "newer" {
		t.Errorf("without a move: %+v", jr)
	}
}

// TestPromisesAreShownUntilJudged: an admitted job that this cycle did not judge stays admitted in the
// report until its deadline.
func TestPromisesAreShownUntilJudged(t *testing.T) {
	for _, c := range []struct {
		name     string
		promised bool
		deadline time.Time
		due      elastic.Due
		want     elastic.Due
	}{
		{"admitted earlier", true, noon.Add(1), elastic.DueUnjudged, elastic.DuePromised},
		{"its deadline is now", true, noon, elastic.DueUnjudged, elastic.DueUnjudged},
		{"judged now", true, noon.Add(time.Hour), elastic.DueUnmet, elastic.DueUnmet},
		{"never admitted", false, noon.Add(time.Hour), elastic.DueUnjudged, elastic.DueUnjudged},
	} {
		b, js := board()
		js.Rec.Promised, js.Rec.Tag.Spec.Deadline, js.Tells.Said.Due = c.promised, c.deadline, c.due
		b.Publish(elastic.Snapshot{Now: noon, Jobs: []elastic.Job{{ID: 7}}}, elastic.Plan{}, noon)
		if jr := b.Last().Jobs[0]; jr.Due != c.want || jr.Promised != (c.want == elastic.DuePromised) {
			t.Errorf("%s: %v, admitted %v", c.name, jr.Due, jr.Promised)
		}
	}
}
