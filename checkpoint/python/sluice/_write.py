"""Files written once and summed while they are written.

A file is never read again to sum it, and several are written at a time: hashing
and writing both leave the interpreter to others.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import threading
from typing import Any, Callable, Dict, List, Optional, Sequence

from . import _threads

CHUNK = 4 << 20  # bytes hashed and written at a time
WORTH_A_THREAD = 256 << 10  # bytes from which hashing beside the writing pays
PEEK = 64 << 10  # bytes that mostly tell whether a file has changed


@dataclasses.dataclass(frozen=True)
class Sum:
    """What a file was when it was written. mark tells whether it still is."""

    size: int  # bytes
    sha256: str  # lower-case hex
    mark: "tuple[int, int]"  # inode, time of modification in ns


class Cancelled(Exception):
    """The checkpoint is no longer wanted."""


@dataclasses.dataclass(frozen=True)
class Earlier:
    """A committed checkpoint whose unchanged files may be used again."""

    path: str
    files: Dict[str, "tuple[int, str]"]  # size and sum by path below it


@dataclasses.dataclass(frozen=True)
class Piece:
    """A file to be written: the given bytes one after another."""

    path: str
    content: Sequence[memoryview]
    before: Optional[str] = None  # the same file of the earlier checkpoint ...
    before_sum: str = ""  # ... and its sum


def mark(full: str) -> "tuple[int, int]":
    """What tells a file from another that takes its name, or from its later self."""
    found = os.lstat(full)
    return found.st_ino, found.st_mtime_ns


class Summed:
    """A new file that is summed while it is written; close() flushes it to disk.

    With patient, a write that fails raises nothing but is remembered in error:
    torch.save ends the whole process otherwise, since its writer tries again
    while it is being destroyed.
    """

    def __init__(self, path: str, patient: bool = False, stop: Optional[threading.Event] = None) -> None:
        self._path = path
        self._patient = patient
        self._stop = stop
        self._digest = hashlib.sha256()
        self._size = 0
        self._file = open(path, "wb", buffering=1 << 20)
        self._beside: Optional[_threads.Beside] = None
        self.error: Optional[BaseException] = None

    def write(self, content: Any) -> int:
        """Write and sum all of it; returns the number of bytes."""
        view = memoryview(content).cast("B")
        if self.error is None:
            try:
                self._write(view)
            except (OSError, Cancelled) as e:
                if not self._patient:
                    raise
                self.error = e
        return view.nbytes

    def _write(self, view: memoryview) -> None:
        for start in range(0, view.nbytes, CHUNK):
            if self._stop is not None and self._stop.is_set():
                raise Cancelled()
            chunk = view[start : start + CHUNK]
            if chunk.nbytes < WORTH_A_THREAD:
                self._digest.update(chunk)
                self._file.write(chunk)
            else:
                self._both(chunk)
            self._size += chunk.nbytes

    def _both(self, chunk: memoryview) -> None:
        """Hash in one thread while writing in another."""
        if self._beside is None:
            self._beside = _threads.Beside()
        self._beside.begin(lambda: self._digest.update(chunk))
        try:
            self._file.write(chunk)
        finally:
            self._beside.wait()

    def flush(self) -> None:
        """Nothing: close() flushes."""

    def close(self) -> Sum:
        """Flush to disk and close. Raises what went wrong, now or before."""
        try:
            if self.error is not None:
                raise self.error
            self._file.flush()
            os.fsync(self._file.fileno())
        finally:
            self.discard()
        return Sum(self._size, self._digest.hexdigest(), mark(self._path))

    def discard(self) -> None:
        """Close without a flush. Repeating it does nothing."""
        if self._beside is not None:
            self._beside.stop()
            self._beside = None
        try:
            self._file.close()
        except OSError:
            pass  # what is left in the buffer is not wanted


def write_pieces(pieces: Sequence[Piece], threads: int, stop: Optional[threading.Event] = None,
                 note: Callable[[int, bool], None] = lambda size, linked: None) -> Dict[str, Sum]:
    """Write all, some at a time, and return their sums by path.

    note is told of every finished piece: its size and whether it was linked. The
    first error is raised once no thread writes any more; the files are then
    whatever they are.
    """
    done: Dict[str, Sum] = {}
    unless = stop or threading.Event()

    def one(piece: Piece) -> None:
        found, linked = write_piece(piece, unless)
        done[piece.path] = found
        note(found.size, linked)

    largest_first = sorted(pieces, key=lambda p: -sum(c.nbytes for c in p.content))
    _threads.each(largest_first, threads, one)
    return done


def write_piece(piece: Piece, stop: threading.Event) -> "tuple[Sum, bool]":
    """Write one, or link it to the earlier checkpoint's when that has the same
    content; whether it was linked."""
    if stop.is_set():
        raise Cancelled()
    if piece.before is not None and _alike(piece):
        found = _link(piece, stop)
        if found is not None:
            return found, True
    return _write_piece(piece, stop), False


def _alike(piece: Piece) -> bool:
    """Whether the earlier file begins and ends like this one: then it is worth
    summing before it is written."""
    head, tail = piece.content[0][:PEEK], piece.content[-1][-PEEK:]
    try:
        with open(piece.before or "", "rb", buffering=0) as f:
            if f.read(head.nbytes) != head:
                return False
            f.seek(-tail.nbytes, os.SEEK_END)
            return f.read(tail.nbytes) == tail
    except (OSError, ValueError):
        return False  # the runner may just have removed it


def _link(piece: Piece, stop: threading.Event) -> Optional[Sum]:
    """Link when the sums agree. Files of a checkpoint are never written in place,
    so the two stay what they are."""
    digest, size = hashlib.sha256(), 0
    for part in piece.content:
        for start in range(0, part.nbytes, CHUNK):
            if stop.is_set():
                raise Cancelled()
            digest.update(part[start : start + CHUNK])
        size += part.nbytes
    if digest.hexdigest() != piece.before_sum:
        return None
    try:
        os.link(piece.before or "", piece.path, follow_symlinks=False)
        return Sum(size, piece.before_sum, mark(piece.path))
    except OSError:
        return None  # another file system, one without links, or it is gone


def _write_piece(piece: Piece, stop: threading.Event) -> Sum:
    digest, size = hashlib.sha256(), 0
    # Read-only: nothing may ever change a file that two checkpoints share.
    file = os.open(piece.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400)
    try:
        for part in piece.content:
            for start in range(0, part.nbytes, CHUNK):
                if stop.is_set():
                    raise Cancelled()
                chunk = part[start : start + CHUNK]
                digest.update(chunk)
                write_all(file, chunk)
            size += part.nbytes
        os.fsync(file)
    finally:
        os.close(file)
    return Sum(size, digest.hexdigest(), mark(piece.path))


def write_all(file: int, content: memoryview) -> None:
    """Write every byte; a disk that fills up in the middle raises OSError."""
    while content.nbytes:
        content = content[os.write(file, content) :]


def threads_for(training: bool) -> int:
    """How many threads to write with: few while the program trains beside it."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(2 if training else 8, max(1, cores))


def collect(entries: Dict[str, Sum]) -> List[Dict[str, Any]]:
    """The sums as a manifest lists them."""
    return [{"path": p, "size": s.size, "sha256": s.sha256} for p, s in sorted(entries.items())]
