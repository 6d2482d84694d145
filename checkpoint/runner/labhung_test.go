package runner_test

import (
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// breaks trains on two nodes until the other's processes are gone: then rank 0
// fails, as when a connection breaks.
const breaks = `
cat >$SLUICE_JOB_DIR/rank <<'END'
echo $$ >$SLUICE_JOB_DIR/pid.$RANK.$SLUICE_RESUME_NAME
say "run $SLUICE_RESTARTS rank $RANK/$WORLD_SIZE up"
if [ $RANK = 0 ]; then
  until [ -s $SLUICE_JOB_DIR/pid.$((WORLD_SIZE-1)).$SLUICE_RESUME_NAME ]; do sleep 0.05; done
  [ -n "$SLUICE_RESUME_NAME" ] || [ $WORLD_SIZE = 1 ] || { save 2 ""; say saved; }
  if [ $WORLD_SIZE = 1 ]; then await; save 1 "$request"; pause "$request"; fi
  while kill -0 $(cat $SLUICE_JOB_DIR/pid.$((WORLD_SIZE-1)).$SLUICE_RESUME_NAME) 2>/dev/null; do sleep 0.1; done
  exit 1
fi
while :; do sleep 0.1; done
END
export SLUICE_RESUME_NAME=${SLUICE_RESUME##*/}; [ "$SLUICE_RESUME_NAME" = 00000002 ] || SLUICE_RESUME_NAME=
rm -f $SLUICE_JOB_DIR/pid.*
say "start from ${SLUICE_RESUME##*/}"
export -f save requested await pause say
exec srun "$SLUICE" ranks -- bash $SLUICE_JOB_DIR/rank
`

// TestNodeCrashesUnseen: the daemons of a node die with all they run and are back at
// once. Slurm does not notice, and srun waits for ever; the runner says that the job
// is stranded, and requeued it trains on all of its GPUs from its newest checkpoint.
func TestNodeCrashesUnseen(t *testing.T) {
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 2, GPUs: 3})
	t.Setenv(lingerEnv, "1s")
	uneven := nodes.Placement{{Node: "gpu1", GPUs: 3}, {Node: "gpu2", GPUs: 1}}
	j := submitLive(t, l, breaks)
	j.tells("run 0 rank 0/1 up")
	j.move(uneven, slurm.Update{GPUsTotal: 4})
	j.tells("saved")
	j.crash("gpu2")
	j.until("it is stranded", func() bool { return j.word().Stranded })
	if job := j.show(); job.State != slurm.Running || job.Restarts != 1 {
		t.Errorf("Slurm has it %s, restart %d", job.State, job.Restarts)
	}
	if w := j.word(); !strings.Contains(w.Note, "node gpu2 has not ended") {
		t.Errorf("note %q", w.Note)
	}
	j.place(uneven, slurm.Update{GPUsTotal: 4}, "00000002")
	j.tells("start from 00000002")
	j.tells("run 2 rank 3/4 up")
	j.ends()
}

// TestStrandedAlone: a stranded job is not requeued. It starts again in the same run,
// beside the step that Slurm counts as running.
func TestStrandedAlone(t *testing.T) {
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 2, GPUs: 2})
	t.Setenv(lingerEnv, "1s")
	t.Setenv(patienceEnv, "500ms")
	j := submitLive(t, l, breaks)
	j.tells("run 0 rank 0/1 up")
	j.move(nodes.Placement{{Node: "gpu1", GPUs: 2}, {Node: "gpu2", GPUs: 2}}, slurm.Update{GPUsPerNode: 2})
	j.tells("saved")
	j.crash("gpu2")
	j.tells("start from 00000002")
	j.until("all ranks are up again", func() bool { return strings.Count(j.story(), "run 1 rank 3/4 up") == 2 })
	if w := j.reach(checkpoint.Training); w.Stranded || w.Resumed != "00000002" {
		t.Errorf("word %+v", w)
	}
	j.ends()
}

// ends cancels the job, which leaves nothing.
func (j *slurmJob) ends() {
	j.Helper()
	must(j, j.client.Cancel(j.Context(), j.id))
	j.until("it is over", func() bool {
		time.Sleep(100 * time.Millisecond)
		job := j.show()
		return job.State.Ended() && !job.Completing
	})
	if l := left(nil, j.dir); len(l) > 0 {
		j.Errorf("left: %q", l)
	}
}

// crash ends a node's daemons with all they run; they are back in a moment.
func (j *slurmJob) crash(node string) {
	j.Helper()
	must(j, j.lab.CrashNode(j.Context(), node))
	must(j, j.lab.StartSlurmd(j.Context(), node))
}
