"""The example: the same training at any size, and across a save and a resume."""

import os
import re
import shutil
import subprocess
import sys
import unittest

from .fixture import JobCase, free_port

try:
    import torch  # noqa: F401
    TORCH = True
except ImportError:
    TORCH = False

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
EXAMPLE = os.path.join(LIBRARY, "examples", "train_ddp.py")


@unittest.skipUnless(TORCH, "NOT TESTED: torch is not installed")
class Train(JobCase):
    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.base, "steps.log")

    def train(self, size, *args, code=0, **more):
        port = free_port()
        ranks = []
        for rank in range(size):
            env = {**os.environ, **self.environ(**more), "RANK": str(rank), "WORLD_SIZE": str(size),
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
            command = [sys.executable, EXAMPLE, "--epochs=2", "--steps-per-epoch=6", "--steps-log=" + self.log, *args]
            ranks.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        out = []
        for p in ranks:
            try:
                out.append(p.communicate(timeout=120))
            finally:
                p.kill()
        self.assertEqual([p.returncode for p in ranks], [code] * size, out)
        return out[0][0]

    def steps(self):
        with open(self.log) as f:
            return [line.split() for line in f]

    def result(self, out):
        return float(re.search(r"model ([0-9.]+)", out).group(1))

    def test_sizes(self):
        """5 does not divide the batch of 48: shares differ, the result does not."""
        results, losses = [], []
        for size in (1, 2, 5):
            results.append(self.result(self.train(size)))
            losses.append([float(s[3]) for s in self.steps()])
            os.unlink(self.log)
        for result, loss in zip(results[1:], losses[1:]):
            self.assertAlmostEqual(result, results[0], places=3)
            self.assertEqual(len(loss), 12)
            for a, b in zip(loss, losses[0]):
                self.assertAlmostEqual(a, b, places=4)

    def test_moved(self):
        """Saved on request at 2 and resumed at 3: every step once, the same result."""
        want = self.result(self.train(1))
        os.unlink(self.log)
        os.unlink(os.path.join(self.folder, "progress.jsonl"))
        self.ask()
        out = self.train(2, "--exit-on-request", SLUICE_RESTARTS="0")
        self.assertIn("exits, as ordered", out)
        self.withdraw()
        self.assertEqual(self.manifest("00000001")["request"], "r1")
        out = self.train(3, SLUICE_RESTARTS="1", SLUICE_RESUME=os.path.join(self.checkpoints, "00000001"))
        self.assertIn("resumed from 00000001", out)
        self.assertEqual([(int(s[1]), int(s[2])) for s in self.steps()], [divmod(i, 6) for i in range(12)])
        self.assertEqual({(s[0], s[4]) for s in self.steps()}, {("0", "2"), ("1", "3")})
        self.assertAlmostEqual(self.result(out), want, places=3)
        self.assertEqual([p["event"] for p in self.progress()][-1], "finished")

    def test_orders(self):
        self.train(1, "--fail-at-step=3", "--exit-code=7", code=7)
        self.assertEqual(len(self.steps()), 3)
        self.ask()
        self.train(1, "--ignore-requests", "--checkpoint-every=0")
        self.assertFalse(os.path.exists(self.checkpoints))
        self.withdraw()
        self.train(1, "--checkpoint-every=1")
        self.assertEqual(os.listdir(self.checkpoints), ["00000001"])
        out = self.train(1, "--emulate-step-seconds=0.01")
        self.assertIn("GPU time is emulated", out)


@unittest.skipUnless(TORCH, "NOT TESTED: torch is not installed")
class Alone(JobCase):
    """The example in a folder of its own, without what is beside it."""

    def start(self, *args):
        copy = os.path.join(self.base, "mine.py")
        shutil.copy(EXAMPLE, copy)
        env = {**os.environ, **self.environ(), "RANK": "0", "WORLD_SIZE": "1", "PYTHONPATH": LIBRARY,
               "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
        return subprocess.run([sys.executable, copy, "--epochs=1", "--steps-per-epoch=3", *args], env=env, cwd=self.base, timeout=120,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_trains(self):
        done = self.start("--output=model.pt")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(os.path.join(self.base, "model.pt")))
        self.assertEqual([p["event"] for p in self.progress()][-1], "finished")

    def test_says_what_emulation_needs(self):
        done = self.start("--emulate-step-seconds=0.1")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("emulating GPU time needs demonstration.py", done.stderr)
        self.assertNotIn("Traceback", done.stderr)


@unittest.skipUnless(TORCH, "NOT TESTED: torch is not installed")
class Validate(JobCase):
    """examples/train_validate.py and the program of README.md."""

    def start(self, size, *command, **more):
        port = free_port()
        ranks = []
        for rank in range(size):
            env = {**os.environ, **self.environ(**more), "RANK": str(rank), "WORLD_SIZE": str(size), "PYTHONPATH": LIBRARY,
                   "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"}
            ranks.append(subprocess.Popen([sys.executable, *command], env=env, cwd=self.base, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        out = []
        for p in ranks:
            try:
                out.append(p.communicate(timeout=120))
            finally:
                p.kill()
        self.assertEqual([p.returncode for p in ranks], [0] * size, out)
        return out[0][0]

    def test_example(self):
        """The same lines at any size, and the best model is kept."""
        example = os.path.join(LIBRARY, "examples", "train_validate.py")
        want = self.start(1, example, "--epochs=3")
        self.assertEqual(len(want.splitlines()), 3)
        self.assertTrue(os.path.exists(os.path.join(self.base, "best.pt")))
        got = self.start(3, example, "--epochs=3")
        for a, b in zip(want.split(), got.split()):
            try:
                self.assertAlmostEqual(float(a), float(b), places=3)
            except ValueError:
                self.assertEqual(a, b)
        self.assertEqual(set([p["metric"] is not None for p in self.progress() if p["event"] == "progress"]), {True})

    def test_readme(self):
        """The program of README.md runs as it is written there."""
        with open(os.path.join(LIBRARY, "README.md"), encoding="utf-8") as f:
            program = f.read().split("```python\n")[1].split("```")[0]
        before = """
import sluice.torch, torch
from torch.utils.data import TensorDataset
made = lambda n: TensorDataset(torch.randn(n, 4), torch.randint(2, (n,)))
torch.manual_seed(1)
data, held_out, model, criterion = made(480), made(50), torch.nn.Linear(4, 2), torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
"""
        self.start(1, "-c", before + program)
        self.assertTrue(os.path.exists(os.path.join(self.base, "best.pt")))
        self.assertEqual([p["epoch"] for p in self.progress() if p["event"] == "progress"], [1, 2, 3])


if __name__ == "__main__":
    unittest.main()
