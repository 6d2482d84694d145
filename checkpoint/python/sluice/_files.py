"""The files of a job's folder: requests, checkpoints and the progress log.

Written for network file systems, which show a node what others wrote only when
a directory or file is opened again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
from datetime import datetime, timezone
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import _threads, _write
from ._write import Sum

VERSION = 1
MANIFEST = "manifest.json"
NAME = re.compile(r"^[0-9]{8}$")
TEMPORARY = ".sluice-tmp"  # suffix of names that are no part of a checkpoint
SUMS = ".sums."
SUM_AT_ONCE = 4  # files
REQUEST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")  # its id
SILLY = re.compile(r"\.nfs[0-9a-f]{16,24}")  # a file removed while open, as NFS shows it until it is closed
MAX_LINE = 4096
# Errors of a full or temporarily failing file system: not the program's fault.
FILE_SYSTEM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE}


class Checkpoint(os.PathLike):
    """A saved checkpoint: use it as the path of its folder.

    step, epoch, sequence, metric and gpus (the world size that saved it) come
    from its manifest.
    """

    def __init__(self, path: str, manifest: Mapping[str, Any]) -> None:
        self.path = pathlib.Path(path)
        self.step = int(manifest.get("step", 0))
        epoch = float(manifest.get("epoch", 0.0))
        self.epoch: float = int(epoch) if epoch.is_integer() else epoch  # for range(saved.epoch, ...)
        self.sequence = int(manifest.get("sequence", 0))
        self.gpus = int(manifest.get("gpus", 0))
        metric = manifest.get("metric")
        self.metric = dict(metric) if isinstance(metric, dict) else {}

    def __fspath__(self) -> str:
        return str(self.path)

    def __str__(self) -> str:
        return str(self.path)

    def __repr__(self) -> str:
        return f"Checkpoint({str(self.path)!r}, step={self.step}, epoch={self.epoch})"

    def __truediv__(self, name: str) -> pathlib.Path:
        return self.path / name


def read_request(path: str) -> str:
    """Return the id of the request at path, or "" when there is none."""
    return look_for_request(path)[0]


def look_for_request(path: str) -> Tuple[str, bool]:
    """Return the id of the request at path, "" when there is none, and whether
    training is to go on after the save."""
    found, request = _request(path)
    return found, request.get("continue") is True


def look_for_end(path: str) -> Tuple[str, bool]:
    """Return the id of the request at path, "" when there is none, and whether the
    program that answered it is to exit."""
    found, request = _request(path)
    return found, request.get("end") is True


def look_for(path: str) -> Dict[str, Any]:
    """The JSON object in a small file that another program replaces; {} where there is
    none now, or it cannot be read."""
    try:
        found = _object(path)
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _object(path: str) -> Any:
    """What a small file has as JSON.

    Opening the directory first makes network file systems look again; a name
    that was missing is otherwise remembered as missing for a while.
    """
    folder, name = os.path.split(path)
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        file = os.open(name, os.O_RDONLY, dir_fd=directory)
    finally:
        os.close(directory)
    with os.fdopen(file, "rb") as f:
        return json.loads(f.read(65536))


def _request(path: str) -> Tuple[str, Dict[str, Any]]:
    """The request at path and its id, "" when there is none."""
    try:
        request = _object(path)
    except FileNotFoundError:
        return "", {}
    except RecursionError as e:
        raise ValueError("not a request") from e
    found = request.get("request") if isinstance(request, dict) else None
    if not isinstance(found, str):
        return "", {}
    if not REQUEST.fullmatch(found):
        raise ValueError("not a request's id")  # ranks tell it each other: it has a bounded length
    return found, request


def next_checkpoint(base: str, after: int) -> tuple[str, int]:
    """Create the folder of the next checkpoint and return (path, sequence), which
    is above after and all there are."""
    os.makedirs(base, mode=0o700, exist_ok=True)
    sequence = 1 + max((int(n) for n in os.listdir(base) if NAME.match(n)), default=0)
    sequence = max(sequence, after + 1)
    while True:
        path = os.path.join(base, f"{sequence:08d}")
        try:
            os.mkdir(path, 0o700)
            return path, sequence
        except FileExistsError:
            sequence += 1


def read_manifest(path: str) -> Dict[str, Any]:
    """The manifest of a checkpoint."""
    with open(os.path.join(path, MANIFEST), "rb") as f:
        return json.loads(f.read())


def manifest_or_none(path: str) -> Dict[str, Any]:
    """The manifest of a checkpoint, empty where there is none to be read."""
    try:
        found = read_manifest(path) if path else {}
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError, RecursionError):
        return {}


def sum_files(path: str, known: Mapping[str, Sum]) -> List[Dict[str, Any]]:
    """Flush every file below path; return the manifest's entries.

    Files that are still what they were when they were written and summed are not
    read again; the others are, several at a time. known is by full path.
    """
    found: Dict[str, Sum] = {}
    unknown: List[tuple[str, str]] = []
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in names:
            full = os.path.join(folder, name)
            relative = os.path.relpath(full, path).replace(os.sep, "/")
            if relative == MANIFEST or name.endswith(TEMPORARY) or SILLY.fullmatch(name):
                continue
            if not _unchanged(full, known.get(full)):
                unknown.append((relative, full))
            else:
                found[relative] = known[full]
    _threads.each(unknown, SUM_AT_ONCE, lambda u: found.__setitem__(u[0], _sum(u[1], u[0])))
    for folder, _, _ in os.walk(path):
        sync_directory(folder)
    return _write.collect(found)


def _unchanged(full: str, known: Optional[Sum]) -> bool:
    status = os.lstat(full)
    return (known is not None and stat.S_ISREG(status.st_mode) and status.st_size == known.size
            and (status.st_ino, status.st_mtime_ns) == known.mark)


def _sum(full: str, relative: str) -> Sum:
    if not stat.S_ISREG(os.lstat(full).st_mode):
        raise ValueError(f"{relative} is not a plain file")  # verification refuses it
    digest, size = hashlib.sha256(), 0
    with open(full, "rb") as f:
        os.fsync(f.fileno())
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
            size += len(block)
    return Sum(size, digest.hexdigest(), _write.mark(full))


def leave_sums(path: str, rank: int, sums: Mapping[str, Sum]) -> None:
    """Leave what a rank has summed where rank 0 finds it. That it may be lost is
    no harm: rank 0 then reads the files."""
    entries = {os.path.relpath(full, path): [s.size, s.sha256, *s.mark] for full, s in sums.items()}
    try:
        with open(os.path.join(path, f"{SUMS}{rank}{TEMPORARY}"), "w", encoding="utf-8") as f:
            json.dump(entries, f)
    except OSError:
        pass


def gather_sums(path: str) -> Dict[str, Sum]:
    """Take what the other ranks left."""
    sums: Dict[str, Sum] = {}
    for name in os.listdir(path):
        if not (name.startswith(SUMS) and name.endswith(TEMPORARY)):
            continue
        full = os.path.join(path, name)
        try:
            with open(full, "rb") as f:
                for relative, (size, digest, inode, modified) in json.loads(f.read()).items():
                    sums[os.path.join(path, relative)] = Sum(size, digest, (inode, modified))
        except (OSError, ValueError, AttributeError, TypeError):
            pass
        os.unlink(full)
    return sums


def write_manifest(path: str, manifest: Mapping[str, Any]) -> None:
    """Make the checkpoint exist: the manifest takes its place as a whole, last."""
    temporary = os.path.join(path, "." + MANIFEST + TEMPORARY)
    with open(temporary, "w", encoding="utf-8") as f:
        json.dump(manifest, f, indent=1, allow_nan=False)
        f.flush()
        os.fsync(f.fileno())
    os.rename(temporary, os.path.join(path, MANIFEST))
    sync_directory(path)
    sync_directory(os.path.dirname(path))


def sync_directory(path: str) -> None:
    """Make the names in a directory durable."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    except OSError as e:
        if e.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise  # some network file systems cannot, and need not
    finally:
        os.close(directory)


