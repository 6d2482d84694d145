"""The functions users call, over one Job for each process."""

import contextlib
import math
import os
import pathlib
import sys
import tempfile
import time

from typing import Optional

from . import _files, _profile, _ranks, _world

LOOK_EVERY = 0.05  # seconds between two looks for a request
PAUSE = 0.1  # seconds between two looks while waiting to be stopped
RETRY_AFTER = 10.0  # seconds before a save that failed is tried again


class Job:
    """What this process knows of the job it belongs to."""

    def __init__(self, environ=None, clock=time.time):
        environ = os.environ if environ is None else environ
        self.environ = environ
        self.clock = clock
        self.folder = environ.get("SLUICE_JOB_DIR", "")
        self.active = bool(self.folder)
        self.id = _int(environ.get("SLUICE_JOB_ID"))
        self.restarts = _int(environ.get("SLUICE_RESTARTS"))
        self.nodes = _int(environ.get("SLUICE_NODES"))
        self.request_path = environ.get("SLUICE_REQUEST", "")
        self.checkpoints = environ.get("SLUICE_CHECKPOINTS", "")
        self.resume_path = environ.get("SLUICE_RESUME", "")
        self.by_step = environ.get("SLUICE_UNIT") == "step"
        self.agreement = _ranks.Agreement()
        self.pace = _profile.Pace(environ)
        self.said_hello = False
        self.looked = -math.inf
        self.seen = ""  # request seen at the last look, rank 0 only
        self.failed = ""  # request whose save failed ...
        self.failed_at = -math.inf  # ... and when
        self.answered = ""  # request answered already, while it stands
        self.resumed = None
        self.before = None  # size of the run before, once knows_before
        self.knows_before = False
        self.sequence = 0
        self.opened = None  # folder of the checkpoint being written
        self.since = None  # when, and at how much work done, the speed's
        self.since_done = 0.0  # measurement began
        self.steps = 0  # calls of should_checkpoint() during it
        self.late = True  # it began after its first step, not before
        self.away = 0.0  # seconds of it spent saving and waiting
        self.saving = 0.0  # when the checkpoint being written was opened
        self.warned = set()

    def warn(self, what, error):
        """Say once what went wrong; it is no reason to stop training."""
        if what not in self.warned:
            self.warned.add(what)
            print(f"sluice: {what}: {error}", file=sys.stderr, flush=True)

    # Requests.

    def pending(self):
        """The id of the request that stands, as rank 0 sees it; "" = none."""
        if not self.request_path:
            return ""
        try:
            return _files.read_request(self.request_path)
        except (OSError, ValueError) as e:
            self.warn("reading the request to save", e)
            return ""

    def should_checkpoint(self):
        if not self.active:
            return False
        self.hello()
        self.steps += 1
        self.pace.step(self)
        if self.since is None:
            self.since = self.clock()
        ask = b"1" if _ranks.rank() == 0 and self._asked() else b""
        return self.agreement.from_first(ask) == b"1"

    def _asked(self):
        """Whether a request stands that wants to be answered now."""
        now = time.monotonic()
        if now - self.looked >= LOOK_EVERY:
            self.looked = now
            self.seen = self.pending()
            if not self.seen:
                self.answered = ""  # should the same be asked again, it counts
        if not self.seen or self.seen == self.answered:
            return False
        return self.seen != self.failed or now - self.failed_at >= RETRY_AFTER

    # Checkpoints.

    def save_dir(self):
        if not self.active:
            self.opened = tempfile.mkdtemp(prefix="sluice-")
            return pathlib.Path(self.opened)
        self.saving = self.clock()
        answer, problem = b"", None
        if _ranks.rank() == 0:
            try:
                path, _ = _files.next_checkpoint(self.checkpoints)
                answer = os.path.basename(path).encode()
            except OSError as e:
                problem = e
        name = self.agreement.from_first(answer).decode()
        if not name:
            return self._no_folder(problem)
        self.opened, self.sequence = os.path.join(self.checkpoints, name), int(name)
        return pathlib.Path(self.opened)

    def _no_folder(self, problem):
        """The disk is full: let the program write where it does no harm."""
        if problem is not None:
            self.warn("making room for a checkpoint; training goes on without it", problem)
            self._save_failed()
        self.opened, self.sequence = tempfile.mkdtemp(prefix="sluice-"), 0
        return pathlib.Path(self.opened)

    def _save_failed(self):
        self.failed, self.failed_at = self.pending(), time.monotonic()

    def commit(self, step, epoch, metric=None, pause=True, well=True):
        """Close the open checkpoint. True when it was committed."""
        path, self.opened = self.opened, None
        if path is None:
            raise RuntimeError("sluice.commit() without sluice.save_dir()")
        if not self.active or self.sequence == 0:
            _files.discard(path)
            return False
        try:
            # The barrier: nobody's file is summed before everybody has written.
            if not self.agreement.all_well(well):
                return self._abandon(path)
            if metric:
                self.report(epoch, step, metric=metric)
            return self._close(path, step, epoch, metric, pause)
        finally:
            self.away += max(0.0, self.clock() - self.saving)

    def _close(self, path, step, epoch, metric, pause):
        answer, problem = b"", None
        if _ranks.rank() == 0:
            try:
                answer = b"+" + self._seal(path, step, epoch, metric).encode()
            except (OSError, ValueError) as e:
                problem = e
        answer = self.agreement.from_first(answer)
        if not answer:
            if problem is not None:
                self.warn("committing a checkpoint; training goes on without it", problem)
            return self._abandon(path)
        self.answered = answer[1:].decode()
        if self.answered and pause:
            self._wait(self.answered)
        return True

    def _seal(self, path, step, epoch, metric):
        """Sum the files and write the manifest; return the request it answers.

        The request is looked for last, when the state on disk is complete: a
        checkpoint that happened to be under way answers it, and no second one is
        needed. The time comes first, so that whoever reads the manifest knows
        that a request from before it was not missed.
        """
        entries = _files.sum_files(path)
        if not entries:
            raise ValueError("no file was saved in the checkpoint's folder")
        created = self.clock()
        request = self.pending()
        manifest = {
            "version": _files.VERSION,
            "job": self.id,
            "token": os.path.basename(os.path.normpath(self.folder)),
            "restarts": self.restarts,
            "sequence": self.sequence,
            "step": int(step),
            "epoch": float(epoch),
            "created": _files.timestamp(created),
            "gpus": _ranks.size(),
            "files": entries,
        }
        if metric:
            manifest["metric"] = _numbers(metric)
        if request:
            manifest["request"] = request
        _files.write_manifest(path, manifest)
        return request

    def _abandon(self, path):
        if _ranks.rank() == 0:
            self._save_failed()
            _files.discard(path)
        return False

    def _wait(self, request):
        """Wait to be stopped, or until the request is taken back.

        Every rank looks for itself: a collective would run into its time limit.
        """
        while True:
            try:
                if _files.read_request(self.request_path) != request:
                    return
            except (OSError, ValueError):
                pass  # a file system that stutters takes nothing back
            time.sleep(PAUSE)

    def resume(self):
        if not self.active or not self.resume_path:
            return None
        if self.resumed is None:
            manifest = _files.read_manifest(self.resume_path)
            self.resumed = _files.Checkpoint(self.resume_path, manifest)
            self.since_done = self._done(self.resumed.step, self.resumed.epoch)
            self.note("resumed", self.since_done, self.resumed.step, self.resumed.epoch)
        return self.resumed

    def world(self) -> _world.World:
        """The sizes now, before and at most."""
        if self.active and not self.knows_before:
            self.knows_before = True
            saved = self.resume()
            self.before = saved.gpus if saved else None
            if not self.before:
                self.before = _world.size_before(self.folder, self.restarts)
        return _world.look(self.environ, self.before)

    # Progress.

    def _done(self, step, epoch):
        return float(step or 0) if self.by_step else float(epoch or 0.0)

    def hello(self):
        if self.active and not self.said_hello:
            self.said_hello = True
            self.note("hello", self.since_done, None, None)

    def report(self, epoch=None, step=None, done=None, metric=None):
        if not self.active or _ranks.rank() != 0:
            return
        if done is None:
            done = self._done(step, epoch)
        self.note("progress", float(done), step, epoch, metric, self._speed(float(done)))

    def _speed(self, done):
        """Seconds a unit of work took since the last report; 0 = not known."""
        now, seconds = self.clock(), 0.0
        if self.since is not None and done > self.since_done:
            seconds = max(0.0, now - self.since - self.away) / (done - self.since_done)
            if self.late:
                seconds = seconds * self.steps / (self.steps - 1) if self.steps > 1 else 0.0
        self.since, self.since_done = now, done
        self.steps, self.late, self.away = 0, False, 0.0
        return seconds

    def finished(self):
        if self.active and _ranks.rank() == 0:
            self.note("finished", self.since_done, None, None)

    def note(self, event, done, step, epoch, metric=None, seconds=0.0):
        if _ranks.rank() != 0:
            return
        entry = {"time": self.clock(), "restarts": self.restarts, "event": event, "done": done, "gpus": _ranks.size()}
        optional = {"step": step and int(step), "epoch": epoch and float(epoch), "seconds": seconds, "nodes": self.nodes}
        entry.update({k: v for k, v in optional.items() if v})
        if metric:
            entry["metric"] = _numbers(metric)
        try:
            _files.append_line(os.path.join(self.folder, "progress.jsonl"), entry)
        except (OSError, ValueError) as e:
            self.warn("reporting progress; training goes on", e)


