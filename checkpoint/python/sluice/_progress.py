"""The lines a program adds to its progress log."""

from __future__ import annotations

import math
import os
from typing import Any, Callable, Dict, Mapping, Optional

from . import _files

BURST = 30.0  # lines written at once; then ...
REFILL = 5.0  # ... one in so many seconds: a program may report at every step


class Progress:
    """Counts work and time, and writes lines of progress.jsonl. Rank 0's counts.

    clock is Unix time in seconds.
    """

    def __init__(self, folder: str, common: Mapping[str, int], gpus: Callable[[], int], clock: Callable[[], float],
                 warn: Callable[[str, BaseException], None]) -> None:
        self._path = os.path.join(folder, "progress.jsonl")
        self._common = dict(common)
        self._gpus = gpus
        self.clock = clock
        self._warn = warn
        self.done = 0.0  # work finished, in the job's unit
        self._since: Optional[float] = None  # when, and at how much work done, the
        self._since_done = 0.0  # speed's measurement began
        self.steps = 0  # steps during it
        self._late = True  # it began after its first step, not before
        self._began_at = 0  # the step it was resumed from; 0 = it was not, or not lately
        self._away = 0.0  # seconds of it spent saving and waiting
        self._credit = BURST
        self._credited = clock()
        self._held = False  # whether a report is not yet written: this one
        self._step: Optional[float] = None
        self._epoch: Optional[float] = None
        self._metric: Dict[str, float] = {}
        self._searched = os.environ.get("SLUICE_TRIAL_METRIC", "")  # by the sweep that this is a trial of
        self._searches = 10000  # lines with it that are written at once

    def stepped(self) -> None:
        """A step has ended: measure from the first one on."""
        if self._since is None:
            self._since = self.clock()

    def away(self, seconds: float) -> None:
        """Seconds that were spent on other things than steps."""
        self._away += max(0.0, seconds)

    def resumed(self, done: float, step: int, epoch: float) -> None:
        """Work begins where the checkpoint ended."""
        self.done = self._since_done = done
        self._began_at = step
        self.note("resumed", step, epoch)

    def report(self, done: float, step: Optional[float], epoch: Optional[float], metric: Optional[Mapping[str, float]]) -> None:
        """Write a line, or hold it back for a while when there were many."""
        self._held, self.done, self._step, self._epoch = True, done, step, epoch
        if metric:
            self._metric.update(metric)
        now = self.clock()
        if metric and self._searched in metric and self._searches > 0:
            self._searches -= 1
            self.flush()
            return
        if self._credit < 1.0 and 0.0 <= now - self._credited < REFILL:
            return
        self._credit = min(BURST, self._credit + max(0.0, now - self._credited) / REFILL) - 1.0
        self._credited = now
        self.flush()

    def flush(self) -> None:
        """Write the report that was held back."""
        if self._held:
            metric, self._held, self._metric = self._metric, False, {}
            self.note("progress", self._step, self._epoch, metric, self._speed())

    def _speed(self) -> float:
        """Seconds a unit of work took since the last line that named more work; 0 = not known.

        A program may report every step and whole epochs: the measurement goes on until
        the count changes, else the time of one step would pass for that of an epoch.
        """
        now, seconds = self.clock(), 0.0
        if self._since is not None and self.done == self._since_done:
            return 0.0
        if self._since is not None and self.done > self._since_done and not self._partial():
            seconds = max(0.0, now - self._since - self._away) / (self.done - self._since_done)
            if self._late:
                steps = self._steps()
                seconds = seconds * steps / (steps - 1) if steps > 1 else 0.0
        self._since, self._since_done, self._began_at = now, self.done, 0
        self.steps, self._late, self._away = 0, False, 0.0
        return seconds

    def _steps(self) -> int:
        """The steps done while the measurement went on, and the one that it began after.

        It counts how often should_checkpoint() was asked. A program that reports before
        it asks has done one more; its step number tells.
        """
        done = int(self._step or 0) - self._began_at
        return done if done == self.steps + 1 else self.steps

    def _partial(self) -> bool:
        """Whether the count went up by more than was done in this run: a program that
        counts whole epochs was resumed within one. Its steps tell, or how often
        should_checkpoint() was asked where it reports none."""
        began, work = self._began_at, self.done - self._since_done
        step = self._step or began + self.steps
        if began <= 0 or step <= began or self._epoch != self.done:
            return False
        return (step - began) * self.done / step < 0.9 * work

    def note(self, event: str, step: Optional[float] = None, epoch: Optional[float] = None,
             metric: Optional[Mapping[str, float]] = None, seconds: float = 0.0) -> None:
        """Write a line. A failure is said once and harms nothing."""
        try:
            entry = {"time": self.clock(), "restarts": self._common["restarts"], "event": event, "done": self.done,
                     "gpus": self._gpus()}
            optional = {"seconds": seconds, "nodes": self._common["nodes"]}
            entry.update({k: v for k, v in optional.items() if v})
            # A program that counts from 0 says so in its first report.
            counted = {"step": step if step is None else int(step), "epoch": epoch if epoch is None else float(epoch)}
            entry.update({k: v for k, v in counted.items() if v or event == "progress" and v is not None})
            if metric:
                entry["metric"] = numbers(metric)
                lost = [str(k) for k, v in metric.items() if not math.isfinite(float(v))]
                if lost:
                    entry["nan"] = lost[:32]
            _files.append_line(self._path, entry)
        except (OSError, ValueError, OverflowError) as e:
            self._warn("reporting progress; training goes on", e)


def numbers(metric: Mapping[str, float]) -> Dict[str, float]:
    """The values of a metric that JSON can say."""
    return {str(k): float(v) for k, v in metric.items() if math.isfinite(float(v))}
