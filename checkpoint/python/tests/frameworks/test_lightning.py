"""PyTorch Lightning: the example, resized."""

import json
import os
import re
import signal
import subprocess
import sys
import unittest
from unittest import mock

from .fixture import LIBRARY, PATIENCE, ResizeCase

import sluice.lightning  # noqa: F401  every run needs these
import torch._dynamo  # noqa: F401

# Largest relative difference of a step's loss between sizes: float32 sums in
# another order, carried through the training. Measured: 6.1e-8.
BOUND = 1e-5


class Lightning(ResizeCase):
    program = "lightning_program.py"
    args = ("--epochs=4", "--samples=480")  # 10 steps an epoch
    want = averages = None  # of the training that was never resized

    def setUp(self):
        super().setUp()
        if Lightning.want is None:
            Lightning.want = self.never_resized(1, *self.args)
            Lightning.averages = self.batch_norm()

    def batch_norm(self):
        return float(re.search(r"averages ([0-9.]+)", self.said()).group(1))

    def finish(self, size, **more):
        out = self.run_to_end(size, *self.args, **more)
        self.assertIn("finished after step 40", out)
        self.assertAlmostEqual(self.batch_norm(), self.averages, delta=2e-4)
        got = self.steps()
        return got, self.assert_same(got, self.want, BOUND)

    def test_resized(self):
        """In the middle of epochs, with dropout and BatchNorm."""
        self.assertEqual(len(self.want), 40)
        for size, step in ((1, 3), (2, 12), (3, 21), (2, 30)):
            self.run_until(step, size, *self.args)
        got, worst = self.finish(1)
        self.assertEqual([s[2] for s in got if s[0] in (0, 9, 18, 27, 39)], [1, 2, 3, 2, 1])
        self.assertEqual([p["done"] for p in self.progress() if p["event"] == "resumed"], [0.4, 1.3, 2.2, 3.1])
        print(f"lightning: largest relative difference {worst:.1e} over {len(got)} steps, 4 resizes")

    def test_between_epochs(self):
        """Asked in an epoch's last step: saved when validation is done, and the
        next epoch begins whole. With loader workers, which read ahead."""
        for size, step in ((2, 9), (1, 19), (3, 29)):
            self.run_until(step, size, *self.args, WORKERS="2")
            self.assertEqual(self.manifest(self.saved[-8:])["step"], step + 1)
            self.assertIn(f"validated after step {step + 1}", self.said())
        self.finish(2, WORKERS="2")
        self.assertEqual(self.said().count("validated"), 1)

    def test_counted_in_steps(self):
        """max_steps: Lightning resumes in another way then."""
        more = {"TRAINER": json.dumps({"max_epochs": -1, "max_steps": 40})}
        for size, step in ((1, 9), (2, 14)):
            self.run_until(step, size, *self.args, **more)
        self.finish(1, **more)

    def test_validation(self):
        """Twice an epoch; what is asked for just before is saved after it."""
        more = {"TRAINER": json.dumps({"val_check_interval": 0.5})}
        said = ""
        for size, step in ((2, 4), (1, 17)):
            self.run_until(step, size, *self.args, **more)
            said += self.said()
        self.assertIn("validated after step 5\n", said)
        self.finish(2, **more)
        said += self.said()
        self.assertEqual([said.count(f"validated after step {n}\n") for n in range(5, 41, 5)], [1] * 8)

    def test_by_itself(self):
        """Saved every few steps in the background; the newest is as good as any."""
        every = json.dumps({"global_batch": 48, "pieces": 12, "checkpoint_every": 4})
        ranks = self.start(2, *self.args, ELASTIC=every)
        self.end(ranks, 0)
        self.steps()
        newest = max(self.names())
        step = self.manifest(newest)["step"]
        self.assertTrue(step % 4 in (0, 1), step)  # 1: not in an epoch's last step
        self.saved, self.restarts = f"{self.checkpoints}/{newest}", 1
        self.run_to_end(3, *self.args)
        self.assert_same(self.steps(), self.want[step:], BOUND)

    def test_per_gpu_max(self):
        """As few batches as a GPU can hold: the same samples a step at any size."""
        few = {"ELASTIC": json.dumps({"global_batch": 48, "per_gpu_max": 16})}
        self.run_until(5, 1, *self.args, **few)  # three batches of 16
        self.run_until(15, 2, *self.args, **few)  # two of 12 on each
        out = self.run_to_end(3, *self.args, **few)  # one of 16
        self.assertIn("finished after step 40", out)
        got = self.steps()
        self.assertEqual([s[0] for s in got], list(range(40)))
        self.assertEqual([s[3] for s in got], [s[3] for s in self.want])

    def test_full_disk(self):
        """No checkpoint, and training goes on, on all ranks."""
        ranks = self.start(2, *self.args, ASK_AT="3", FULL_DISK="1")
        self.end(ranks, 0)
        self.assertIn("training goes on without it: [Errno 28] No space left on device", self.said())
        self.assertEqual((len(self.steps()), self.names()), (40, set()))

    def test_refused(self):
        """What would mean something else at every size, with what to do."""
        for message, size, more in (
            ("cannot be shared equally by 5 GPUs: submit with --gpu-sizes=1,2,3,4,6,12", 5, {}),
            ("cannot be shared equally by 7 GPUs: submit with --gpu-sizes=1,2,3,4,6,8,12,16,24,48", 7,
             {"ELASTIC": json.dumps({"global_batch": 48, "per_gpu_max": 16})}),
            ("the same number of GPUs on every node, and this job runs on gpu1:2,gpu2:1: submit it without --allow-uneven", 3,
             {"LOCAL_WORLD_SIZE": "2", "SLUICE_NODES": "2", "SLUICE_SPLIT": "gpu1:2,gpu2:1"}),
            ("limit_train_batches=7 counts batches on one GPU", 1, {"TRAINER": json.dumps({"limit_train_batches": 7})}),
            ("sets accumulate_grad_batches: leave it out", 1, {"TRAINER": json.dumps({"accumulate_grad_batches": 5})}),
        ):
            self.end(self.start(size, *self.args, **more), 1)
            self.assertIn(message, self.said())

    def test_other_training(self):
        """A checkpoint of another batch or seed is refused."""
        self.run_until(3, 1, *self.args)
        self.end(self.start(1, *self.args, "--batch=24"), 1)
        self.assertIn("batch is 24 and was 48 in the checkpoint", self.said())

    def test_other_data(self):
        """Ranks of different data end before they train."""
        self.end(self.start(2, *self.args, FEWER="1"), 1)
        self.assertIn("this is rank 1 with batch=48 samples=479 seed=1", self.said())
        self.assertFalse(os.path.exists(self.log))

    def test_outside(self):
        """Without sluice and without ranks: the same training, nothing saved."""
        ranks = self.start(1, *self.args, SLUICE_JOB_DIR=None, SLUICE_REQUEST=None, SLUICE_CHECKPOINTS=None, SLUICE_RESUME=None,
                           WORLD_SIZE=None, LOCAL_WORLD_SIZE=None, MASTER_ADDR=None, MASTER_PORT=None, RANK=None, LOCAL_RANK=None)
        self.end(ranks, 0)
        self.assert_same(self.steps(), self.want, BOUND)

    def test_somebody_elses_handler(self):
        """A handler that Python did not set cannot be put back; training goes on."""
        with mock.patch("signal.signal", return_value=None) as handle:
            with sluice.lightning._ends_on_sigterm():
                pass
        self.assertEqual([c.args[1] for c in handle.call_args_list], [signal.SIG_DFL] * 2)

    def test_older_name(self):
        """The same with the package called pytorch_lightning."""
        with open(os.path.join(LIBRARY, "examples", "train_lightning.py")) as f:
            text = f.read().replace("import lightning as L", "import pytorch_lightning as L")
        program = os.path.join(self.base, "train.py")
        with open(program, "w") as f:
            f.write(text)
        env = {**os.environ, **self.environ(SLUICE_NODES="1"), "PYTHONPATH": LIBRARY, "CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run([sys.executable, program, "--epochs=1", "--samples=480"], cwd=self.base, env=env,
                              capture_output=True, text=True, timeout=PATIENCE)
        self.assertIn("finished after step 10", done.stdout, done.stderr)
        self.assertEqual([p["event"] for p in self.progress()][-1], "finished")


if __name__ == "__main__":
    unittest.main()
