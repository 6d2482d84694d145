"""A job's folder, made by hand."""

import json
import os
import random
import shutil
import socket
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from sluice import _job  # noqa: E402

TOKEN = "0123456789abcdef0123456789abcdef"


def free_port():
    """A port on which no process listens, below those that the kernel gives away.

    One of the kernel's may become the source of any connection on this machine before
    rank 0 listens on it: of another test's, or of a rank that looks for rank 0, which
    is then connected to itself. The other ranks would wait in vain.
    """
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as f:
        first = int(f.read().split()[0])
    while True:
        port = random.SystemRandom().randrange(10000, max(first, 11000))
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


class JobCase(unittest.TestCase):
    def setUp(self):
        self.base = tempfile.mkdtemp(prefix="sluice-test-")
        self.addCleanup(shutil.rmtree, self.base, ignore_errors=True)
        self.folder = os.path.join(self.base, TOKEN)
        os.mkdir(self.folder)
        self.request = os.path.join(self.folder, "request.json")
        self.checkpoints = os.path.join(self.folder, "checkpoints")
        self.now = 1e9

    def environ(self, **more):
        return {
            "SLUICE_JOB_ID": "42", "SLUICE_JOB_DIR": self.folder, "SLUICE_RESTARTS": "3", "SLUICE_NODES": "2",
            "SLUICE_REQUEST": self.request, "SLUICE_CHECKPOINTS": self.checkpoints, "SLUICE_RESUME": "", **more,
        }

    def job(self, **more):
        """A job by itself, with a clock of the test's; also behind the module's functions."""
        job = _job.Job(self.environ(**more), clock=lambda: self.now)
        _job._job = job
        self.addCleanup(setattr, _job, "_job", None)
        return job

    def ask(self, request="r1"):
        with open(self.request + ".new", "w") as f:
            json.dump({"version": 1, "job": 42, "request": request}, f)
        os.rename(self.request + ".new", self.request)

    def withdraw(self):
        os.unlink(self.request)

    def withdraw_when(self, path):
        """Withdraw once the path is there, as the runner does after it saw it."""
        def watch():
            for _ in range(6000):  # a minute and more: a test that fails must not hang
                if os.path.exists(path):
                    break
                threading.Event().wait(0.01)
            threading.Event().wait(0.05)
            if os.path.exists(self.request):
                self.withdraw()
        thread = threading.Thread(target=watch)
        thread.start()
        self.addCleanup(thread.join)

    def progress(self):
        try:
            with open(os.path.join(self.folder, "progress.jsonl")) as f:
                return [json.loads(line) for line in f]
        except FileNotFoundError:
            return []

    def manifest(self, name):
        with open(os.path.join(self.checkpoints, name, "manifest.json")) as f:
            return json.load(f)


def write(path, content="weights"):
    with open(path, "w") as f:
        f.write(content)
