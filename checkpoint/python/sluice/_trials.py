"""Trial after trial of a sweep in one process.

The lane of a sweep gives a process that loops over trials() a folder (SLUICE_TRIALS).
Files in it say which trial is next and which is over; all of a trial is as in a process
of its own: its variables, its folder, its checkpoints, its request to save.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import sys
import threading
import time
import traceback
from types import TracebackType
from typing import Any, Dict, Iterator, List, Optional, Type

from . import _api, _files, _job, _leave

NEXT, READY, AT = "next.json", "ready.json", "at.json"
LOOK, LATE_LOOK = 0.005, 0.2  # seconds between two looks for a trial; later, when it takes long
PATIENT = 5.0  # seconds after which it takes long
SIGNALS = ("SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGALRM")


class Trial:
    """One trial: its parameters, and where it begins.

    As a context (with trial:) its block is left when the trial is paused, stopped or
    taken away, and an exception in it fails this trial only. Without, the process is
    ended in both cases, and another one trains the next trial.
    """

    def __init__(self, job: _job.Job, host: "Optional[_Host]") -> None:
        self._job = job
        self._host = host
        self.failed = False
        self.number = int(os.environ.get("SLUICE_TRIAL") or 0)  # from 1; 0 outside of a sweep
        self.params: Dict[str, Any] = _api.params()

    @property
    def saved(self) -> Optional[_files.Checkpoint]:
        """The checkpoint to go on from, as sluice.resume(); None = from the beginning."""
        return self._job.resume()

    @property
    def epoch(self) -> float:
        """The epochs that are trained already: 0, or those of the checkpoint."""
        saved = self._job.resume()
        return saved.epoch if saved else 0

    def __repr__(self) -> str:
        return f"Trial({self.number}, {self.params})"

    def __enter__(self) -> "Trial":
        if self._host is not None:
            self._host.enter(self._job)
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], at: Optional[TracebackType]) -> bool:
        self._job.leaving.within = False
        if self._host is None or error is None:
            return False
        if isinstance(error, _leave.Over):
            return True
        # Of several ranks the others would wait for this one: the program ends.
        if not isinstance(error, Exception) or self._job.agreement.size() > 1:
            return False
        self.failed = True
        traceback.print_exception(kind, error, at)
        traceback.clear_frames(at)  # or they would keep the model, and its memory on the GPU
        return True


def trials() -> Iterator[Trial]:
    """The trials that this process trains, one after the other: loop over them.

    The script MUST NOT name parameters on its command lines ({lr}): trial.params has
    them. Outside of a sweep, and in the first trials of one, there is a single trial. In
    a program of several ranks every rank loops; the ranks MUST stay connected between two
    trials (call init_process_group before the loop).
    """
    host = _Host.find()
    if host is None:
        _want()
        yield Trial(_job._current(), None)
        return
    while True:
        job = host.next()
        if job is None:
            return
        trial = Trial(job, host)
        yield trial
        host.over(trial.failed)


def _want() -> None:
    """Tell the lane that this program loops over trials: its next process gets many."""
    path = os.environ.get("SLUICE_TRIALS_WANTED", "")
    if path and int(os.environ.get("RANK") or 0) == 0:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError as e:
            print(f"sluice: each trial gets a process of its own: {e}", file=sys.stderr, flush=True)


class _Host:
    """This process as one that trains trial after trial."""

    _found: "Optional[_Host]" = None

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.id = ""  # of the trial; "" = none was trained yet
        self.ended = False
        self.busy = False
        self.failed = False
        self.mine: List[int] = _own_output(os.environ.get("SLUICE_TRIALS_OUTPUT", ""))
        self.handlers: Dict[int, Any] = {}

    @classmethod
    def find(cls) -> "Optional[_Host]":
        folder = os.environ.get("SLUICE_TRIALS", "")
        if not folder:
            return None
        if cls._found is None or cls._found.folder != folder:
            cls._found = cls(folder)
        if cls._found.busy:
            raise RuntimeError("sluice.trials(): the loop over trials has not ended yet; a program has one")
        return cls._found

    def next(self) -> "Optional[_job.Job]":
        """Take up the next trial; None where there is none. Collective."""
        if self.ended:
            return None
        before = _job._current()
        agreement, found = before.agreement, {}
        if self.id and not agreement.met():
            before.warn("one trial after the other", "the ranks are not connected between two trials, so this process ends and another "
                        "one trains the next; call init_process_group before the loop")
            return self._end(before)
        if self.id:
            before.asking.arrive()  # or it would be read in place of what follows
            agreement.all_well(True)  # every rank is through with the trial
        first = agreement.rank() == 0
        if first:
            self._write(READY, {"after": self.id, "failed": self.failed})
        if self.id:
            gc.collect()
        if first or not self.id:
            found = self._await("")
        if self.id:
            name = agreement.from_first(found.get("id", "").encode()).decode()
            found = found if first else self._await(name)
        if found.get("over") is True:
            return self._end(before)
        return self._take(before, found)

    def _end(self, last: _job.Job) -> None:
        """There is no further trial; the program may go on behind its loop."""
        self.ended = True
        atexit.register(last.leave)

    def _await(self, name: str) -> Dict[str, Any]:
        """The next trial, with this id if it is known."""
        began = time.monotonic()
        while True:
            found = self._read(NEXT)
            here = found.get("id", "")
            if here and here != self.id and (not name or here == name):
                return found
            if not os.path.isdir(self.folder):
                raise SystemExit("sluice: the lane that this process trained for has ended")
            time.sleep(LOOK if time.monotonic() - began < PATIENT else LATE_LOOK)

    def _take(self, before: _job.Job, found: Dict[str, Any]) -> _job.Job:
        """Leave the former trial's folder, and enter that of the next."""
        for name in [n for n in os.environ if n.startswith("SLUICE_PARAM_")]:
            del os.environ[name]
        os.environ.update({str(k): str(v) for k, v in found["environment"].items()})
        self.id, self.failed, self.busy = str(found["id"]), False, True
        before.retire()
        _api._buffers.clear()
        self.handlers = _handlers()
        job = _job._job = _job.Job(agreement=before.agreement)
        job.leaving.path, job.leaving.id = os.path.join(self.folder, "over.json"), self.id
        self._redirect(os.environ.get("SLUICE_TRIAL_OUTPUT", ""))
        self._at(job)
        return job

    def enter(self, job: _job.Job) -> None:
        """The block of the trial begins."""
        job.leaving.within = True
        self._at(job)

    def over(self, failed: bool) -> None:
        """The loop's body has ended."""
        self.busy, self.failed = False, failed
        job = _job._current()
        job.retire()
        for number, handler in self.handlers.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)
        self._redirect(os.environ.get("SLUICE_TRIALS_OUTPUT", ""))

    def _at(self, job: _job.Job) -> None:
        if job.agreement.rank() == 0:
            self._write(AT, {"id": self.id, "within": job.leaving.within, "output": bool(self.mine)})

    def _redirect(self, path: str) -> None:
        """Let what the process prints go to a trial's output."""
        if not self.mine or not path:
            return
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):
                pass
        try:
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        except OSError:
            return
        for number in self.mine:
            os.dup2(file, number)
        os.close(file)

    def _write(self, name: str, content: Dict[str, Any]) -> None:
        path = os.path.join(self.folder, name)
        with open(path + ".new", "w", encoding="utf-8") as f:
            json.dump({"version": _files.VERSION, **content}, f)
        os.replace(path + ".new", path)

    def _read(self, name: str) -> Dict[str, Any]:
        return _files.look_for(os.path.join(self.folder, name))


def _own_output(path: str) -> List[int]:
    """Which of standard output and error go to this file."""
    try:
        there = os.stat(path)
        return [n for n in (1, 2) if os.path.samestat(os.fstat(n), there)]
    except OSError:
        return []


def _handlers() -> Dict[int, Any]:
    """What is done about signals; only the main thread may change it."""
    found = {}
    if threading.current_thread() is threading.main_thread():
        for name in SIGNALS:
            handler = signal.getsignal(getattr(signal, name))
            if handler is not None:
                found[int(getattr(signal, name))] = handler
    return found
