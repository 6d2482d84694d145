"""The Hugging Face Trainer: the example, resized."""

import json
import os
import subprocess
import unittest

from .fixture import ResizeCase

import sluice.transformers  # noqa: F401  every run needs these
from transformers import GPT2LMHeadModel, Trainer  # noqa: F401

# Largest relative difference of a step's loss between sizes: float32 sums in
# another order, carried through the training by Adam. Measured: 2.7e-8.
BOUND = 1e-5


class Transformers(ResizeCase):
    program = "transformers_program.py"
    args = ("--epochs=4", "--samples=250", "--batch=24", "--cpu")  # 10 steps an epoch, 10 samples left over
    want = None

    def setUp(self):
        super().setUp()
        if Transformers.want is None:
            Transformers.want = self.never_resized(1, *self.args)

    def own(self):
        """The checkpoints in the Trainer's own folder."""
        return sorted(n for n in os.listdir(os.path.join(self.base, "out")) if n.startswith("checkpoint-"))

    def finish(self, size, **more):
        self.assertIn("finished after step 40", self.run_to_end(size, *self.args, **more))
        got = self.steps()
        return got, self.assert_same(got, self.want, BOUND)

    def test_resized(self):
        """In the middle of epochs and between two, with dropout."""
        self.assertEqual(len(self.want), 40)
        for size, step in ((1, 3), (2, 12), (3, 21), (2, 29)):
            self.run_until(step, size, *self.args)
        got, worst = self.finish(1)
        self.assertEqual([s[2] for s in got if s[0] in (0, 8, 17, 26, 39)], [1, 2, 3, 2, 1])
        print(f"transformers: largest relative difference {worst:.1e} over {len(got)} steps, 4 resizes")
        self.assertEqual(self.own(), [])  # what only sluice asked for is in its folder only
        events = [p["event"] for p in self.progress()]
        self.assertEqual((events[0], events[-1], events.count("resumed")), ("hello", "finished", 4))

    def test_saves_of_its_own(self):
        """What the Trainer saves by itself counts as well, stays in its folder,
        and its pruning takes nothing from the job."""
        more = {"TRAINING": json.dumps({"save_strategy": "steps", "save_steps": 16, "save_total_limit": 1})}
        self.run_until(9, 2, *self.args, **more)
        self.finish(1, **more)
        self.assertEqual([self.manifest(n)["step"] for n in sorted(self.names())][:3], [10, 16, 32])
        self.assertEqual(self.own(), ["checkpoint-40"])
        for name in self.names():
            self.assertTrue(os.path.exists(os.path.join(self.checkpoints, name, "optimizer.pt")))

    def test_per_gpu_max(self):
        """As few batches as a GPU can hold: the same samples a step at any size,
        the Trainer's own random numbers."""
        few = {"BATCHES": json.dumps({"global_batch": 24, "per_gpu_max": 8})}
        self.run_until(5, 1, *self.args, **few)  # three batches of 8
        self.run_until(15, 2, *self.args, **few)  # two of 6 on each
        self.assertIn("finished after step 40", self.run_to_end(3, *self.args, **few))  # one of 8
        got = self.steps()
        self.assertEqual([s[0] for s in got], list(range(40)))
        for g, w in zip(got, self.want):
            self.assertAlmostEqual(g[3], w[3], delta=1e-12)

    def test_full_disk(self):
        """A disk that is really full: no checkpoint, and training goes on, on all
        ranks. The model fits and its optimizer does not, or neither does."""
        for room in ("16k", "400k"):
            full = os.path.join(self.base, "full" + room)
            os.mkdir(full)
            mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "none", full], capture_output=True, text=True)
            if mount.returncode:
                self.skipTest(f"NOT TESTED: a full disk; no file system can be mounted here: {mount.stderr}")
            self.addCleanup(subprocess.run, ["umount", "-l", full])
            with open(os.path.join(full, "filling"), "wb") as f:
                f.write(bytes(8192))
            ranks = self.start(2, *self.args, "--epochs=1", f"--output={full}/out", ASK_AT="3")
            self.end(ranks, 0)
            self.withdraw()
            self.assertIn("training goes on without it", self.said())
            self.assertEqual((len(self.steps()), self.names()), (10, set()))

    def test_refused(self):
        """What would mean something else at every size, with what to do."""
        for message, size, more in (
            ("cannot be cut into 12 pieces for 5 GPUs: choose --gpu-sizes", 5, {}),
            ("cannot be shared equally by 5 GPUs: choose --gpu-sizes", 5, {"BATCHES": json.dumps({"global_batch": 24, "per_gpu_max": 8})}),
        ):
            self.end(self.start(size, *self.args, **more), 1)
            self.assertIn(message, self.said())

    def test_outside(self):
        """Without sluice and without ranks: the same training, nothing saved."""
        ranks = self.start(1, *self.args, SLUICE_JOB_DIR=None, SLUICE_REQUEST=None, SLUICE_CHECKPOINTS=None, SLUICE_RESUME=None,
                           WORLD_SIZE=None, LOCAL_WORLD_SIZE=None, MASTER_ADDR=None, MASTER_PORT=None, RANK=None, LOCAL_RANK=None)
        self.end(ranks, 0)
        self.assert_same(self.steps(), self.want, BOUND)
        self.assertEqual((self.names(), self.own()), (set(), []))


if __name__ == "__main__":
    unittest.main()
