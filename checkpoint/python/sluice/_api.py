"""The functions users call, over the one Job of a process."""

from __future__ import annotations

import contextlib
import json
import math
import os
import pathlib
import pickle
import threading
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Union

from . import _files, _flights, _job, _ranks, _state, _trust, _world, _write

Path = Union[str, "os.PathLike[str]"]
Metric = Mapping[str, float]

_buffers: Dict[str, _state.Buffers] = {}  # by the file they are for


def active() -> bool:
    """Whether this process belongs to a sluice job."""
    return _job._current().active


def rank() -> int:
    """This process's rank; 0 in a program of one process."""
    return _ranks.rank()


def world() -> _world.World:
    """The sizes of the program: now, before and the largest it may get.

    Valid at any time; once the program's ranks have met (init_process_group) its
    size and rank are what they agreed on.
    """
    return _job._current().world()


def hello() -> None:
    """Tell sluice that this program saves when asked.

    The first should_checkpoint() does so by itself.
    """
    _job._current().hello()


def should_checkpoint() -> bool:
    """Whether to save now; the same answer on every rank. Collective.

    Cheap: call it after every step. The ranks agree about once a second and only
    count in between, so the answer comes within about a second, or a step where
    steps are longer.
    """
    return (_job._job or _job._current()).should_checkpoint()


def save_dir(background: bool = False) -> pathlib.Path:
    """Open the next checkpoint and return the path of its folder. Collective.

    It is the same folder on every rank, so that ranks may write a file each;
    state that is equal on all ranks is for rank 0 to write. commit() closes it,
    or abandon(). See checkpoint() for background.
    """
    return _job._current().save_dir(background)


def commit(step: float, epoch: float = 0.0, metric: Optional[Metric] = None, pause: bool = True) -> bool:
    """Close the checkpoint that save_dir() opened. Collective.

    Returns True when the checkpoint is committed, False when it could not be written
    (a full disk, or outside a job); training can continue in either case. If
    sluice requested it, this call waits until the job is stopped; pause=False returns
    instead, for programs that then exit. metric, a dict of numbers, is kept in
    the manifest and reported as progress. In the background True means that it
    is being written.
    """
    return _job._current().commit(step, epoch, metric, pause)


def abandon() -> None:
    """Close the checkpoint that save_dir() opened without committing it. Collective.

    For programs that failed to save: every rank calls commit() or abandon(), and
    if one abandons there is no checkpoint.
    """
    _job._current().commit(0, 0.0, error=_write.Cancelled())


def wait() -> bool:
    """Wait until a checkpoint in the background is committed. Collective.

    True unless one was lost to an error. Call it at the end of a program that
    needs its last one: what is not committed when a program ends is lost.
    """
    return _job._current().wait()


@contextlib.contextmanager
def checkpoint(step: float, epoch: float = 0.0, metric: Optional[Metric] = None, pause: bool = True,
               background: bool = False) -> Iterator[pathlib.Path]:
    """save_dir() and commit() around a block that writes the files. Collective.

    A block that fails leaves no checkpoint. When it fails because the file
    system is full or temporarily fails, that is reported and training continues; every
    other exception is the program's and is raised.

    With background, save() in the block only copies the state to host memory,
    which needs that much memory on every node. It is written while training
    goes on, and committed at a later should_checkpoint() on which all ranks
    agree. A checkpoint that sluice waits for is not written in the background.
    """
    job = _job._current()
    folder = job.save_dir(background)
    try:
        yield folder
    except Exception as e:
        job.commit(step, epoch, error=e)
        if not _files.is_file_system(e):
            raise
        job.warn("saving a checkpoint; training goes on without it", e)
        return
    except BaseException:
        # The program is being ended: the other ranks are, too, and this one does not wait for them.
        job.drop()
        raise
    job.commit(step, epoch, metric, pause)


def save(state: Any, path: Path, parts: bool = False) -> None:
    """Save state as torch.save(state, path) does, summed while it is written.

    With parts the path becomes a folder, written and read by several threads,
    and tensors that have not changed since the last checkpoint are not written
    again. Only load() reads that. Without, torch.load reads it, too.

    A full disk raises OSError where torch.save ends the program with signal
    ABRT. If a checkpoint's folder is temporary (outside a job,
    or on a full disk) nothing is written in it.
    """
    job, full = _job._current(), os.path.abspath(os.fspath(path))
    opened = job.open
    inside = opened is not None and full.startswith(opened.path + os.sep)
    if opened is None or not inside:
        _work(full, parts, state, None, "")(threading.Event(), _nothing)
    elif opened.sequence == 0:
        return
    else:
        earlier = job.earlier() if parts else None
        relative = os.path.relpath(full, opened.path).replace(os.sep, "/")
        if not opened.background:
            opened.sums.update(_work(full, parts, state, earlier, relative)(threading.Event(), _nothing))
            return
        snapshot = _state.take(state, _buffers_for(relative), copy=True)
        opened.size += snapshot.nbytes()
        opened.work.append(_work(full, parts, snapshot, earlier, relative))


