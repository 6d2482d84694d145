"""The owner of a checkpoint: unpickling a file that others could have written runs their code."""

from __future__ import annotations

import os
import stat
from typing import Iterator


class NotOwn(PermissionError):
    """Others could have written a file that would have to be unpickled."""


def doubt(path: str, trusted: str = "") -> str:
    """Why others could have written what is at path; "" = only its user and root could.

    trusted is a folder above which nothing needs a look: the job's, which sluice
    made. Links are followed first. What lies in a folder that others may not enter
    is safe whatever its own mode.
    """
    for part in _down(os.path.realpath(path), os.path.realpath(trusted) if trusted else ""):
        about = os.lstat(part)
        if about.st_uid not in (0, os.geteuid()):
            return f"{part} belongs to user {about.st_uid}"
        folder = stat.S_ISDIR(about.st_mode)
        if about.st_mode & 0o022 and not (folder and about.st_mode & stat.S_ISVTX):
            return f"{part} may be written by others (mode {stat.S_IMODE(about.st_mode):04o}; chmod go-w)"
        if folder and not about.st_mode & 0o011:
            return ""
    return ""


def _down(path: str, trusted: str) -> Iterator[str]:
    """The folders from trusted, or from /, down to path, and all below it."""
    inside = bool(trusted) and (path + "/").startswith(trusted.rstrip("/") + "/")
    at = trusted if inside else "/"
    yield at
    for name in os.path.relpath(path, at).split("/"):
        if name != ".":
            at = os.path.join(at, name)
            yield at
    for base, folders, files in os.walk(path):
        for name in folders + files:
            yield os.path.join(base, name)


def require(path: str, trusted: str = "") -> None:
    """Raise NotOwn if others could have written it."""
    why = doubt(path, trusted)
    if why:
        raise refusal(path, why)


def refusal(path: str, why: str) -> NotOwn:
    """Why path is not loaded, and what to do."""
    return NotOwn(f"{path} is not loaded: it can run code of its writer, and {why}; "
                  "make it writable by you only, or copy it to a folder that is")


# What a state that others could have written may contain, beside numbers, text and tensors.
_PLAIN = {
    "builtins": {"bytearray", "complex", "frozenset", "range", "set", "slice"},
    "collections": {"OrderedDict", "defaultdict"},
    "numpy": {"dtype", "ndarray"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "torch": {"Size", "device"},
    "_codecs": {"encode"},
}


def plain(module: str, name: str) -> bool:
    """Whether the object that pickle loads by this name only holds values."""
    return name in _PLAIN.get(module, ())
