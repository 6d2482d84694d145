package runner_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// clings leaves behind, of every rank on every node, a daemon that ignores what it
// can, holds the rank's GPU and is in nobody's session; then it trains.
const clings = `
export SLUICE_GPU_FILES=%[1]s/dev/%%n-%%d
cat >$SLUICE_JOB_DIR/rank <<'END'
gpus=(${SLURM_STEP_GPUS//,/ }); [ ${#gpus[@]} = 0 ] && gpus=(${SLURM_JOB_GPUS//,/ })
exec 7<>%[1]s/dev/$SLURMD_NODENAME-${gpus[$LOCAL_RANK]}
(setsid bash -c 'trap "" TERM HUP INT USR1; echo "$$" >>$SLUICE_JOB_DIR/pids; while :; do sleep 0.01; done' &)
(setsid bash -c '(setsid bash -c "kill -STOP \$\$; sleep 1000" &)' &)
echo "$$" >>$SLUICE_JOB_DIR/pids
if [ $RANK = 0 ]; then %[2]s
fi
while :; do sleep 0.05; done
END
n=$(basename "${SLUICE_RESUME:-0}"); n=$((10#$n)); export n
export -f save requested await pause say
rm -f $SLUICE_JOB_DIR/pids
exec srun "$SLUICE" ranks -- bash $SLUICE_JOB_DIR/rank
`

// left returns the job's processes that still run, whatever they have become.
func left(pids []string, dir string) (out []string) {
	for _, pid := range pids {
		if stat := slurp("/proc/" + pid + "/stat"); stat != "" && !strings.Contains(stat, ") Z ") {
			out = append(out, pid)
		}
	}
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range environs {
		if strings.Contains(slurp(p), "SLUICE_JOB_DIR="+dir+"\x00") {
			cmd := strings.ReplaceAll(slurp(filepath.Join(filepath.Dir(p), "cmdline")), "\x00", " ")
			out = append(out, filepath.Base(filepath.Dir(p))+" "+cmd)
		}
	}
	return out
}

func (j *slurmJob) pids(n int) []string {
	j.Helper()
	var all []string
	j.until(fmt.Sprintf("%d processes are up", n), func() bool { all = strings.Fields(slurp(filepath.Join(j.dir, "pids"))); return len(all) >= n })
	return all
}

// TestNothingStaysOnSlurm: whichever way a job on two nodes leaves its nodes,
// nothing of it stays on any and nothing holds a GPU there, though every rank has
// left daemons behind and Slurm here tracks processes by their parents only.
func TestNothingStaysOnSlurm(t *testing.T) {
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 2, GPUs: 2})
	dir := filepath.Dir(filepath.Dir(l.Conf()))
	const trains = `await; save $((n+1)) "$request"; pause "$request"`
	over := func(job slurm.Job) bool { return job.State.Ended() && !job.Completing }
	t.Run("moved, then cancelled", func(t *testing.T) {
		j := submitLive(t, l, fmt.Sprintf(clings, dir, trains))
		both := nodes.Placement{{Node: "gpu1", GPUs: 2}, {Node: "gpu2", GPUs: 2}}
		first := j.pids(2)
		j.move(both, slurm.Update{GPUsPerNode: 2})
		if l := left(first, "none"); len(l) > 0 {
			t.Errorf("left after the move: %q", l)
		}
		all := j.pids(8)
		j.save()
		before := time.Now()
		j.becomes("cancelled", j.client.Cancel, over)
		t.Logf("gone %v after the cancel", time.Since(before))
		if l := left(all, j.dir); len(l) > 0 {
			t.Errorf("left: %q", l)
		}
		if said := slurp(j.out); strings.Contains(said, "still held") || strings.Contains(said, "cannot be ended") {
			t.Error("something held out")
		}
	})
	t.Run("runner killed", func(t *testing.T) {
		j := submitLive(t, l, fmt.Sprintf(clings, dir, trains))
		j.reach(checkpoint.Training)
		all := j.pids(2)
		must(t, syscall.Kill(j.word().PID, syscall.SIGKILL))
		j.until("Slurm has it ended", func() bool { time.Sleep(100 * time.Millisecond); return over(j.show()) })
		j.until("nothing is left", func() bool { return len(left(all, j.dir)) == 0 })
	})
	t.Run("rank killed", func(t *testing.T) {
		j := submitLive(t, l, fmt.Sprintf(clings, dir, "echo 'Traceback (most recent call last):' >&2; echo 'E: no' >&2; kill -9 $$"))
		j.until("Slurm has it failed", func() bool { time.Sleep(100 * time.Millisecond); return over(j.show()) })
		if l := left(nil, j.dir); len(l) > 0 {
			t.Errorf("left: %q", l)
		}
		d, err := j.client.Job(t.Context(), j.id)
		must(t, err)
		w := j.word()
		if w.LastWords == nil || !strings.Contains(w.LastWords.Why, "rank 0 on node gpu1 failed first (signal KILL)") ||
			!strings.Contains(w.LastWords.Why, "E: no") || !slices.Contains(w.LastWords.Lines, "E: no") {
			t.Errorf("last words %+v", w.LastWords)
		}
		if w.Output != j.out || d.StdOut != j.out || w.Errors != "" || d.ExitCode != 137 {
			t.Errorf("runner says output %q, Slurm %q; exit code %d", w.Output, d.StdOut, d.ExitCode)
		}
		if said := slurp(j.out); !strings.Contains(said, "== sluice: segment 0 of job "+fmt.Sprint(j.id)+" ended · failed: killed by signal 9 (not out of memory)") {
			t.Error("no banner at the end")
		}
	})
	for _, file := range must2(filepath.Glob(filepath.Join(dir, "dev", "gpu*"))) {
		if holders := holding(file); len(holders) > 0 {
			t.Errorf("%s is held by %q", file, holders)
		}
	}
}

func must2(files []string, err error) []string {
	if err != nil {
		panic(err)
	}
	return files
}

// holding returns who has a file open.
func holding(file string) (out []string) {
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		if target, err := os.Readlink(fd); err == nil && target == file {
			out = append(out, fd)
		}
	}
	return out
}
