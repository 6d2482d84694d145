package runner_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/nodes"
	"github.com/sluice-hpc/sluice/slurm"
	"github.com/sluice-hpc/sluice/slurm/lab"
	"github.com/sluice-hpc/sluice/slurm/lab/labtest"
)

// box runs its arguments in a container made by hand: own mounts, network and
// hostname, and a root in which there is nothing but the machine's /usr without
// Slurm's programs, the job's folder, the library and the program. It writes down
// what can be seen from within.
const box = `
box() {
  unshare --mount --net --uts --ipc --propagation private bash -c '
    set -e
    root=$(mktemp -d); mount -t tmpfs tmpfs $root; cd $root
    mkdir -p usr proc dev/shm tmp etc/alternatives
    for l in bin sbin lib lib32 lib64; do [ -L /$l ] && ln -s $(readlink /$l) $l; done
    mount --rbind /usr usr; mount --rbind /proc proc; mount --bind /etc/alternatives etc/alternatives
    mount -t tmpfs tmpfs dev/shm
    for f in /dev/null /dev/zero /dev/urandom /etc/ld.so.cache; do touch .$f; mount --bind $f .$f; done
    for f in usr/bin/{sbatch,scancel,scontrol,sinfo,squeue,srun,sacct}; do [ -e $f ] && mount --bind .$0 $f || true; done
    for d in "$SLUICE_JOB_DIR" "$SLUICE_PYTHON"; do mkdir -p .$d; mount --bind $d .$d; done
    mkdir -p .${SLUICE%/*}; touch .$SLUICE; mount --bind $SLUICE .$SLUICE
    exec chroot . bash -c "cd /; exec \"\$@\"" box "$@"' /dev/null "$@"
}
`

// inside tells what the container has of the outside, and puts up its loopback.
const inside = `
import fcntl, os, socket, struct, subprocess, sys
say = lambda *words: print(*words, file=open(os.environ["SLUICE_JOB_DIR"] + "/story", "a"))
s = socket.socket()
name = struct.pack("16sh", b"lo", 0)
flags = struct.unpack("16sh", fcntl.ioctl(s, 0x8913, name))[1]
fcntl.ioctl(s, 0x8914, struct.pack("16sh", b"lo", flags | 1))
say("interfaces", *sorted(n for _, n in socket.if_nameindex()))
say("slurm", *[p for p in ("squeue", "scontrol", "srun") if subprocess.run(["sh", "-c", p + " --version"], capture_output=True).returncode == 0])
say("etc", *sorted(os.listdir("/etc")))
say("root", *sorted(n for n in os.listdir("/") if not os.path.islink("/" + n)))
os.execv(sys.argv[1], sys.argv[1:])
`

// TestContainerOnSlurm: from inside of a container that has neither Slurm's
// commands nor a network a training of several processes saves when asked,
// resumes and reports.
func TestContainerOnSlurm(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("LOUD SKIP: NOT TESTED in a container: only root may make one by hand here")
	}
	if err := exec.Command("unshare", "--mount", "--net", "--uts", "--ipc", "true").Run(); err != nil {
		t.Skipf("LOUD SKIP: NOT TESTED in a container: unshare: %v", err)
	}
	if err := exec.Command("/usr/bin/python3", "-c", "import torch.distributed").Run(); err != nil {
		t.Skipf("LOUD SKIP: NOT TESTED in a container: /usr/bin/python3 has no torch: %v", err)
	}
	l := labtest.Up(t, lab.Config{FastScheduling: true, Nodes: 2, GPUs: 2})
	j := submitLive(t, l, box+`
cat >$SLUICE_JOB_DIR/inside.py <<'END'`+inside+`END
export -f box 2>/dev/null
box /usr/bin/python3 $SLUICE_JOB_DIR/inside.py "$SLUICE" ranks -- /usr/bin/python3 -u "$SLUICE_PYTHON/examples/train_ddp.py" \
  --epochs 3 --steps-per-epoch 20 --emulate-step-seconds 0.2 --steps-log $SLUICE_JOB_DIR/steps
`)
	trained := func(n int) {
		t.Helper()
		j.until(fmt.Sprintf("%d steps are trained", n), func() bool { return strings.Count(slurp(filepath.Join(j.dir, "steps")), "\n") >= n })
	}
	trained(5)
	for _, line := range []string{"interfaces lo", "slurm", "etc alternatives ld.so.cache"} {
		j.tells(line)
	}
	j.move(nodes.Placement{{Node: "gpu2", GPUs: 2}}, slurm.Update{GPUsPerNode: 2})
	trained(30)
	j.until("Slurm has it completed", func() bool { return j.show().State == slurm.Completed })
	var steps []string
	worlds := map[string]bool{}
	for line := range strings.Lines(slurp(filepath.Join(j.dir, "steps"))) {
		f := strings.Fields(line)
		steps = append(steps, fmt.Sprintf("%3s %3s", f[1], f[2]))
		worlds[f[0]+":"+f[4]] = true
	}
	if len(steps) != 60 || !slices.IsSorted(steps) || len(slices.Compact(steps)) != 60 || len(worlds) != 2 || !worlds["0:1"] || !worlds["1:2"] {
		t.Errorf("%d steps in worlds %v, not each once and in order", len(steps), worlds)
	}
	lines, _, _, err := j.mail.Progress(token, uint32(os.Getuid()), 0)
	must(t, err)
	if n := len(lines); n == 0 || lines[n-1].Event != "finished" || lines[n-1].Done != 3 {
		t.Errorf("reported %+v", lines)
	}
	if w := j.word(); w.State != checkpoint.Exited || w.Exit.Code != 0 {
		t.Errorf("word %+v", w)
	}
}
