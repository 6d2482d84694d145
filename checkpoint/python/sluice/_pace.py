"""When all ranks look for a request together, and who looks meanwhile.

Agreeing costs a message to every rank. So the ranks agree only now and then, and
at each agreement rank 0 says after how many further calls comes the next: between
the two every rank only counts. Rank 0 picks that number from how long a step
takes.
"""

from __future__ import annotations

import threading
from typing import Callable, Optional

EVERY = 0.9  # seconds between two agreements, about
LONGEST = 256  # calls between two agreements at most: steps may become slower
LOOK = 0.2  # seconds between two looks for the request's file


class Pace:
    """Counts the calls to the next agreement. The same on every rank."""

    def __init__(self) -> None:
        self.left = 0  # calls until the next agreement
        self.gap = 1  # as agreed last
        self._began: Optional[float] = None  # seconds; when the gap began
        self._step = 0.0  # seconds a call, the slowest lately

    def plan(self, now: float) -> int:
        """Say after how many calls to agree again. Rank 0 decides.

        It grows by doubling only, so that a few quick steps do not make the
        slow ones that follow wait.
        """
        if self._began is None:
            return self.gap
        self._step = max((now - self._began) / self.gap, self._step / 2)
        fitting = int(EVERY / self._step) if self._step > 0 else LONGEST
        return max(1, min(fitting, 2 * self.gap, LONGEST))

    def agreed(self, gap: int, now: float) -> None:
        """Begin the gap that was agreed."""
        self.gap = self.left = max(1, gap)
        self._began = now

    def disturbed(self) -> None:
        """The time since the last agreement was not spent on steps alone."""
        self._began = None


class Watch:
    """Looks for the request in a thread, so that training waits for no file.

    A file system that hangs then holds up the answer, not the training.
    """

    def __init__(self, look: Callable[[], str], every: float = LOOK) -> None:
        self._look = look
        self._every = every
        self._thread: Optional[threading.Thread] = None
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._seen = ""
        self._told = 0  # number of results set by other callers

    def seen(self) -> str:
        """The id of the request that stood at the last look, "" = none.

        The first call looks by itself. The thread is started again where a fork
        has left it behind.
        """
        if self._thread is None or not self._thread.is_alive():
            self._lock = threading.Lock()
            self._stop = threading.Event()
            self._seen = self._look()
            self._thread = threading.Thread(target=self._run, args=(self._stop,), name="sluice", daemon=True)
            self._thread.start()
        return self._seen

    def know(self, request: str) -> None:
        """Take the result of a look that another caller made just now."""
        with self._lock:
            self._told += 1
            self._seen = request

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()

    def _run(self, stop: threading.Event) -> None:
        while not stop.wait(self._every):
            told = self._told
            seen = self._look()
            with self._lock:
                if told == self._told:
                    self._seen = seen
