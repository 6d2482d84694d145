"""What must stay the same over the ranks of a run and over the runs of a job: the
global batch, and how many samples the data has."""

from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping

from . import _job

FILE = "sluice.json"  # in a checkpoint

Facts = Mapping[str, Any]


def agree(facts: Facts) -> None:
    """Raise ValueError on every rank if the ranks have different facts, before
    they train on different data or wait for one another indefinitely. Collective."""
    agreement = _job._current().agreement
    if agreement.size() == 1 or not agreement.met():
        return
    mine = " ".join(f"{name}={value}" for name, value in sorted(facts.items()))
    first = agreement.from_first(mine.encode()[:255]).decode(errors="replace")
    if not agreement.all_well(mine.encode()[:255] == first.encode()):
        other = f"; this is rank {agreement.rank()} with {mine}" if mine != first else ""
        raise ValueError(f"the ranks do not see the same data: rank 0 has {first}{other}. Every rank MUST make or read the whole "
                         "data set: seed what is random (torch.manual_seed) before it is made or split")


def write(folder: Any, facts: Facts) -> None:
    """Keep the facts in a checkpoint. Rank 0's."""
    with open(os.path.join(os.fspath(folder), FILE), "w", encoding="utf-8") as f:
        json.dump(dict(facts), f)


def read(saved: Any) -> Dict[str, Any]:
    """The facts of a checkpoint; empty where there are none, as in those of earlier
    releases and of programs that were not elastic yet."""
    try:
        with open(os.path.join(os.fspath(saved), FILE), "rb") as f:
            found = json.loads(f.read(65536))
    except FileNotFoundError:
        return {}
    return found if isinstance(found, dict) else {}


def compare(saved: Facts, now: Facts, what_to_do: str) -> None:
    """Raise ValueError where a fact is not what it was in the checkpoint."""
    for name, value in now.items():
        if name in saved and saved[name] != value:
            raise ValueError(f"{name} is {value} and was {saved[name]} in the checkpoint: the results would not be those of one training; {what_to_do}")
