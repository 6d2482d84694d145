"""How long a step takes, said often while sluice measures a job's speed.

SLUICE_PROFILE_STEPS is "warm-up+measured", both in steps, in a run that is to be
measured; without it nothing here does anything.
"""

import os
import sys
import time
from typing import Callable, Mapping, Protocol, Tuple

from . import _files, _progress, _ranks

LINES = 5  # lines a run's measured steps are told in
LONGEST = 10.0  # seconds of steps that one line sums up, about


class Owner(Protocol):
    """What the pace needs of the job that is measured."""

    active: bool
    clock: Callable[[], float]  # Unix time in seconds
    folder: str
    nodes: int
    progress: _progress.Progress
    restarts: int

    def gpus(self) -> int: ...

    def warn(self, what: str, error: object) -> None: ...


class Pace:
    """Counts the steps of a run and reports their time, first of all ranks only."""

    def __init__(self, environ: Mapping[str, str], clock: Callable[[], float] = time.monotonic):
        self.clock = clock
        self.warmup, self.left = _parse(environ.get("SLUICE_PROFILE_STEPS", ""))
        self.bundle = -(-self.left // LINES)  # steps a line, rounded up
        self.seen = 0  # steps of the warm-up, or since the last line
        self.since = None  # when the steps of the next line began

    def step(self, job: Owner) -> None:
        """Take note that a step has ended, while some are left to measure. The program's
        first is warm-up, always: when it began was not seen."""
        if not job.active or _ranks.rank() != 0:
            return
        self.seen += 1
        if self.since is None:
            if self.seen >= max(1, self.warmup):
                self.since, self.seen = self._now(), 0
            return
        if self.seen < self.bundle and self.clock() - self.since < LONGEST:
            return
        now = self._now()
        self._tell(job, (now - self.since) / self.seen)
        self.left -= self.seen
        self.since, self.seen = now, 0

    def _now(self) -> float:
        """The time when the GPU, too, has finished the steps: CUDA programs run
        ahead of it."""
        torch = sys.modules.get("torch")
        cuda = getattr(torch, "cuda", None)
        if cuda is not None and cuda.is_initialized():
            cuda.synchronize()
        return self.clock()

    def _tell(self, job: Owner, seconds: float) -> None:
        if not seconds > 0:
            return
        entry = {"time": job.clock(), "restarts": job.restarts, "event": "pace", "done": job.progress.done,
                 "gpus": job.gpus(), "pace": seconds, "steps": self.seen}
        if job.nodes:
            entry["nodes"] = job.nodes
        try:
            _files.append_line(os.path.join(job.folder, "progress.jsonl"), entry)
        except (OSError, ValueError) as e:
            job.warn("reporting the time of a step; training goes on", e)


def _parse(text: str) -> Tuple[int, int]:
    """Steps of warm-up and steps to measure; (0, 0) for what says neither."""
    warmup, _, measured = text.partition("+")
    try:
        return max(0, int(warmup)), max(0, int(measured))
    except ValueError:
        return 0, 0
