package control

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/engine/publish"
	"github.com/sluice-hpc/sluice/elastic/learn/speed"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestSpeedsAreOfTheTypeItRunsOn: in a partition with several GPU types, the throughput on the
// type that the job runs on counts, whichever type is listed first.
func TestSpeedsAreOfTheTypeItRunsOn(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	sample := func(kind string, gpus int, seconds float64) speed.Sample {
		return speed.Sample{Shape: speed.Shape{GPUs: gpus, Nodes: 1}, Kind: kind, Seconds: seconds, Units: 1, At: at}
	}
	c := speed.Fit([]speed.Sample{sample("t4", 1, 300), sample("t4", 2, 150), sample("a100", 1, 100), sample("a100", 2, 50)}, at)
	r := &publish.Report{Nodes: []nodes.Node{
		{Name: "n1", Partitions: []string{"gpu"}, Type: "t4", GPUs: 2, Usable: true},
		{Name: "n2", Partitions: []string{"gpu"}, Type: "a100", GPUs: 2, Used: 2, Usable: true},
	}}
	jr := publish.JobReport{Use: publish.Use{Kind: "a100"}}
	jr.Record.ID, jr.Record.Partition = 7, "gpu"
	jr.Record.Tag.Spec = elastic.Spec{Min: 1, Max: 2, Total: 10}
	jr.Job = &elastic.Job{ID: 7, Spec: jr.Record.Tag.Spec, Phase: elastic.Running, Curve: c.On("t4"),
		Place: nodes.Placement{{Node: "n2", GPUs: 2}}, Price: elastic.Price{Save: 10 * time.Second, Start: 2 * time.Second}}
	e := viewExplanation(r, jr)
	if e.Type != "a100" || e.Job.Seconds != 50 || len(e.Sizes) != 2 || e.Sizes[0].Seconds != 100 || e.Sizes[1].Seconds != 50 {
		t.Errorf("on %q: now %v s, sizes %+v", e.Type, e.Job.Seconds, e.Sizes)
	}
	if s := e.Sizes[0]; s.Dead != 12 || s.Left != 1012 {
		t.Errorf("the resize takes %v s, it ends after %v s", s.Dead, s.Left)
	}
	if s := e.Sizes[1]; s.Dead != 0 || s.Left != 500 {
		t.Errorf("where it is: %+v", s)
	}
}
