"""Checkpoints that are written while training goes on."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Protocol

from . import _files, _ranks, _write

# One file's work: writes it unless stop is set, calls note with bytes written, and
# returns the files' sums by full path.
Work = Callable[[threading.Event, Callable[[int, bool], None]], Dict[str, _write.Sum]]


class Open:
    """A checkpoint between save_dir() and commit()."""

    def __init__(self, path: str, sequence: int, background: bool) -> None:
        self.path = path
        self.sequence = sequence  # 0: what is written there is thrown away
        self.background = background
        self.sums: Dict[str, _write.Sum] = {}  # of what was written, by full path
        self.work: List[Work] = []  # what is still to be written ...
        self.size = 0  # ... in bytes


class Owner(Protocol):
    """What flights need of the job that they belong to."""

    agreement: _ranks.Agreement
    last: str  # folder of the newest checkpoint known to be committed

    def first(self) -> bool: ...

    def pending(self) -> str: ...

    def entries(self, path: str, sums: Mapping[str, _write.Sum]) -> List[Dict[str, Any]]: ...

    def warn(self, what: str, error: object) -> None: ...


class Flight:
    """One rank's part of a checkpoint between its block's end and its commit.

    Its own thread writes; all ranks learn at their agreements how far every rank
    is. Nothing here raises: a failure is stored in error.
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
        except BaseException as e:  # the thread can report it in no other way
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


class Flights:
    """The one checkpoint of a job that may be in flight. Its callers are
    collective: every rank calls the same in the same order."""

    def __init__(self, job: Owner) -> None:
        self._job = job
        self.now: Optional[Flight] = None
        self.highest = 0  # sequence of any so far: on other ranks threads may write there still
        self._unchanged = 0.0  # share of the last one that was linked

    def begin(self, opened: Open, manifest: Dict[str, Any], error: Optional[BaseException]) -> bool:
        """Start writing an open checkpoint, or tell the others that it failed."""
        self.now = flight = Flight(opened.path, opened.sequence, manifest, opened.sums)
        self.highest = max(self.highest, opened.sequence)
        if error is not None:
            flight.fail(error)
            return False
        work, rank = list(opened.work), self._job.agreement.rank()

        def leave(stop: threading.Event, note: Callable[[int, bool], None]) -> Dict[str, _write.Sum]:
            _files.leave_sums(flight.path, rank, flight.sums)
            return {}

        flight.start(work + [leave] if rank else work, opened.size)
        return True

    def advance(self, flight: Flight, counts: List[int]) -> None:
        """Continue a flight with the sum of all ranks' states."""
        written, failed, sealed, unsealed = counts
        if failed or unsealed:
            self._fallen(flight)
        elif sealed:
            self._landed(flight)
        elif written == self._job.agreement.size() and self._job.first():
            flight.seal(lambda: self._seal(flight))

    def _seal(self, flight: Flight) -> None:
        """Write the manifest of a state from a while ago.

        It answers no request: training has continued, and the answer must include what
        came since, too. Its time is the state's.
        """
        entries = self._job.entries(flight.path, flight.sums)
        if self._job.pending():
            flight.manifest["request"] = "background"  # no request has this id
        _files.write_manifest(flight.path, {**flight.manifest, "files": entries})

    def _landed(self, flight: Flight) -> bool:
        self.now, self._job.last = None, flight.path
        self._unchanged = flight.linked / flight.total if flight.total else 0.0
        return True

    def _fallen(self, flight: Flight) -> bool:
        """It failed on some rank. Its folder is removed when no rank writes there any
        more: a name that appears meanwhile would keep the folder."""
        self.now = None
        flight.cancel()
        if flight.error is not None and not isinstance(flight.error, _write.Cancelled):
            self._job.warn("saving a checkpoint in the background; training goes on without it", flight.error)
        flight.join()
        self._job.agreement.all_well(True)
        if self._job.first():
            _files.discard(flight.path)
        return False

    def settle(self, hurry: bool = False) -> bool:
        """Bring the flight to its end.

        In a hurry one is dropped whose rest would take longer to write than
        what it saves the next: what it shares with it need not be written again.
        True unless a checkpoint was lost.
        """
        flight, agreement = self.now, self._job.agreement
        if flight is None:
            return True
        if hurry:
            keep = flight.left() <= flight.total * self._unchanged
            if agreement.from_first(b"+" if keep else b"") == b"":
                flight.cancel()
        flight.join()
        _, failed, sealed, unsealed = agreement.total(flight.counts())
        if failed or unsealed:
            return self._fallen(flight)
        if not sealed:
            problem = self._seal_now(flight)
            if agreement.from_first(b"" if problem else b"+") == b"":
                flight.error = problem
                return self._fallen(flight)
        return self._landed(flight)

    def _seal_now(self, flight: Flight) -> Optional[BaseException]:
        if self._job.first():
            try:
                self._seal(flight)
            except (OSError, ValueError) as e:
                return e
        return None
