package plan_test

import (
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/elastic/reason"
	"github.com/sluice-hpc/sluice/nodes"
)

// What a job may have after refusals, and Reconcile's reason for it.
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
		{"nothing was refused", elastic.Waiting, elastic.Job{}, 0, on("gpu2", 4), -1, true, "grows"},
		{"it waits", elastic.Waiting, elastic.Job{Refused: elastic.Refused{Start: once(on("gpu1", 2))}}, 14 * time.Second, on("gpu2", 1), 0, false,
			"Slurm does not start it: gpu1:2 was refused at 12:00:00 (BadConstraints); next try at 12:00:15, or now with sluice release 7; scontrol show job 7 tells what it asks for"},
		{"it waits for the second time", elastic.Waiting, elastic.Job{Refused: elastic.Refused{Start: twice}}, 49 * time.Second, nil, 0, false,
			"Slurm does not start it: gpu2:1 was refused at 12:00:20 (BadConstraints), for the 2nd time since 12:00:00; next try at 12:00:50, or now with sluice release 7; scontrol show job 7 tells what it asks for"},
		{"it is due", elastic.Waiting, elastic.Job{Refused: elastic.Refused{Start: once(on("gpu1", 2))}}, 15 * time.Second, on("gpu2", 1), 1, true, "grows"},
		{"a pin is its smallest size", elastic.Waiting, elastic.Job{Directive: elastic.Directive{Pin: 3}, Refused: elastic.Refused{Start: once(on("gpu1", 3))}}, 15 * time.Second, on("gpu2", 3), 3, true, "grows"},
		{"it could not be tried so", elastic.Waiting, elastic.Job{Refused: elastic.Refused{Start: once(on("gpu1", 2))}}, 10*time.Minute + 15*time.Second, on("gpu2", 4), -1, true, "grows"},
		{"a resize was refused", elastic.Running, elastic.Job{Place: on("gpu1", 2), Refused: elastic.Refused{Resize: once(on("gpu2", 3)), From: on("gpu1", 2)}}, 9 * time.Minute, on("gpu2", 2), 2, false,
			"would move, but gpu2:3 was refused at 12:00:00 (BadConstraints); next try at 12:10:00, or now with sluice release 7"},
		{"it gives back all the same", elastic.Running, elastic.Job{Place: on("gpu1", 2), Refused: elastic.Refused{Resize: once(on("gpu2", 3)), From: on("gpu1", 2)}}, 9 * time.Minute, on("gpu1", 1), 2, true, "grows"},
		{"a resize was refused long ago", elastic.Running, elastic.Job{Place: on("gpu1", 2), Refused: elastic.Refused{Resize: once(on("gpu2", 3)), From: on("gpu1", 2)}}, 10 * time.Minute, on("gpu2", 3), -1, true, "grows"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j := elastic.Job{ID: 7, Spec: elastic.Spec{Min: 1}}
			snap := elastic.Snapshot{Nodes: []nodes.Node{{Name: "gpu1", GPUs: 4, Used: 2, Usable: true}, {Name: "gpu2", GPUs: 4, Usable: true}}}
			j.Phase, j.Place, j.Refused, j.Directive, j.Speaks = tc.phase, tc.job.Place, tc.job.Refused, tc.job.Directive, true
			snap.Now, snap.Jobs = noon.Add(tc.after), []elastic.Job{j}
			most := -1
			if c, ok := j.RefusedCap(snap.Now); ok {
				snap.Caps = append(snap.Caps, c)
				for most = 4; most > 0; most-- {
					if _, refuses := plan.Refuses(snap, j, on("gpu2", most)); !refuses {
						break
					}
				}
			}
			if most != tc.most {
				t.Errorf("it may have %d, want %d", most, tc.most)
			}
			snap.Caps = nil
			a := elastic.Allocation{7: {GPUs: tc.to.GPUs(), Why: reason.Text{Text: "grows"}}}
			p := plan.Reconcile(snap, a, plan.Arrangement{Target: map[elastic.JobID]nodes.Placement{7: tc.to}})
			if got := sentence(p.Reasons[0].Why); got != tc.why || (len(p.Open) > 0) != tc.opens {
				t.Errorf("opens %d moves, says %q", len(p.Open), got)
			}
		})
	}
}
