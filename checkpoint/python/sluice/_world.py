"""How large the program runs, ran before and may ever run."""

import dataclasses
import json
import os
from typing import Mapping, Optional

from . import _ranks

TAIL = 64 << 10  # bytes of the progress log that are looked through


@dataclasses.dataclass(frozen=True)
class World:
    """The sizes of a program, in GPUs: one process each.

    before is the size that saved the checkpoint this run resumes from or, when
    there is none, the size of the run before; None on the first run. largest is
    the most GPUs the job may ever get, None when that is not known.
    """

    size: int  # processes now, at least 1
    before: Optional[int]
    largest: Optional[int]
    rank: int  # this process, 0 to size-1
    local_rank: int  # this process among those on its node, from 0
    nodes: int  # nodes the job is on, at least 1


def look(environ: Mapping[str, str], before: Optional[int]) -> World:
    """Describe the present world, which may begin only during the program."""
    return World(
        size=_ranks.size(),
        before=before,
        largest=number(environ, "SLUICE_MAX_GPUS") or None,
        rank=_ranks.rank(),
        local_rank=_ranks.local_rank(),
        nodes=max(1, number(environ, "SLUICE_NODES")),
    )


def size_before(folder: str, restarts: int) -> Optional[int]:
    """The size of the run before this one, as the progress log has it.

    Lines of this run are passed over: whenever a rank asks, the answer is the
    same.
    """
    found = None
    for line in _tail(os.path.join(folder, "progress.jsonl")):
        try:
            entry = json.loads(line)
            run, gpus = int(entry["restarts"]), int(entry["gpus"])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        if run < restarts and gpus > 0:
            found = gpus
    return found


def _tail(path: str) -> "list[bytes]":
    try:
        with open(path, "rb") as f:
            end = f.seek(0, os.SEEK_END)
            f.seek(max(0, end - TAIL))
            return f.read(TAIL).split(b"\n")
    except OSError:
        return []


def number(environ: Mapping[str, str], name: str) -> int:
    """A variable as a whole number, 0 when it is none."""
    try:
        return int(environ.get(name) or 0)
    except ValueError:
        return 0
