package runner_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sluice-hpc/sluice/checkpoint"
	"github.com/sluice-hpc/sluice/checkpoint/attempts"
	"github.com/sluice-hpc/sluice/checkpoint/python"
	"github.com/sluice-hpc/sluice/checkpoint/pythontest"
)

// TestTorchInAFence trains with PyTorch on two GPUs inside, under srun and then under
// torchrun, with a stop in between. The model that comes out is the one that an
// uninterrupted training outside makes.
func TestTorchInAFence(t *testing.T) {
	interpreter := pythontest.Frameworks(t)
	train := "train_ddp.py --epochs 40 --steps-per-epoch 20 --output "
	c := newCaged(t, `ls "$SLUICE_DATA/mammo/secret.txt"
train="$SLUICE_PYTHON/examples/`+train+`$SLUICE_OUTPUT/model.pt"
if [ "$SLUICE_RESTARTS" = 0 ]; then
  srun --ntasks=1 "$SLUICE" ranks -- `+interpreter+` -u $train
else
  srun "$SLUICE" ranks --torchrun -- `+interpreter+` -u $train
fi
`, nil)
	c.fence.Software = []string{filepath.Dir(filepath.Dir(interpreter))}
	c.fence.Numbers = 100_000
	library := filepath.Join(c.base, "python")
	must(t, python.WriteTo(library))
	c.env = []string{"SLUICE_PYTHON=" + library, "OMP_NUM_THREADS=1"}
	c.config.Grace = 5 * time.Second

	c.start()
	c.slowly("the first progress comes out", func() bool {
		return strings.Contains(slurp(filepath.Join(c.dir, "progress.jsonl")), `"event":"progress"`)
	})
	c.ask("resize.1")
	c.slowly("it has saved", func() bool { return c.word().State == checkpoint.Waiting })
	c.stop()
	<-c.done
	c.withdraw()
	model := filepath.Join(c.fence.Output, "model.pt")
	if _, err := os.Stat(model); err == nil {
		t.Fatal("it had finished before it was stopped: the test shows nothing")
	}
	c.restarts++
	c.start()
	c.slowly("it ends", func() bool {
		select {
		case <-c.done:
			return true
		default:
			return false
		}
	})
	c.exits(0)
	if c.word().Resumed == "" {
		t.Error("it did not resume")
	}

	if counts := c.counts(); counts.Total() > 0 || counts.Uncounted != "" && counts.Uncounted != attempts.OldKernel {
		t.Errorf("an ordinary training is in the record of attempts: %s", counts.Data())
	}
	apart := filepath.Join(c.base, "apart")
	must(t, os.Mkdir(apart, 0o755))
	must(t, os.Symlink(c.program, filepath.Join(apart, programName)))
	cmd := exec.Command(filepath.Join(apart, programName), append([]string{"ranks", "--", interpreter, "-u"},
		strings.Fields(filepath.Join(library, "examples", train)+filepath.Join(apart, "model.pt"))...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PYTHONPATH=" + library, "OMP_NUM_THREADS=1", "SLURM_GPUS_ON_NODE=2", "SLURM_JOB_ID=43"}
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("outside: %v\n%s", err, said)
	}
	inside, err := os.ReadFile(model)
	must(t, err)
	if outside, err := os.ReadFile(filepath.Join(apart, "model.pt")); err != nil || !bytes.Equal(inside, outside) {
		t.Errorf("the models differ: %d bytes inside, %d outside; %v", len(inside), len(outside), err)
	}
}

// slowly is until for what a busy machine may need minutes for: PyTorch is imported.
func (c *caged) slowly(what string, true_ func() bool) {
	c.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !true_(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.Fatalf("not in 5 minutes: %s; %+v; log %s", what, c.word(), slurp(c.out))
		}
	}
}