def discard(path: str) -> None:
    """Remove a checkpoint that was never committed; what cannot go may stay."""
    shutil.rmtree(path, ignore_errors=True)


def earlier(path: str) -> Optional[_write.Earlier]:
    """The committed checkpoint at path as one to share files with, None when it
    is not there any more."""
    try:
        files = read_manifest(path)["files"]
        return _write.Earlier(path, {f["path"]: (int(f["size"]), str(f["sha256"])) for f in files})
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def refused(folder: str) -> bool:
    """Whether the runner's last answer was that a checkpoint is bad: then nothing
    of an earlier one is to be used again."""
    try:
        with open(os.path.join(folder, "runner.json"), "rb") as f:
            answer = json.loads(f.read(1 << 20)).get("answer") or {}
        return bool(answer.get("error"))
    except (OSError, ValueError, AttributeError, RecursionError):
        return False


def append_line(path: str, entry: Mapping[str, Any]) -> None:
    """Append one line in one write: a reader sees all of it or nothing."""
    line = (json.dumps(entry, allow_nan=False) + "\n").encode()
    if len(line) > MAX_LINE:
        raise ValueError(f"a progress line of {len(line)} bytes: at most {MAX_LINE}")
    file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        end = os.lseek(file, 0, os.SEEK_END)
        if end and os.pread(file, 1, end - 1) != b"\n":
            line = b"\n" + line  # a run was killed in the middle of its line
        os.write(file, line)
    finally:
        os.close(file)


def is_file_system(error: BaseException) -> bool:
    """Whether a failed save is the file system's fault, not the program's.

    Where torch.save itself survives a full disk, it reports it as a RuntimeError
    of its writer; safetensors has an error of its own.
    """
    if isinstance(error, OSError):
        return error.errno in FILE_SYSTEM
    if isinstance(error, RuntimeError):
        return any(words in str(error) for words in ("PytorchStreamWriter", "inline_container", "No space left"))
    return type(error).__name__ == "SafetensorError" and "I/O error" in str(error)


def timestamp(seconds: float) -> str:
    """Unix seconds as RFC 3339."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat().replace("+00:00", "Z")
