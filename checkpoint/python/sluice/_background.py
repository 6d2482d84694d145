"""A checkpoint that is written while training goes on."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, Optional

from . import _write

# One file's work: writes it unless stop is set, tells note of bytes written, and
# returns the files' sums by full path.
Work = Callable[[threading.Event, Callable[[int, bool], None]], Dict[str, _write.Sum]]


class Flight:
    """One rank's part of a checkpoint between its block's end and its commit.

    Its own thread writes; all ranks learn at their agreements how far everybody
    is. Nothing here raises: what fails is in error.
    """

    def __init__(self, path: str, sequence: int, manifest: Dict[str, Any], sums: Dict[str, _write.Sum]) -> None:
        self.path = path
        self.sequence = sequence
        self.manifest = manifest
        self.sums = sums
        self.error: Optional[BaseException] = None
        self.total = 0  # bytes to be written
        self.written = 0
        self.linked = 0  # bytes of them that had not changed
        self._stop = threading.Event()
        self._written = threading.Event()
        self._sealing: Optional[threading.Thread] = None
        self._sealed = threading.Event()
        self._thread: Optional[threading.Thread] = None
        self._lock = threading.Lock()

    def start(self, work: List[Work], total: int) -> None:
        """Begin to write."""
        self.total = total
        self._thread = threading.Thread(target=self._run, args=(work,), name="sluice-save", daemon=True)
        self._thread.start()

    def fail(self, error: BaseException) -> None:
        """There is nothing to write: the block failed."""
        self.error = error
        self._written.set()

    def _run(self, work: List[Work]) -> None:
        try:
            for one in work:
                self.sums.update(one(self._stop, self._note))
        except BaseException as e:  # the thread has nobody else to tell
            self.error = e
        self._written.set()

    def _note(self, size: int, linked: bool) -> None:
        with self._lock:
            self.written += size
            self.linked += size if linked else 0

    def counts(self) -> List[int]:
        """What the ranks add up: written, failed, sealed, not sealed."""
        written, sealed = self._written.is_set(), self._sealed.is_set()
        well = self.error is None
        return [int(written), int(written and not well), int(sealed and well), int(sealed and not well)]

    def seal(self, seal: Callable[[], Any]) -> None:
        """Write the manifest, in a thread. Rank 0's, when all have written."""
        def run() -> None:
            try:
                seal()
            except BaseException as e:
                self.error = e
            self._sealed.set()

        if self._sealing is None:
            self._sealing = threading.Thread(target=run, name="sluice-seal", daemon=True)
            self._sealing.start()

    def left(self) -> int:
        """Bytes that are still to be written, about."""
        return 0 if self._written.is_set() else max(0, self.total - self.written)

    def cancel(self) -> None:
        """Stop writing soon."""
        self._stop.set()

    def join(self) -> None:
        """Wait until no thread of it writes any more."""
        for thread in (self._thread, self._sealing):
            if thread is not None and thread is not threading.current_thread():
                thread.join()