def _buffers_for(relative: str) -> _state.Buffers:
    return _buffers.setdefault(relative, _state.Buffers())


def _nothing(size: int, linked: bool) -> None:
    pass


def _work(full: str, parts: bool, state: Any, earlier: Optional[_write.Earlier], relative: str) -> _flights.Work:
    """What must be done to save a state, or a snapshot of it, completely."""
    def work(stop: threading.Event, note: Callable[[int, bool], None]) -> Dict[str, _write.Sum]:
        later = isinstance(state, _state.Snapshot)
        if parts:
            snapshot = state if later else _state.take(state, _buffers_for(relative), copy=False)
            return _state.write(snapshot, full, earlier, relative, _write.threads_for(training=later), stop, note)
        summed = _torch_save(state.state() if later else state, full, stop)
        note(summed.size, False)
        return {full: summed}

    return work


def _torch_save(state: Any, full: str, stop: threading.Event) -> _write.Sum:
    import torch

    file = _write.Summed(full, patient=True, stop=stop)
    try:
        torch.save(state, file)
        return file.close()
    except RuntimeError:
        if file.error is not None:
            raise file.error
        raise
    finally:
        file.discard()


def load(path: Path, map_location: Any = None, **more: Any) -> Any:
    """Load what save() saved, with or without parts.

    map_location is a device onto which all tensors are put; None puts them where
    they were. A single file is torch.load's, which gets whatever else is given.

    Unpickling runs code of the file's writer. From a file that users other than its owner
    could have written only tensors and plain values are loaded, and PermissionError
    is raised where there is more; weights_only=False loads that, too.
    """
    import torch

    path = os.fspath(path)
    why = _trust.doubt(path, os.environ.get("SLUICE_JOB_DIR", ""))
    try:
        if os.path.isdir(path):
            careful = bool(more.get("weights_only", why))
            return _state.read(path, None if map_location is None else str(torch.device(map_location)), careful)
        return torch.load(path, map_location=map_location, **{"weights_only": bool(why), **more})
    except pickle.UnpicklingError as e:
        if not why or "weights_only" in more:
            raise
        raise _trust.refusal(path, why) from e


def resume() -> Optional[_files.Checkpoint]:
    """The checkpoint to start from, as a Checkpoint, or None to start from zero.

    It is the newest valid one: its checksums were verified before the program
    was started.
    """
    return _job._current().resume()


def report(epoch: Optional[float] = None, step: Optional[float] = None, done: Optional[float] = None,
           metric: Optional[Metric] = None, **metrics: float) -> None:
    """Report progress: how many epochs or steps are finished. Rank 0's counts.

    done is in the unit the job was submitted with and may be fractional; it is
    epoch for jobs counted in epochs and step for those counted in steps when not
    given. metric is a dict of numbers; other arguments, as in report(epoch=3, val_acc=.8),
    are added to it. It may be called at every step: after the first thirty a line
    is written every five seconds, but in a trial of a sweep each line with the
    sweep's metric.
    """
    if metrics:
        metric = {**(metric or {}), **metrics}
    for name, value in (metric or {}).items():
        try:
            float(value)
        except (TypeError, ValueError):
            raise TypeError(f"sluice.report: {name} is {value!r}: want a number; leave {name} out where there is none") from None
    (_job._job or _job._current()).report(epoch, step, done, metric)


def params() -> Dict[str, Any]:
    """The parameters of this trial of a sweep; empty outside of one."""
    path = os.environ.get("SLUICE_PARAMS", "")
    if not path:
        return {}
    with open(path, "rb") as f:
        found = json.loads(f.read(1 << 20))
    if not isinstance(found, dict):
        raise ValueError(f"{path}: not the parameters of a trial")
    return found


def finished() -> None:
    """Say that all work is done; the program is about to exit 0."""
    _job._current().finished()


def accumulation_steps(global_batch: int, per_gpu_max: int) -> int:
    """How many micro-batches a step needs so that the global batch stays what it
    is on any number of GPUs and none holds more than per_gpu_max samples."""
    if global_batch < 1 or per_gpu_max < 1:
        raise ValueError("global_batch and per_gpu_max: at least 1")
    per_rank = math.ceil(global_batch / _ranks.size())
    return math.ceil(per_rank / per_gpu_max)
