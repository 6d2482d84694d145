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

    def test_batch_is_kept(self):
        """The Trainer's own arguments, the same at every size: the global batch stays
        that of the first run all the same, upwards and downwards."""
        plain = {"PLAIN": "1", "TRAINING": json.dumps({"per_device_train_batch_size": 24})}
        less = {"PLAIN": "1", "TRAINING": json.dumps({"per_device_train_batch_size": 8})}
        want = self.never_resized(1, *self.args, **plain)
        for step, size, how, more in ((5, 1, None, plain), (12, 2, "on 2 GPUs: {} is 12 x 1 in place of 24 x 1", plain),
                                      (23, 3, "on 3 GPUs: {} is 8 x 1 in place of 24 x 1", plain), (30, 3, None, less),
                                      (35, 2, "on 2 GPUs: {} is 6 x 2 in place of 8 x 1", {**less, "OLDER": "8"})):
            self.run_until(step, size, *self.args, **more)
            if how:
                self.assertIn("the global batch stays 24 " + how.format("per_device_train_batch_size x gradient_accumulation_steps"), self.said())
            else:
                self.assertNotIn("the global batch", self.said())
        self.assertIn("finished after step 40", self.run_to_end(1, *self.args, **less))
        self.assertIn("is 8 x 3 in place of 8 x 1", self.said())
        self.assert_same(self.steps(), want, BOUND)

    def test_other_batch(self):
        """A batch that cannot be kept is refused before anything is trained, and one
        that may change is told."""
        plain = {"PLAIN": "1", "TRAINING": json.dumps({"per_device_train_batch_size": 24})}
        self.run_until(3, 1, *self.args)
        trained = len(self.steps())
        self.assertEqual(trained, 4)
        alone, may = {**plain, "CALLBACK": "1"}, {"ELASTIC": json.dumps({"batch_may_change": True})}
        for message, size, more in (
            ("global_batch is 48 and was 24 in the checkpoint", 1, {"BATCHES": json.dumps({"global_batch": 48})}),
            ("global_batch is 48 and was 24 in the checkpoint", 1, {**plain, "ELASTIC": json.dumps({"global_batch": 48})}),
            ("24 samples a step cannot be shared equally by 5 GPUs: choose --gpu-sizes", 5, plain),
            ("is 48 (per_device_train_batch_size 24 x gradient_accumulation_steps 1 x 2 GPUs) and was 24 in the checkpoint: nothing was trained. "
             "Write trainer = sluice.transformers.elastic(trainer)", 2, alone),
        ):
            self.end(self.start(size, *self.args, **more), 1)
            self.assertIn(message, self.said())
            self.assertFalse(os.path.exists(self.log))
        self.run_until(5, 2, *self.args, **{**plain, **may})
        told = "the global batch changed: it is 48 (per_device_train_batch_size 24 x gradient_accumulation_steps 1 x 2 GPUs) and was 24"
        self.assertEqual(self.said().count(told), 1)
        self.run_until(7, 1, *self.args, **plain, CALLBACK="1", **may)
        self.assertIn("it is 24", self.said())
        os.unlink(os.path.join(self.saved, "sluice.json"))  # as an earlier release left it
        self.run_to_end(1, *self.args, **plain)
        self.assertIn("the checkpoint does not say its global batch: this run trains 24 samples a step", self.said())

    def test_other_data(self):
        """Ranks of different data end before they train; data that changed between
        two runs are told."""
        self.end(self.start(2, *self.args, FEWER="1"), 1)
        self.assertIn("the ranks do not see the same data: rank 0 has samples=250; this is rank 1 with samples=249", self.said())
        self.assertFalse(os.path.exists(self.log))
        self.run_until(3, 1, *self.args)
        self.run_to_end(1, *self.args, "--samples=249")
        self.assertIn("the dataset has 249 samples and had 250 in the checkpoint", self.said())

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
