"""Runs of one job at several sizes, each asked to save and then stopped as Slurm
stops it."""

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time

from ..fixture import JobCase

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..")
PATIENCE = 120  # seconds for anything


class ResizeCase(JobCase):
    """One job and the steps it trained.

    A program appends a line for every step to $STEPS: restart, step, loss, world
    size, learning rate; and asks for a checkpoint at step $ASK_AT itself, as
    sluiced would.
    """

    program = ""  # in this folder

    def setUp(self):
        super().setUp()
        self.log = os.path.join(self.base, "steps.log")
        self.restarts = 0
        self.saved = ""

    def start(self, size, *args, **more):
        """Start a run; return its processes, whose errors go to one file."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        self.errors = os.path.join(self.base, f"errors.{self.restarts}")
        env = {**os.environ, **self.environ(SLUICE_RESTARTS=str(self.restarts), SLUICE_RESUME=self.saved, SLUICE_NODES="1"),
               "WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
               "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": LIBRARY, "PYTHONWARNINGS": "ignore", "STEPS": self.log, **more}
        ranks = []
        with open(self.errors, "a") as errors:
            for rank in range(size):
                command = [sys.executable, os.path.join(HERE, self.program), *args]
                ranks.append(subprocess.Popen(command, env={**env, "RANK": str(rank), "LOCAL_RANK": str(rank)}, stdout=errors, stderr=errors))
        self.addCleanup(lambda: [p.kill() or p.wait() for p in ranks])
        return ranks

    def end(self, ranks, code):
        for p in ranks:
            p.wait(timeout=PATIENCE)
        self.assertEqual([p.returncode for p in ranks], [code] * len(ranks), self.said())

    def said(self):
        with open(self.errors) as f:
            return f.read()[-6000:]

    def run_until(self, step, size, *args, **more):
        """Run, ask for a checkpoint at the step, and stop the run that waits."""
        before = self.names()
        ranks = self.start(size, *args, ASK_AT=str(step), **more)
        deadline = time.monotonic() + PATIENCE
        while not (self.names() - before):
            self.assertTrue(all(p.poll() is None for p in ranks), self.said())
            self.assertLess(time.monotonic(), deadline, self.said())
            time.sleep(0.05)
        time.sleep(0.2)  # all ranks come to wait
        for p in ranks:
            p.send_signal(signal.SIGTERM)
        self.end(ranks, -signal.SIGTERM)
        self.withdraw()
        self.saved = os.path.join(self.checkpoints, max(self.names()))
        manifest = self.manifest(os.path.basename(self.saved))
        self.assertTrue(manifest.get("request"))
        for f in manifest["files"]:
            with open(os.path.join(self.saved, f["path"]), "rb") as content:
                self.assertEqual(hashlib.sha256(content.read()).hexdigest(), f["sha256"], f["path"])
        self.restarts += 1

    def run_to_end(self, size, *args, **more):
        self.end(self.start(size, *args, **more), 0)
        return self.said()

    def names(self):
        """The committed checkpoints."""
        try:
            names = os.listdir(self.checkpoints)
        except FileNotFoundError:
            return set()
        return {n for n in names if os.path.exists(os.path.join(self.checkpoints, n, "manifest.json"))}

    def steps(self):
        """Forget and return what was trained: a list of (step, loss, world, rate)."""
        with open(self.log) as f:
            lines = [line.split() for line in f]
        os.unlink(self.log)
        return [(int(s), float(loss), int(world), float(rate)) for _, s, loss, world, rate in lines]

    def never_resized(self, size, *args, **more):
        """The steps of a run by itself, outside of the job's story."""
        saved, self.saved = self.saved, ""
        self.run_to_end(size, *args, **more)
        self.saved = saved
        return self.steps()

    def assert_same(self, got, want, bound):
        """Every step once and in order, and its loss and rate the same; returns
        the largest relative difference."""
        self.assertEqual([s[0] for s in got], [s[0] for s in want])
        worst = max(abs(g[1] - w[1]) / max(abs(w[1]), 1e-12) for g, w in zip(got, want))
        self.assertLess(worst, bound)
        for g, w in zip(got, want):
            self.assertAlmostEqual(g[3], w[3], delta=1e-9 * max(1, abs(w[3])))
        return worst
