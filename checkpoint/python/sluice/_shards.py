"""What a step consists of, whatever the number of ranks: shards and their seeds.

The global batch of a step is cut into a fixed number of shards. The ranks there
are share them out; a shard's samples, random numbers and weight depend on the
step and the shard only. Nothing here needs torch.
"""

from __future__ import annotations

import hashlib
from typing import Tuple

SEEDS = 1 << 63  # every seed is below; torch wants it in 64 bits with a sign


def share(shards: int, rank: int, size: int) -> range:
    """The shards that a rank computes: neighbours, at most one more than any
    other rank. Empty where there are fewer shards than ranks before it."""
    return range(rank * shards // size, (rank + 1) * shards // size)


def bounds(samples: int, shards: int, shard: int) -> Tuple[int, int]:
    """First and last (exclusive) of a shard's samples within the step's."""
    return shard * samples // shards, (shard + 1) * samples // shards


def seed_of(*key: object) -> int:
    """A seed in [0, 2**63) that depends on all parts of the key and nothing else:
    neither on the process nor on the release of Python."""
    text = "\0".join(str(part) for part in key).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big") % SEEDS
