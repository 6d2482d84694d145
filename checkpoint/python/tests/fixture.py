"""A job's folder, made by hand."""

import json
import os
import shutil
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from sluice import _job  # noqa: E402

TOKEN = "0123456789abcdef0123456789abcdef"


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
