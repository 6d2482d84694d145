package resize_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/resize"
	"github.com/sluice-hpc/sluice/nodes"
)

// A limit that changes while a job is between two sizes: while it runs it keeps its size, and
// once it is stopped it is placed anew; it is never released to where Slurm would leave it
// pending.
func TestLimitsThatChangeDuringAMove(t *testing.T) {
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	two, four := nodes.Placement{{Node: "n1", GPUs: 2}}, nodes.Placement{{Node: "n1", GPUs: 4}}
	for _, tc := range []struct {
		name  string
		step  elastic.Step
		phase elastic.Phase
		most  int // GPUs that the limit allows, including one other job that has 1
		want  string
	}{
		{"nothing asked yet", elastic.Intended, elastic.Running, 4, "no longer allows"},
		{"asked to save", elastic.Asked, elastic.Running, 4, "keeps the one it has"},
		{"stopped", elastic.Requeued, elastic.Waiting, 4, "placed afresh"},
		{"allowed all the time", elastic.Requeued, elastic.Waiting, 5, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			j := elastic.Job{ID: 1, Phase: tc.phase, Place: two, Spec: elastic.Spec{Min: 1}}
			if tc.phase == elastic.Waiting {
				j.Place = nil
			}
			in := elastic.Intent{Job: 1, Kind: elastic.Resize, Step: tc.step, To: 2, From: two, Target: four, Request: "r", Opened: at, Moved: at, AskedAt: at}
			s := elastic.Snapshot{Now: at, Limits: elastic.Limits{Grace: time.Minute, Confirm: time.Minute}, Jobs: []elastic.Job{j}, Intents: []elastic.Intent{in},
				Nodes: []nodes.Node{{Name: "n1", GPUs: 4, Used: j.GPUs(), Usable: true}},
				Caps:  []elastic.Cap{{Name: "GrpTRES", Of: elastic.GPUs, Most: tc.most, Others: 1, Jobs: map[elastic.JobID]bool{1: true}}}}
			next := resize.Advance(in, j, s)
			if said := sentence(next.Why); (tc.want == "") == strings.Contains(said, "limit") || !strings.Contains(said, tc.want) {
				t.Errorf("%q, want %q", said, tc.want)
			}
		})
	}
}
