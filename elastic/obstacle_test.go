package elastic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// The message about a job that Slurm does not start: the reason, its meaning, when it is tried
// again, and what to type.
func TestObstacleWords(t *testing.T) {
	j := elastic.Job{ID: 7, Phase: elastic.Waiting, Blocked: elastic.Blocked{Code: elastic.Obstructed, On: "Licenses", Since: noon, Until: noon.Add(30 * time.Second), Times: 1}}
	want := "waiting: Slurm did not start it at 12:00:00 (Licenses): licenses that it asks for are in use; next try at 12:00:30 at the latest, or now with sluice release 7; see scontrol show licenses"
	if got := sentence(j.WaitsOutside()); got != want {
		t.Errorf("%s", got)
	}
	j.Blocked = elastic.Blocked{Code: elastic.Obstructed, On: "InvalidQOS", Since: noon, Times: 3}
	if got := sentence(j.WaitsOutside()); !strings.Contains(got, "for the 3rd time (InvalidQOS)") || !strings.Contains(got, "scontrol update JobId=7 QOS=QOS") {
		t.Errorf("%s", got)
	}
}

// Each refusal in a row doubles the wait, up to 10 minutes where GPUs are idle.
func TestObstacleAgain(t *testing.T) {
	var r elastic.Refused
	r.Idle = true
	if !r.ObstacleAgain().IsZero() {
		t.Error("a job that was not refused waits")
	}
	for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		r.Obstacle = r.Obstacle.AndNoNodes(nil, reason.SlurmSaid{Text: "Licenses"}, noon)
		if got := r.ObstacleAgain().Sub(noon); got != want {
			t.Errorf("after %d: %s, want %s", r.Obstacle.Times, got, want)
		}
	}
}
