package elastic_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
)

// Each refusal in a row doubles the wait, up to a maximum.
func TestRefusalsWaitLonger(t *testing.T) {
	var r elastic.Refused
	if !r.StartAgain().IsZero() || !r.ResizeAgain().IsZero() {
		t.Fatal("nothing was refused yet")
	}
	var start, busy, resize []string
	for range 40 {
		r.Start, r.Resize = r.Start.And(on("gpu1", 2), reason.SlurmSaid{Text: "BadConstraints"}, noon), r.Resize.And(on("gpu1", 2), reason.SlurmSaid{Text: "BadConstraints"}, noon)
		busy, resize = append(busy, r.StartAgain().Sub(noon).String()), append(resize, r.ResizeAgain().Sub(noon).String())
		r.Idle = true
		start = append(start, r.StartAgain().Sub(noon).String())
		r.Idle = false
	}
	if got := strings.Join(busy[4:11], " "); got != "4m0s 8m0s 16m0s 32m0s 1h4m0s 2h0m0s 2h0m0s" || busy[39] != "2h0m0s" {
		t.Errorf("starts for which others are stopped: %s ... %s", got, busy[39])
	}
	if got := strings.Join(start[:8], " "); got != "15s 30s 1m0s 2m0s 4m0s 8m0s 10m0s 10m0s" || start[39] != "10m0s" {
		t.Errorf("starts: %s ... %s", got, start[39])
	}
	if got := strings.Join(resize[:6], " "); got != "10m0s 20m0s 40m0s 1h20m0s 2h0m0s 2h0m0s" || resize[39] != "2h0m0s" {
		t.Errorf("resizes: %s ... %s", got, resize[39])
	}
}

// Nodes are avoided until all were tried, and then from the beginning; for at most ten minutes
// once the job is due.
func TestRefusedNodesAreShunned(t *testing.T) {
	var r elastic.Refused
	for _, step := range []struct{ at, want string }{{"gpu1", "[gpu1]"}, {"gpu2", "[gpu1 gpu2]"}, {"gpu1", "[gpu1]"}, {"gpu3", "[gpu1 gpu3]"}} {
		r.Start = r.Start.And(on(step.at, 1), reason.SlurmSaid{Text: "BadConstraints"}, noon)
		if got := fmt.Sprint(r.Shuns(noon)); got != step.want {
			t.Errorf("after %s: %s, want %s", step.at, got, step.want)
		}
	}
	if due := r.StartAgain(); len(r.Shuns(due.Add(10*time.Minute-1))) == 0 || len(r.Shuns(due.Add(10*time.Minute))) != 0 {
		t.Error("they are not shunned for ten minutes")
	}
}
