"""Runs of one job at several sizes, each asked to save and then stopped as Slurm
stops it."""

import contextlib
import hashlib
import os
import runpy
import signal
import sys
import time
import traceback

from ..fixture import JobCase, free_port

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(HERE, "..", "..")
PATIENCE = 120  # seconds for anything


class Rank:
    """A process that runs a program, forked from this one: what the test has
    imported, it need not."""

    def __init__(self, program, args, env, folder, output):
        self.returncode = None
        self.pid = os.fork()
        if self.pid == 0:
            self._become(program, args, env, folder, output)

    def _become(self, program, args, env, folder, output):
        code = 1
        try:
            errors = os.open(output, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            os.dup2(errors, 1)
            os.dup2(errors, 2)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(env)
            sys.argv = [program, *args]
            sys.path[:0] = [HERE, os.path.join(LIBRARY, "examples")]
            runpy.run_path(program, run_name="__main__")
            code = 0
        except SystemExit as e:
            code = e.code if isinstance(e.code, int) else int(e.code is not None)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def poll(self):
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self):
        """Wait for its end; kill it where that takes too long."""
        deadline = time.monotonic() + PATIENCE
        while self.poll() is None:
            if time.monotonic() > deadline:
                self.kill()
            time.sleep(0.01)

    def send_signal(self, number):
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self):
        self.send_signal(signal.SIGKILL)


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
        """Start a run; return its processes, whose output goes to one file. more is
        for their environment; None takes a variable away."""
        port = free_port()
        self.output = os.path.join(self.base, f"output.{self.restarts}")
        open(self.output, "a").close()
        env = {**os.environ, **self.environ(SLUICE_RESTARTS=str(self.restarts), SLUICE_RESUME=self.saved, SLUICE_NODES="1"),
               "WORLD_SIZE": str(size), "LOCAL_WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port),
               "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "STEPS": self.log, **more}
        ranks = []
        for rank in range(size):
            own = {name: value for name, value in {"RANK": str(rank), "LOCAL_RANK": str(rank), **env}.items() if value is not None}
            ranks.append(Rank(os.path.join(HERE, self.program), args, own, self.base, self.output))
        self.addCleanup(lambda: [p.kill() or p.wait() for p in ranks])
        return ranks

    def end(self, ranks, code):
        for p in ranks:
            p.wait()
        self.assertEqual([p.returncode for p in ranks], [code] * len(ranks), self.said())

    def said(self):
        with open(self.output) as f:
            return f.read()[-6000:]

    def run_until(self, step, size, *args, **more):
        """Run, ask for a checkpoint at the step, and stop the run that waits."""
        ranks = self.start(size, *args, ASK_AT=str(step), **more)
        deadline = time.monotonic() + PATIENCE
        while not self.answers(step):
            self.assertTrue(all(p.poll() is None for p in ranks), self.said())
            self.assertLess(time.monotonic(), deadline, self.said())
            time.sleep(0.01)
        time.sleep(0.2)  # all ranks come to wait
        for p in ranks:
            p.send_signal(signal.SIGTERM)
        self.end(ranks, -signal.SIGTERM)
        self.withdraw()
        self.saved = os.path.join(self.checkpoints, max(self.answers(step)))
        self.restarts += 1
        self.assert_sums()

    def assert_sums(self):
        manifest = self.manifest(os.path.basename(self.saved))
        self.assertTrue(manifest.get("request"))
        for f in manifest["files"]:
            with open(os.path.join(self.saved, f["path"]), "rb") as content:
                self.assertEqual(hashlib.sha256(content.read()).hexdigest(), f["sha256"], f["path"])

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

    def answers(self, step):
        """The committed checkpoints that were asked for at the step."""
        found = set()
        for name in self.names():
            with contextlib.suppress(FileNotFoundError):  # pruned meanwhile
                if self.manifest(name).get("request") == f"at-{step}":
                    found.add(name)
        return found

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
