import types
import unittest
from unittest import mock

from .fixture import JobCase

import sluice
from sluice import _profile


class Measured(JobCase):
    """A run that is to be measured tells how long its steps take."""

    def setUp(self):
        super().setUp()
        self.clocked = 0.0

    def measured(self, steps, **more):
        job = self.job(SLUICE_PROFILE_STEPS=steps, **more)
        job.profile.clock = lambda: self.clocked
        return job

    def train(self, *seconds):
        for s in seconds:
            self.clocked += s
            sluice.should_checkpoint()

    def paces(self):
        return [(line["pace"], line["steps"]) for line in self.progress() if line["event"] == "pace"]

    def test_steps_after_the_warm_up_count(self):
        self.measured("3+10")
        self.train(9, 9, 9)
        self.assertEqual(self.paces(), [])
        self.train(*[0.5] * 10)
        self.assertEqual(self.paces(), [(0.5, 2)] * 5)

    def test_then_it_is_quiet(self):
        self.measured("0+4")
        self.train(*[0.5] * 50)
        self.assertEqual(sum(steps for _, steps in self.paces()), 4)

    def test_the_first_step_never_counts(self):
        """It is unknown when it began: it holds loading and compiling."""
        self.measured("0+5")
        self.train(100, 1, 1, 1, 1, 1)
        self.assertEqual(self.paces(), [(1, 1)] * 5)

    def test_long_steps_are_told_at_once(self):
        self.measured("1+100")
        self.train(60, 60, 60)
        self.assertEqual(self.paces(), [(60, 1)] * 2)

    def test_a_line_is_complete(self):
        self.measured("1+5")
        self.train(1, 0.25)
        line = self.progress()[-1]
        self.assertEqual({k: line[k] for k in ("event", "restarts", "gpus", "nodes", "pace", "steps")},
                         {"event": "pace", "restarts": 3, "gpus": 1, "nodes": 2, "pace": 0.25, "steps": 1})

    def test_not_asked_for(self):
        for steps in ["", "x", "5", "1+0", "1+-3", "+", "3+x"]:
            self.measured(steps)
            self.train(*[1] * 20)
        self.assertEqual(self.paces(), [])

    def test_only_rank_0_tells(self):
        self.measured("0+5")
        with mock.patch("sluice._profile._ranks.rank", return_value=1):
            self.clocked += 1
            sluice._job._current().profile.step(sluice._job._current())
        self.assertEqual(self.paces(), [])

    def test_a_full_disk_ends_nothing(self):
        job = self.measured("0+5")
        with mock.patch("sluice._files.append_line", side_effect=OSError(28, "No space left on device")):
            with mock.patch.object(job, "warn") as warn:
                for _ in range(6):
                    self.clocked += 1
                    job.profile.step(job)
        self.assertEqual(warn.call_count, 5)  # warn itself says it once
        self.assertEqual(job.profile.left, 0)

    def test_the_gpu_is_waited_for(self):
        """CUDA programs run ahead of the GPU: a line's time ends when the GPU is done."""
        cuda = types.SimpleNamespace(is_initialized=lambda: True, synchronize=mock.Mock())
        with mock.patch.dict("sys.modules", torch=types.SimpleNamespace(cuda=cuda)):
            pace = _profile.Pace({"SLUICE_PROFILE_STEPS": "1+5"}, clock=lambda: self.clocked)
            job = self.job()
            for _ in range(6):
                self.clocked += 1
                pace.step(job)
        self.assertEqual(cuda.synchronize.call_count, 6)  # once to begin, then once a line


class Outside(unittest.TestCase):
    def test_without_a_job_nothing_is_told(self):
        with mock.patch.dict("os.environ", {"SLUICE_PROFILE_STEPS": "0+5"}):
            job = sluice._job.Job({"SLUICE_PROFILE_STEPS": "0+5"})
            for _ in range(10):
                self.assertFalse(job.should_checkpoint())