def _numbers(metric):
    """The values of a metric that JSON can say."""
    return {str(k): float(v) for k, v in metric.items() if math.isfinite(float(v))}


def _int(text):
    try:
        return int(text or 0)
    except ValueError:
        return 0


_job = None


def _current():
    """The process's Job, made at the first use."""
    global _job
    if _job is None:
        _job = Job()
    return _job


def active():
    """Whether this process belongs to a job that sluice looks after."""
    return _current().active


def rank():
    """This process's rank; 0 in a program of one process."""
    return _ranks.rank()


def world() -> _world.World:
    """The sizes of the program: now, before and the largest it may get.

    Right at any time; once the program's ranks have met (init_process_group) its
    size and rank are what they agreed on.
    """
    return _current().world()


def hello():
    """Tell sluice that this program saves when asked.

    The first should_checkpoint() does so by itself.
    """
    _current().hello()


def should_checkpoint():
    """Whether to save now; the same answer on every rank. Collective.

    Cheap: call it after every step. Rank 0 looks for a request at most every
    50 ms; the others are told.
    """
    return _current().should_checkpoint()


def save_dir():
    """Open the next checkpoint and return the path of its folder. Collective.

    It is the same folder on every rank, so that ranks may write a file each;
    state that is equal on all ranks is for rank 0 to write. commit() closes it.
    """
    return _current().save_dir()


