package runner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// TestFenceOnSlurm resizes a confined job of an ordinary user on a real Slurm: it saves, is
// requeued and resumes on more GPUs, and nothing of Slurm is inside.
func TestFenceOnSlurm(t *testing.T) {
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 1, GPUs: 4})
	c := newCaged(t, `n=$(basename "${SLUICE_RESUME:-0}"); n=$((10#$n))
say "run $SLUICE_RESTARTS from $n on $SLUICE_GPUS with $(ls /proc/self/fd | wc -w)"
srun "$SLUICE" ranks -- bash -c 'echo "run $SLUICE_RESTARTS rank $RANK/$WORLD_SIZE" >>"$SLUICE_JOB_DIR/story"'
env | grep -c "^SLURM_CONF\|^MUNGE\|^SLURM_JWT" >>"$SLUICE_JOB_DIR/story"; squeue && say "Slurm is inside"
say "run $SLUICE_RESTARTS ready"
await; save $((n+31415)) "$request"; pause "$request"
`, nil)
	c.config.Grace = 5 * time.Second
	j := cagedOnSlurm(t, l, c, "--nodes=1", "--ntasks=1", "--gres=gpu:1")

	j.tells("run 0 ready")
	j.move(nodes.Placement{{Node: "gpu1", GPUs: 3}}, slurm.Update{GPUsPerNode: 3})
	j.tells("run 1 ready")
	for _, line := range []string{"run 0 from 0 on 1 with 4", "run 0 rank 0/1", "run 1 from 31415 on 3 with 4", "run 1 rank 2/3", "0"} {
		j.tells(line)
	}
	if strings.Contains(j.story(), "Slurm is inside") {
		t.Error(j.story())
	}
	must(t, j.client.Cancel(t.Context(), j.id))
	j.ended(slurm.Cancelled)
}
