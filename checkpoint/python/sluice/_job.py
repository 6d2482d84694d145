"""What a process knows of the job it belongs to, and what it does about it."""

from __future__ import annotations

import atexit
import math
import os
import pathlib
import sys
import tempfile
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from . import _asking, _end, _files, _flights, _leave, _pace, _profile, _progress, _ranks, _trust, _world, _write

PAUSE = 0.1  # seconds between two looks while waiting to be stopped
RETRY_AFTER = 10.0  # seconds before a save that failed is tried again
# How long a program that ends waits for other ranks to come to the last
# should_checkpoint(), as they have all begun it: as long as torch's own messages
# wait, and not for them when an error ends it.
LEAVE = 1800.0  # seconds
FAIL = 5.0  # seconds


class Job:
    """One process's part in a job; inactive outside of sluice.

    clock is Unix time and steady a clock that never jumps, both in seconds.
    """

    def __init__(self, environ: Optional[Mapping[str, str]] = None, clock: Callable[[], float] = time.time,
                 steady: Callable[[], float] = time.monotonic, agreement: Optional[_ranks.Agreement] = None) -> None:
        environ = os.environ if environ is None else environ
        self.environ = environ
        self.clock = clock
        self.steady = steady
        self.folder = environ.get("SLUICE_JOB_DIR", "")
        # A task beside the workers (sluice ranks --and): to save, to report and to answer
        # is the workers' part; it may look where to start from.
        self.beside = environ.get("SLUICE_TASK", "worker") != "worker"
        self.active = bool(self.folder) and not self.beside
        self.id = _world.number(environ, "SLUICE_JOB_ID")
        self.restarts = _world.number(environ, "SLUICE_RESTARTS")
        self.request_path = environ.get("SLUICE_REQUEST", "")
        self.checkpoints = environ.get("SLUICE_CHECKPOINTS", "")
        self.resume_path = environ.get("SLUICE_RESUME", "")
        self.by_step = environ.get("SLUICE_UNIT") == "step"
        self.agreement = agreement or _ranks.Agreement()
        self.watch = _pace.Watch(self.pending)
        self.profile = _profile.Pace(environ)
        self.nodes = _world.number(environ, "SLUICE_NODES")
        self.all_gpus = _world.number(environ, "SLUICE_GPUS")
        self.progress = _progress.Progress(self.folder, {"restarts": self.restarts, "nodes": self.nodes}, self.gpus, clock, self.warn)
        self.speaks: Optional[bool] = None  # whether this is rank 0, once the ranks have met
        self.said_hello = False
        self.asked = False  # the last answer of should_checkpoint()
        self.failed = ""  # request whose save failed ...
        self.failed_at = -math.inf  # ... and when
        self.answered = ""  # request answered already, while it stands
        self.resumed: Optional[_files.Checkpoint] = None
        self.last = ""  # folder of the newest checkpoint known to be committed
        self.before: Optional[int] = None  # size of the run before, once knows_before
        self.knows_before = False
        self.open: Optional[_flights.Open] = None
        self.flights = _flights.Flights(self)
        self.asking = _asking.Asking(self.agreement, self.flights, self._wanted, steady)
        self.saving = 0.0  # when the checkpoint being written was opened
        self.leaving = _leave.Leave()
        self.warned: set[str] = set()
        self.process = os.getpid()
        if self.active:
            atexit.register(self.leave)

    def warn(self, what: str, error: object) -> None:
        """Report an error once; training continues."""
        if what not in self.warned:
            self.warned.add(what)
            print(f"sluice: {what}: {error}", file=sys.stderr, flush=True)

    def first(self) -> bool:
        """Whether this process decides for all ranks."""
        return self.agreement.rank() == 0

    def leave(self) -> None:
        """The program ends: what is not committed will never be."""
        if os.getpid() != self.process:
            return  # a fork: its parent is the one in the job
        self.watch.stop()
        if self.flights.now is not None:
            self.flights.now.cancel()
        try:
            self.progress.flush()
        finally:
            failed = getattr(sys, "last_value", None) is not None
            self.agreement.settle(FAIL if failed else LEAVE)

    def retire(self) -> None:
        """The process goes on with another job: nothing of this one may go on."""
        if not self.active:
            return
        self.watch.stop()
        if self.flights.now is not None:
            self.flights.now.cancel()
            self.flights.now.join()
        self.drop()
        self.progress.flush()
        atexit.unregister(self.leave)
        self.active = self.leaving.within = False

    # Requests.

    def pending(self) -> str:
        """The id of the request that stands, "" = none."""
        return self._standing()[0]

    def _standing(self) -> Tuple[str, bool]:
        """The id of the request that stands, and whether to train on after it."""
        if not self.request_path:
            return "", False
        self.leaving.look()
        try:
            return _files.look_for_request(self.request_path)
        except (OSError, ValueError) as e:
            self.warn("reading the request to save", e)
            return "", False

    def should_checkpoint(self) -> bool:
        """Whether to save now, the same on every rank."""
        self.progress.steps += 1
        if self.profile.left > 0:
            self.profile.step(self)
        pace = self.asking.pace
        if pace.left > 1:  # mostly: nothing else is touched between two steps
            pace.left -= 1
            self.asked = False
            return False
        if not self.active:
            return False
        if not self.agreement.met():
            self.warn("asked whether to save", "the ranks have not met through torch.distributed or mpi4py, and `sluice ranks` did not start them; they cannot agree")
            return False
        self.speaks = self.first()
        self.hello()
        self.progress.stepped()
        self.asked = self.asking.answer()
        self.leaving.leave(self.agreement.size())
        return self.asked

    def gpus(self) -> int:
        """The GPUs the program runs on: one a rank, and all of the job's where one
        process drives them."""
        ranks = self.agreement.size()
        return ranks if ranks > 1 else max(1, self.all_gpus)

    def _wanted(self) -> bool:
        """Whether a request stands that wants to be answered now. Rank 0's."""
        seen = self.watch.seen()
        if not seen:
            self.answered = ""  # should the same be asked again, it counts
            return False
        if seen == self.answered:
            return False
        return seen != self.failed or self.steady() - self.failed_at >= RETRY_AFTER

    # Checkpoints.

    def save_dir(self, background: bool = False) -> pathlib.Path:
        """Open the next checkpoint; in the background unless sluice waits for it."""
        if not self.active:
            self.open = _flights.Open(_scratch(), 0, background)
            return pathlib.Path(self.open.path)
        self.saving = self.clock()
        self.asking.arrive()
        self.asked = self.asking.take() or self.asked
        self.flights.settle(hurry=self.asked)
        answer, problem = b"", None
        if self.first():
            try:
                path, _ = _files.next_checkpoint(self.checkpoints, self.flights.highest)
                answer = os.path.basename(path).encode()
            except OSError as e:
                problem = e
        name = self.agreement.from_first(answer).decode()
        if not name:
            return self._no_folder(problem)
        self.open = _flights.Open(os.path.join(self.checkpoints, name), int(name), background and not self.asked)
        return pathlib.Path(self.open.path)

    def _no_folder(self, problem: Optional[OSError]) -> pathlib.Path:
        """The disk is full: give the program a folder whose content is discarded."""
        if problem is not None:
            self.warn("making room for a checkpoint; training goes on without it", problem)
            self._save_failed()
        self.open = _flights.Open(_scratch(), 0, False)
        return pathlib.Path(self.open.path)

    def _save_failed(self) -> None:
        self.failed, self.failed_at = self.pending(), self.steady()

    def earlier(self) -> Optional[_write.Earlier]:
        """The checkpoint whose unchanged files a new one may share."""
        path = self.last or self.resume_path
        if not path or _files.refused(self.folder):
            return None
        return _files.earlier(path)

    def drop(self) -> None:
        """Forget the open checkpoint, without a word to the other ranks."""
        opened, self.open = self.open, None
        if opened is not None and opened.sequence == 0:
            _files.discard(opened.path)

    def commit(self, step: float, epoch: float, metric: Optional[Mapping[str, float]] = None,
               pause: bool = True, error: Optional[BaseException] = None) -> bool:
        """Close the open checkpoint, given up if error is not None. True when it
        was committed, or will be as far as is known."""
        opened, self.open, self.asked = self.open, None, False
        if opened is None:
            raise RuntimeError("sluice.commit() without sluice.save_dir()")
        if not self.active or opened.sequence == 0:
            _files.discard(opened.path)
            return False
        try:
            manifest = self._manifest(opened, step, epoch, metric)
            if opened.background:
                return self.flights.begin(opened, manifest, error)
            if not self.first():
                _files.leave_sums(opened.path, self.agreement.rank(), opened.sums)
            # The barrier: no rank's file is summed before every rank has written.
            if not self.agreement.all_well(error is None):
                return self._abandon(opened.path)
            return self._close(opened, manifest, pause)
        finally:
            self._spent(step, epoch, metric)

    def _spent(self, step: float, epoch: float, metric: Optional[Mapping[str, float]]) -> None:
        """Saving and waiting is not training."""
        self.progress.away(self.clock() - self.saving)
        self.asking.pace.disturbed()
        if metric:
            self.report(epoch or None, step, metric=metric)

    def _manifest(self, opened: _flights.Open, step: float, epoch: float, metric: Optional[Mapping[str, float]]) -> Dict[str, Any]:
        manifest: Dict[str, Any] = {
            "version": _files.VERSION, "job": self.id, "token": os.path.basename(os.path.normpath(self.folder)),
            "restarts": self.restarts, "sequence": opened.sequence, "step": int(step), "epoch": float(epoch),
            "created": _files.timestamp(self.clock()), "gpus": self.agreement.size(),
        }
        if metric:
            manifest["metric"] = _progress.numbers(metric)
        return manifest

    def _close(self, opened: _flights.Open, manifest: Dict[str, Any], pause: bool) -> bool:
        answer, problem = b"", None
        if self.first():
            try:
                answer = self._seal(opened.path, manifest, opened.sums)
            except (OSError, ValueError) as e:
                problem = e
        answer = self.agreement.from_first(answer)
        if not answer:
            if problem is not None:
                self.warn("committing a checkpoint; training goes on without it", problem)
            return self._abandon(opened.path)
        self.last, self.answered = opened.path, answer[1:].decode()
        if self.first():
            self.watch.know(self.answered)
        if self.answered and pause and answer[:1] == b"+":
            self._wait(self.answered)
        return True

    def _seal(self, path: str, manifest: Dict[str, Any], sums: Mapping[str, _write.Sum]) -> bytes:
        """Sum the files and write the manifest; return the request it answers,
        behind a + when it is to be waited for, else behind a =.

        The request is looked for last, when the state on disk is complete: a
        checkpoint that happened to be under way answers it, and no second one is
        needed. The time is taken first, so that a reader of the manifest knows
        that a request from before it was not missed.
        """
        entries = self.entries(path, sums)
        manifest["created"] = _files.timestamp(self.clock())
        manifest["seconds"] = max(0.0, round(self.clock() - self.saving, 3))
        request, onward = self._standing()
        if request:
            manifest["request"] = request
            if not onward and _end.quietly():
                manifest["ends"] = True
        _files.write_manifest(path, {**manifest, "files": entries})
        return (b"=" if onward else b"+") + request.encode()

    def entries(self, path: str, sums: Mapping[str, _write.Sum]) -> List[Dict[str, Any]]:
        """What a manifest lists; an error where nothing was saved."""
        entries = _files.sum_files(path, {**_files.gather_sums(path), **sums})
        if not entries:
            raise ValueError("no file was saved in the checkpoint's folder")
        return entries

    def _abandon(self, path: str) -> bool:
        if self.first():
            self._save_failed()
            _files.discard(path)
        return False

    def _wait(self, request: str) -> None:
        """Wait to be stopped, or until the request is taken back.

        Every rank looks for itself: a collective would run into its time limit. Told
        to end, each exits before Slurm kills it, which Slurm would write in the job's
        output; the runner has ended first what would go on behind it.
        """
        while True:
            if self.leaving.look():
                if self.leaving.within:
                    raise _leave.Over()
                time.sleep(PAUSE)  # the process is being ended
                continue
            try:
                standing, end = _files.look_for_end(self.request_path)
                if standing != request:
                    return
                if end and _end.quietly():
                    _end.now()
            except (OSError, ValueError):
                pass  # a temporary file system error withdraws no request
            time.sleep(PAUSE)

    def wait(self) -> bool:
        """Bring a background save to its end. Collective."""
        self.asking.arrive()
        if self.asking.wanted:
            self.asking.pace.left = 0  # the next call says so
        return self.flights.settle()

    # The run.

    def resume(self) -> Optional[_files.Checkpoint]:
        """The checkpoint to start from; the runner has verified it."""
        if not (self.active or self.beside) or not self.resume_path:
            return None
        if self.resumed is None:
            _trust.require(self.resume_path, self.folder)
            self.resumed = found = _files.Checkpoint(self.resume_path, _files.read_manifest(self.resume_path))
            if self.active and self.first():
                self.progress.resumed(self._done(found.step, found.epoch), found.step, found.epoch)
        return self.resumed

    def world(self) -> _world.World:
        """The sizes now, before and at most."""
        if self.active and not self.knows_before:
            self.knows_before = True
            saved = _files.manifest_or_none(self.resume_path)
            self.before = int(saved.get("gpus") or 0) or None
            if not self.before:
                self.before = _world.size_before(self.folder, self.restarts)
        return _world.look(self.environ, self.before)

    def _done(self, step: Optional[float], epoch: Optional[float]) -> float:
        return float(step or 0) if self.by_step else float(epoch or 0.0)

    def hello(self) -> None:
        """Say once that this program saves when asked."""
        if self.active and not self.said_hello:
            self.said_hello = True
            if self.first():
                self.progress.note("hello")

    def report(self, epoch: Optional[float] = None, step: Optional[float] = None, done: Optional[float] = None,
               metric: Optional[Mapping[str, float]] = None) -> None:
        """Report progress; rank 0's counts."""
        if self.active and (self.first() if self.speaks is None else self.speaks):
            done = self._done(step, epoch) if done is None else float(done)
            self.progress.report(done, step, epoch, metric)
        if self.leaving.within:
            self.leaving.reported(self.steady(), self.agreement.size())

    def finished(self) -> None:
        """Say that all work is done."""
        if self.active and self.first():
            self.progress.flush()
            self.progress.note("finished")


def _scratch() -> str:
    """A folder whose content is discarded, in memory if no disk has space."""
    try:
        return tempfile.mkdtemp(prefix="sluice-")
    except OSError:
        return tempfile.mkdtemp(prefix="sluice-", dir="/dev/shm")


_job: Optional[Job] = None


def _current() -> Job:
    """The process's Job, made at the first use."""
    global _job
    if _job is None:
        _job = Job()
    return _job