def commit(step, epoch=0.0, metric=None, pause=True):
    """Close the checkpoint that save_dir() opened. Collective.

    Returns True when the checkpoint counts, False when it could not be written
    (a full disk, or outside of a job); training can go on in either case. If
    sluice asked for it, this call waits to be stopped; pause=False returns
    instead, for programs that then exit. metric, a dict of numbers, is kept in
    the manifest and reported as progress.
    """
    return _current().commit(step, epoch, metric, pause)


def abandon():
    """Close the checkpoint that save_dir() opened without committing it. Collective.

    For programs that failed to save: every rank calls commit() or abandon(), and
    if one abandons there is no checkpoint.
    """
    _current().commit(0, 0.0, well=False)


@contextlib.contextmanager
def checkpoint(step, epoch=0.0, metric=None, pause=True):
    """save_dir() and commit() around a block that writes the files. Collective.

    A block that fails leaves no checkpoint. When it fails because the file
    system is full or stutters, that is reported and training goes on; every
    other exception is the program's and is raised.
    """
    job = _current()
    folder = job.save_dir()
    try:
        yield folder
    except Exception as e:
        job.commit(step, epoch, well=False)
        if not _files.is_file_system(e):
            raise
        job.warn("saving a checkpoint; training goes on without it", e)
        return
    except BaseException:
        # Being ended: the other ranks are, too, and are not waited for.
        job.opened = None
        raise
    job.commit(step, epoch, metric, pause)


def save(state, path):
    """torch.save(state, path), but a full disk raises OSError.

    torch.save itself ends the program then, with signal ABRT.
    """
    import torch

    with open(path, "wb") as f:
        file = _files.Patient(f)
        torch.save(state, file)
        file.flush()
        if file.error is not None:
            raise file.error


def resume():
    """The checkpoint to start from, as a Checkpoint, or None to start from zero.

    Its checksums were verified before the program was started.
    """
    return _current().resume()


def report(epoch=None, step=None, done=None, metric=None):
    """Report progress: how many epochs or steps are finished. Rank 0's counts.

    done is in the unit the job was submitted with and may be fractional; it is
    epoch for jobs counted in epochs and step for those counted in steps when not
    given. metric is a dict of numbers.
    """
    _current().report(epoch, step, done, metric)


def finished():
    """Say that all work is done; the program is about to exit 0."""
    _current().finished()


def accumulation_steps(global_batch, per_gpu_max):
    """How many micro-batches a step needs so that the global batch stays what it
    is on any number of GPUs and none holds more than per_gpu_max samples."""
    if global_batch < 1 or per_gpu_max < 1:
        raise ValueError("global_batch and per_gpu_max: at least 1")
    per_rank = math.ceil(global_batch / _ranks.size())
    return math.ceil(per_rank / per_gpu_max)
