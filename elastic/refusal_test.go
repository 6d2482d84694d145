package elastic_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// Each refusal in a row doubles the wait, up to a most that stays.
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

// Nodes are shunned until all were tried, and then from the beginning; for ten minutes at
// most once the job is due.
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

// What a job may have after refusals, and what Reconcile says of it.
func TestAfterRefusals(t *testing.T) {
	once := func(at nodes.Placement) elastic.Refusals {
		return elastic.Refusals{}.And(at, reason.SlurmSaid{Text: "BadConstraints"}, noon)
	}
	twice := once(on("gpu1", 2)).And(on("gpu2", 1), reason.SlurmSaid{Text: "BadConstraints"}, noon.Add(20*time.Second))
	for _, tc := range []struct {
		name  string
		phase elastic.Phase
		job   elastic.Job
		after time.Duration
		to    nodes.Placement
		most  int // GPUs it may have; -1 = any number
		opens bool
		why   string
	}{
		{"nothing was refused", elastic.Held, elastic.Job{}, 0, on("gpu2", 4), -1, true, "grows"},
		{"it waits", elastic.Held, elastic.Job{Refused: elastic.Refused{Start: once(on("gpu1", 2))}}, 14 * time.Second, on("gpu2", 1), 0, false,
			"Slurm does not start it: gpu1:2 was refused at 12:00:00 (BadConstraints); next try at 12:00:15, or now with sluice release 7; scontrol show job 7 tells what it asks for"},
		{"it waits for the second time", elastic.Held, elastic.Job{Refused: elastic.Refused{Start: twice}}, 49 * time.Second, nil, 0, false,
			"Slurm does not start it: gpu2:1 was refused at 12:00:20 (BadConstraints), for the 2nd time since 12:00:00; next try at 12:00:50, or now with sluice release 7; scontrol show job 7 tells what it asks for"},
		{"it is due", elastic.Held, elastic.Job{Refused: elastic.Refused{Start: once(on("gpu1", 2))}}, 15 * time.Second, on("gpu2", 1), 1, true, "grows"},
		{"a pin is its smallest size", elastic.Held, elastic.Job{Directive: elastic.Directive{Pin: 3}, Refused: elastic.Refused{Start: once(on("gpu1", 3))}}, 15 * time.Second, on("gpu2", 3), 3, true, "grows"},
		{"it could not be tried so", elastic.Held, elastic.Job{Refused: elastic.Refused{Start: once(on("gpu1", 2))}}, 10*time.Minute + 15*time.Second, on("gpu2", 4), -1, true, "grows"},
		{"a resize was refused", elastic.Running, elastic.Job{Place: on("gpu1", 2), Refused: elastic.Refused{Resize: once(on("gpu2", 3)), From: on("gpu1", 2)}}, 9 * time.Minute, on("gpu2", 2), 2, false,
			"would move, but gpu2:3 was refused at 12:00:00 (BadConstraints); next try at 12:10:00, or now with sluice release 7"},
		{"it gives back all the same", elastic.Running, elastic.Job{Place: on("gpu1", 2), Refused: elastic.Refused{Resize: once(on("gpu2", 3)), From: on("gpu1", 2)}}, 9 * time.Minute, on("gpu1", 1), 2, true, "grows"},
		{"a resize was refused long ago", elastic.Running, elastic.Job{Place: on("gpu1", 2), Refused: elastic.Refused{Resize: once(on("gpu2", 3)), From: on("gpu1", 2)}}, 10 * time.Minute, on("gpu2", 3), -1, true, "grows"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, j, snap := scene(elastic.Start, elastic.Requeued)
			j.Phase, j.Place, j.Refused, j.Directive, j.Speaks = tc.phase, tc.job.Place, tc.job.Refused, tc.job.Directive, true
			snap.Now, snap.Jobs = noon.Add(tc.after), []elastic.Job{j}
			most := -1
			if c, ok := j.RefusedCap(snap.Now); ok {
				snap.Caps = append(snap.Caps, c)
				for most = 4; most > 0; most-- {
					if _, refuses := snap.Refuses(j, on("gpu2", most)); !refuses {
						break
					}
				}
			}
			if most != tc.most {
				t.Errorf("it may have %d, want %d", most, tc.most)
			}
			snap.Caps = nil
			a := elastic.Allocation{7: {GPUs: tc.to.GPUs(), Why: reason.Text{Text: "grows"}}}
			plan := elastic.Reconcile(snap, a, elastic.Arrangement{Target: map[elastic.JobID]nodes.Placement{7: tc.to}})
			if got := sentence(plan.Reasons[0].Why); got != tc.why || (len(plan.Open) > 0) != tc.opens {
				t.Errorf("opens %d moves, says %q", len(plan.Open), got)
			}
		})
	}
}
