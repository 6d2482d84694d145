package main_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/cmd/site"
)

// byHand is the recipe of examples/torchrun.sh for a torchrun of one's own; the
// last two options are for torch 1.13, see checkpoint/ranks.
const byHand = `srun bash -c 'exec /usr/bin/python3 -m torch.distributed.run --nnodes=$SLUICE_NODES --node_rank=$SLURM_NODEID ` +
	`--nproc_per_node=$SLURM_GPUS_ON_NODE --rdzv_backend=static --rdzv_endpoint=$MASTER_ADDR:$MASTER_PORT --max_restarts=0 --redirects=9:3 --tee=9:3 "$@"' -- `

// torchrun's jobs are resized over nodes with different numbers of GPUs, and
// train every step once, through sluice ranks and by hand.
func TestTorchrunResized(t *testing.T) {
	t.Parallel()
	if exec.Command("/usr/bin/python3", "-c", "import torch.distributed.run").Run() != nil {
		t.Skip("NOT TESTED: torchrun; /usr/bin/python3 has no torch (Debian: python3-torch)")
	}
	s := play(t, withNodes(2, 2))
	for name, launch := range map[string]string{
		"ranks":   `srun "$SLUICE" ranks --torchrun -- /usr/bin/python3 -u `,
		"by-hand": byHand,
	} {
		a := &job{s: s, name: name, epochs: 24}
		script := filepath.Join(s.Home(""), name+".sh")
		s.write(script, fmt.Sprintf("#!/bin/bash\nexport OMP_NUM_THREADS=1\n%s%s --epochs %d --steps-per-epoch %d --emulate-step-seconds 0.6 --steps-log %s\n",
			launch, s.Path("python", "examples", "train_ddp.py"), a.epochs, perEpoch, a.stepsLog()))
		var err error
		a.id, err = s.Submit(s.ctx, "", fmt.Sprintf("--epochs=%d", a.epochs), "--max-gpus=4", "--allow-uneven", "--output="+name+".out", script)
		s.must(err)
		for _, gpus := range []int{3, 1, 4} {
			s.as("", "sluice", "resize", fmt.Sprint(a.id), "--gpus", fmt.Sprint(gpus))
			a.runsOn(gpus)
			a.trained(gpus)
		}
		if tr := a.completes(); !strings.HasSuffix(fmt.Sprint(tr.Worlds), "3 1 4]") {
			t.Errorf("%s: trained on %v GPUs, want 3, 1 and 4 in the end", name, tr.Worlds)
		}
	}
}

// trained waits until a step was trained on so many GPUs.
func (j *job) trained(world int) {
	j.s.t.Helper()
	j.s.must(site.Until(j.s.ctx, time.Minute, fmt.Sprintf("a step on %d GPUs", world), func() (bool, error) {
		b, _ := os.ReadFile(j.stepsLog())
		lines := strings.Split(strings.TrimSpace(string(b)), "\n")
		return strings.HasSuffix(lines[len(lines)-1], fmt.Sprintf(" %d", world)), nil
	}))
}

// An mpi4py program is resized over several nodes and computes what it computes
// undisturbed. Open MPI starts its daemons through Slurm; on a lab all nodes are
// one machine.
func TestMPIResized(t *testing.T) {
	t.Parallel()
	if exec.Command("/usr/bin/python3", "-c", "import mpi4py.MPI, numpy").Run() != nil {
		t.Skip("NOT TESTED: an MPI program; /usr/bin/python3 has no mpi4py (Debian: python3-mpi4py openmpi-bin)")
	}
	s := play(t, withNodes(2, 2))
	example := s.Path("python", "examples", "train_mpi.py")
	log := filepath.Join(s.Home(""), "mpi.log")
	script := filepath.Join(s.Home(""), "mpi.sh")
	s.write(script, "#!/bin/bash\nexport OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"+
		"export OMPI_MCA_btl=tcp,self # two nodes on one machine would write in the same shared memory\n"+
		"exec mpirun --mca ras ^slurm --host \"$SLUICE_SPLIT\" --bind-to none /usr/bin/python3 -u "+example+" --steps 300 --step-seconds 0.1 --log "+log+"\n")
	id, err := s.Submit(s.ctx, "", "--steps=300", "--max-gpus=4", "--allow-uneven", "--output=mpi.out", script)
	s.must(err)
	a := &job{s: s, id: id, name: "mpi"}
	for _, gpus := range []int{3, 1, 4} {
		s.as("", "sluice", "resize", fmt.Sprint(id), "--gpus", fmt.Sprint(gpus))
		a.runsOn(gpus)
		s.must(site.Until(s.ctx, time.Minute, fmt.Sprintf("a step on %d GPUs", gpus), func() (bool, error) {
			_, sizes := mpiLosses(t, log)
			return len(sizes) > 0 && sizes[len(sizes)-1] == gpus, nil
		}))
	}
	if state := a.ends(); state != "COMPLETED" {
		t.Fatalf("ended as %s", state)
	}
	alone := filepath.Join(s.Home(""), "alone.log")
	cmd := exec.CommandContext(s.ctx, "/usr/bin/python3", example, "--steps", "300", "--log", alone)
	cmd.Env = append(os.Environ(), "PYTHONPATH="+s.Path("python"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got, sizes := mpiLosses(t, log)
	want, _ := mpiLosses(t, alone)
	if len(got) != len(want) || len(sizes) != 300 {
		t.Fatalf("%d steps, %d lines, want 300 once each", len(got), len(sizes))
	}
	for step, loss := range want {
		if math.Abs(got[step]-loss) > 1e-9*(1+loss) {
			t.Fatalf("step %d: loss %g, undisturbed %g", step, got[step], loss)
		}
	}
}

// mpiLosses reads lines "step loss ranks".
func mpiLosses(t *testing.T, path string) (losses map[int]float64, sizes []int) {
	t.Helper()
	b, _ := os.ReadFile(path)
	losses = map[int]float64{}
	for line := range strings.Lines(string(b)) {
		var step, size int
		var loss float64
		if _, err := fmt.Sscan(line, &step, &loss, &size); err == nil {
			losses[step], sizes = loss, append(sizes, size)
		}
	}
	return losses, sizes
}
