"""Hugging Face Accelerate: the example, resized."""

import json
import os
import subprocess
import unittest

from .fixture import ResizeCase

import sluice.accelerate  # noqa: F401  every run needs this

# Largest relative difference of a step's loss between sizes: float32 sums in
# another order, carried through the training. Measured: 3.1e-8.
BOUND = 1e-5


class Accelerate(ResizeCase):
    program = "accelerate_program.py"
    args = ("--epochs=4", "--samples=490", "--cpu")  # 10 steps an epoch, 10 samples left over

    def test_resized(self):
        want = self.never_resized(1, *self.args)
        self.assertEqual(len(want), 40)
        for size, step in ((1, 3), (2, 12), (3, 21), (2, 29)):
            self.run_until(step, size, *self.args)
        out = self.run_to_end(1, *self.args)
        self.assertIn("finished", out)
        got = self.steps()
        self.assertEqual([s[2] for s in got if s[0] in (0, 9, 18, 27, 39)], [1, 2, 3, 2, 1])
        print(f"accelerate: largest relative difference {self.assert_same(got, want, BOUND):.1e} over {len(got)} steps, 4 resizes")

    def test_other_training(self):
        """A checkpoint of another batch, seed, cut or data is refused before anything
        is trained."""
        self.run_until(3, 1, *self.args)
        self.steps()
        for message, more, arguments in (
            ("global_batch is 24 and was 48 in the checkpoint", {"global_batch": 24}, ()),
            ("seed is 7 and was 0 in the checkpoint", {"seed": 7}, ()),
            ("pieces is None and was 12 in the checkpoint", {"pieces": None}, ()),
            ("samples is 500 and was 490 in the checkpoint", {}, ("--samples=500",)),
        ):
            self.end(self.start(2, *self.args, *arguments, ELASTIC=json.dumps(more)), 1)
            self.assertIn(message, self.said())
            self.assertFalse(os.path.exists(self.log))

    def test_full_disk(self):
        """A disk that is really full: no checkpoint, and training goes on, on all
        ranks. The model fits and its optimizer does not, or neither does."""
        os.mkdir(self.checkpoints)
        for room in ("8k", "36k"):
            mount = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "none", self.checkpoints], capture_output=True, text=True)
            if mount.returncode:
                self.skipTest(f"NOT TESTED: a full disk; no file system can be mounted here: {mount.stderr}")
            self.addCleanup(subprocess.run, ["umount", "-l", self.checkpoints])
            ranks = self.start(2, *self.args, "--epochs=1", ASK_AT="3")
            self.end(ranks, 0)
            self.withdraw()
            self.assertIn("training goes on without it", self.said())
            self.assertEqual((len(self.steps()), self.names()), (10, set()))


if __name__ == "__main__":
    unittest.main()
