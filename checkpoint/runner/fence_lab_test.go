package runner_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint/confine"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/command"
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
	client, err := command.New(command.Config{Dir: filepath.Dir(l.Bin("squeue")), Conf: l.Conf(), Env: l.Env(), Now: time.Now})
	must(t, err)
	j := &slurmJob{live: c.live, lab: l, client: client}
	c.config.Fence, c.config.Grace = filepath.Join(c.base, confine.FenceFile), 5*time.Second
	data, err := json.Marshal(c.fence)
	must(t, err)
	must(t, os.WriteFile(c.config.Fence, data, 0o644))
	config, err := json.Marshal(c.config)
	must(t, err)
	batch := filepath.Join(c.base, "batch")
	writeProgram(t, batch, fmt.Sprintf("#!/bin/sh\nexport %s='%s' GORACE=atexit_sleep_ms=0\nexec %s %s/script\n", asRunner, config, c.program, c.dir))
	submit := exec.Command(l.Bin("sbatch"), "--parsable", "--requeue", "--open-mode=append", "--nodes=1", "--ntasks=1", "--gres=gpu:1", "--output="+c.out, batch)
	submit.Env, submit.Dir = append(os.Environ(), l.Env()...), "/"
	asOrdinary(submit)
	said, err := submit.CombinedOutput()
	if err != nil {
		t.Fatalf("sbatch: %v: %s", err, said)
	}
	id, err := strconv.ParseInt(strings.TrimSpace(string(said)), 10, 64)
	must(t, err)
	j.id = slurm.JobID(id)
	t.Cleanup(func() { client.Cancel(context.WithoutCancel(t.Context()), j.id); j.dump() })

	j.tells("run 0 ready")
	j.move(nodes.Placement{{Node: "gpu1", GPUs: 3}}, slurm.Update{GPUsPerNode: 3})
	j.tells("run 1 ready")
	for _, line := range []string{"run 0 from 0 on 1 with 4", "run 0 rank 0/1", "run 1 from 31415 on 3 with 4", "run 1 rank 2/3", "0"} {
		j.tells(line)
	}
	if strings.Contains(j.story(), "Slurm is inside") {
		t.Error(j.story())
	}
	must(t, client.Cancel(t.Context(), j.id))
	j.until("it is cancelled", func() bool { time.Sleep(100 * time.Millisecond); return j.show().State == slurm.Cancelled })
}
