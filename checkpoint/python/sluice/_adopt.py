"""Add the files that a framework saved in its own folder to a checkpoint."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sys
from typing import Any, Iterator


def take(folder: str, into: str, keep: bool) -> None:
    """Put every file below folder into another folder: as a hard link of the
    same file, else as a copy. keep leaves the folder unchanged; otherwise it is
    removed. OSError if that fails."""
    for at, folders, names in os.walk(folder):
        folders.sort()
        to = os.path.normpath(os.path.join(into, os.path.relpath(at, folder)))
        os.makedirs(to, mode=0o700, exist_ok=True)
        for name in names:
            _take_one(os.path.join(at, name), os.path.join(to, name))
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)


def _take_one(source: str, target: str) -> None:
    if os.path.islink(source):
        shutil.copyfile(source, target)  # what it points to, as a file
        return
    try:
        os.link(source, target)
    except OSError as e:
        if e.errno not in (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS):
            raise
        shutil.copy2(source, target)


@contextlib.contextmanager
def careful() -> Iterator[None]:
    """Make torch.save(state, path) in the block raise OSError on a full disk, where
    it would end the program with signal ABRT."""
    torch = sys.modules["torch"]
    usual = torch.save

    def save(obj: Any, f: Any, *args: Any, **more: Any) -> None:
        if args or more or not isinstance(f, (str, os.PathLike)):
            usual(obj, f, *args, **more)
            return
        import sluice

        sluice.save(obj, f)

    torch.save = save
    try:
        yield
    finally:
        torch.save = usual
