"""The files of a job's folder: requests, checkpoints and the progress log.

Written for a network file system that shows a node what others wrote only when
a directory or file is opened anew.
"""

import errno
import hashlib
import json
import os
import pathlib
import re
import shutil
import stat
from datetime import datetime, timezone

VERSION = 1
MANIFEST = "manifest.json"
NAME = re.compile(r"^[0-9]{8}$")
MAX_LINE = 4096
# What a full or stuttering file system answers with: no fault of the program's.
FILE_SYSTEM = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.ESTALE}


class Checkpoint(os.PathLike):
    """A saved checkpoint: use it as the path of its folder.

    step, epoch, sequence, metric and gpus (the world size that saved it) come
    from its manifest.
    """

    def __init__(self, path, manifest):
        self.path = pathlib.Path(path)
        self.step = int(manifest.get("step", 0))
        self.epoch = float(manifest.get("epoch", 0.0))
        self.sequence = int(manifest.get("sequence", 0))
        self.gpus = int(manifest.get("gpus", 0))
        metric = manifest.get("metric")
        self.metric = dict(metric) if isinstance(metric, dict) else {}

    def __fspath__(self):
        return str(self.path)

    def __str__(self):
        return str(self.path)

    def __repr__(self):
        return f"Checkpoint({str(self.path)!r}, step={self.step}, epoch={self.epoch})"

    def __truediv__(self, name):
        return self.path / name


def read_request(path):
    """Return the id of the request at path, or "" when there is none.

    Opening the directory first makes network file systems look again; a name
    that was missing is otherwise remembered as missing for a while.
    """
    folder, name = os.path.split(path)
    try:
        directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            file = os.open(name, os.O_RDONLY, dir_fd=directory)
        finally:
            os.close(directory)
        with os.fdopen(file, "rb") as f:
            request = json.loads(f.read(65536))
    except FileNotFoundError:
        return ""
    except RecursionError as e:
        raise ValueError("not a request") from e
    found = request.get("request") if isinstance(request, dict) else None
    return found if isinstance(found, str) else ""


def next_checkpoint(base):
    """Create the folder of the next checkpoint and return (path, sequence)."""
    os.makedirs(base, mode=0o700, exist_ok=True)
    sequence = 1 + max((int(n) for n in os.listdir(base) if NAME.match(n)), default=0)
    while True:
        path = os.path.join(base, f"{sequence:08d}")
        try:
            os.mkdir(path, 0o700)
            return path, sequence
        except FileExistsError:
            sequence += 1


def read_manifest(path):
    with open(os.path.join(path, MANIFEST), "rb") as f:
        return json.loads(f.read())


def sum_files(path):
    """Flush and sum every file below path; return the manifest's entries."""
    entries = []
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            full = os.path.join(folder, name)
            relative = os.path.relpath(full, path).replace(os.sep, "/")
            if relative != MANIFEST:
                entries.append(_sum(full, relative))
        sync_directory(folder)
    return entries


def _sum(full, relative):
    if not stat.S_ISREG(os.lstat(full).st_mode):
        raise ValueError(f"{relative} is not a plain file")  # verification refuses it
    digest, size = hashlib.sha256(), 0
    with open(full, "rb") as f:
        os.fsync(f.fileno())
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
            size += len(block)
    return {"path": relative, "size": size, "sha256": digest.hexdigest()}


def write_manifest(path, manifest):
    """Make the checkpoint exist: the manifest takes its place as a whole, last."""
    temporary = os.path.join(path, "." + MANIFEST + ".sluice-tmp")
    with open(temporary, "w", encoding="utf-8") as f:
        json.dump(manifest, f, indent=1, allow_nan=False)
        f.flush()
        os.fsync(f.fileno())
    os.rename(temporary, os.path.join(path, MANIFEST))
    sync_directory(path)
    sync_directory(os.path.dirname(path))


def sync_directory(path):
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    except OSError as e:
        if e.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise  # some network file systems cannot, and need not
    finally:
        os.close(directory)


def discard(path):
    """Remove a checkpoint that was never committed; what cannot go may stay."""
    shutil.rmtree(path, ignore_errors=True)


def append_line(path, entry):
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


class Patient:
    """A file whose writes do not fail but are remembered to have failed.

    torch.save ends the whole process when a write fails, since its writer tries
    again while it is being destroyed.
    """

    def __init__(self, file):
        self._file = file
        self.error = None

    def write(self, content):
        if self.error is None:
            try:
                self._file.write(content)
            except OSError as e:
                self.error = e
        return memoryview(content).nbytes

    def flush(self):
        if self.error is None:
            try:
                self._file.flush()
            except OSError as e:
                self.error = e


def is_file_system(error):
    """Whether a failed save is the file system's fault, not the program's.

    Where torch.save itself survives a full disk, it reports it as a RuntimeError
    of its writer.
    """
    if isinstance(error, OSError):
        return error.errno in FILE_SYSTEM
    return isinstance(error, RuntimeError) and (
        "PytorchStreamWriter" in str(error) or "inline_container" in str(error)
    )


def timestamp(seconds):
    """Unix seconds as RFC 3339."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat().replace("+00:00", "Z")
