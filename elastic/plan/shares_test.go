package plan_test

import (
	"testing"

	"github.com/sluice-hpc/sluice/elastic"
	"github.com/sluice-hpc/sluice/elastic/plan"
	"github.com/sluice-hpc/sluice/nodes"
)

// TestAShareRefusesNothing: a decision may lend GPUs beyond a share, and Slurm knows nothing of it;
// so its move is opened, which one beyond a limit of Slurm's is not.
func TestAShareRefusesNothing(t *testing.T) {
	for _, reclaims := range []bool{true, false} {
		s := elastic.Snapshot{
			Nodes: []nodes.Node{{Name: "n1", GPUs: 4, Usable: true, Partitions: []string{"gpu"}}},
			Jobs:  []elastic.Job{{ID: 1, Partition: "gpu", Phase: elastic.Waiting, Spec: elastic.Spec{Min: 1, Max: 4}}},
			Caps:  []elastic.Cap{{Name: "share", Of: elastic.GPUs, Most: 1, Reclaims: reclaims, Jobs: map[elastic.JobID]bool{1: true}}},
		}
		target := nodes.Placement{{Node: "n1", GPUs: 4}}
		_, refuses := plan.Refuses(s, s.Jobs[0], target)
		opens := plan.Reconcile(s, elastic.Allocation{1: {GPUs: 4}}, plan.Arrangement{Target: map[elastic.JobID]nodes.Placement{1: target}}).Open
		if refuses == reclaims || (len(opens) == 1) != reclaims {
			t.Errorf("reclaims=%v: refused %v, opened %v", reclaims, refuses, opens)
		}
	}
}
