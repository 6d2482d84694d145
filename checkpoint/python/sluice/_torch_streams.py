"""Random numbers and the order of data, as functions of a key: for sluice.torch."""

from __future__ import annotations

import contextlib
import random
import sys
from typing import Any, Iterator, List, Sequence, Tuple

import torch

from ._shards import bounds, seed_of


def order(samples: int, seed: int, epoch: int) -> torch.Tensor:
    """The order of an epoch's samples: a permutation that depends on the three
    arguments only."""
    generator = torch.Generator().manual_seed(seed_of(seed, "order", epoch))
    return torch.randperm(samples, generator=generator)


def shard_of(indices: Sequence[int], shards: int, shard: int) -> Sequence[int]:
    """The part of a step's samples that is the shard's, 0 <= shard < shards."""
    first, last = bounds(len(indices), shards, shard)
    return indices[first:last]


def seed(*key: object) -> None:
    """Seed torch (CPU, and CUDA once it is in use), random and, where imported,
    numpy, with what depends on the key only."""
    number = seed_of(*key)
    # torch.manual_seed would also note a stack trace for a CUDA not yet in use.
    torch.random.default_generator.manual_seed(number)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(number)  # all: a process may drive several
    random.seed(number)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(number % (1 << 32))


@contextlib.contextmanager
def rng(*key: object) -> Iterator[None]:
    """Draw all random numbers of the block from a stream of the key's own, and
    let the program's streams go on afterwards as if the block had not been.

        with sluice.torch.rng(seed, step, shard):
            loss = criterion(model(inputs), labels)
    """
    cpu, python = torch.get_rng_state(), random.getstate()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    numpy = sys.modules.get("numpy")
    legacy = numpy.random.get_state() if numpy is not None else None
    seed(*key)
    try:
        yield
    finally:
        torch.set_rng_state(cpu)
        random.setstate(python)
        if cuda is not None:
            torch.cuda.set_rng_state_all(cuda)
        if numpy is not None and legacy is not None:
            numpy.random.set_state(legacy)


class Seeded(torch.utils.data.Dataset):
    """A dataset whose samples draw their random numbers from their own stream,
    whichever process fetches them. An index is (epoch, index)."""

    def __init__(self, dataset: Any, number: int):
        self.dataset, self.number = dataset, number

    def __getitem__(self, key: Tuple[int, int]) -> Any:
        seed(self.number, "sample", *key)
        return self.dataset[key[1]]

    def __getitems__(self, keys: List[Tuple[int, int]]) -> List[Any]:
        if not hasattr(self.dataset, "__getitems__"):
            return [self[key] for key in keys]
        seed(self.number, "sample", *keys[0])
        return self.dataset.__getitems__([index for _, index in keys])


class ShardSampler(torch.utils.data.Sampler):
    """The samples of this rank's shards in an Elastic training, a list for each,
    from its present step to its end."""

    def __init__(self, training: Any):
        self.training = training

    def __iter__(self) -> Iterator[List[Tuple[int, int]]]:
        t = self.training
        known, permutation = -1, torch.empty(0)
        for number in range(t.step, t.total):
            epoch, within = divmod(number, t.steps_per_epoch)
            if epoch != known:
                known, permutation = epoch, order(t.samples, t.seed, epoch)
            indices = permutation[within * t.batch : (within + 1) * t.batch].tolist()
            for shard, _ in t.mine:
                yield [(epoch, index) for index in shard_of(indices, t.shards, shard)]
