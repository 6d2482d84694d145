"""Sharing a global batch among GPUs, and the order in which it is drawn: for the
adapters of sluice.transformers and sluice.accelerate."""

from __future__ import annotations

from typing import Any, Iterator, List, Optional, Tuple

import torch

import sluice

from ._torch_streams import order


def share(global_batch: int, size: int, per_gpu_max: Optional[int], pieces: Optional[int]) -> Tuple[int, int]:
    """How many samples a GPU takes at a time, and how many times a step.

    per_gpu_max is the most it can hold, pieces how many parts a step is cut into
    whatever the size; None, None is one part for each GPU. ValueError where the
    batch cannot be shared equally.
    """
    if pieces is not None:
        if per_gpu_max is not None:
            raise ValueError("per_gpu_max and pieces exclude each other")
        if pieces < 1 or global_batch % pieces or pieces % size:
            raise ValueError(f"{global_batch} samples a step cannot be cut into {pieces} pieces for {size} GPUs: choose --gpu-sizes that "
                             "divide the pieces, and pieces that divide the batch")
        return global_batch // pieces, pieces // size
    mine, rest = divmod(global_batch, size)
    if rest or mine < 1:
        raise ValueError(f"{global_batch} samples a step cannot be shared equally by {size} GPUs: choose --gpu-sizes that divide it")
    accumulate = sluice.accumulation_steps(global_batch, per_gpu_max or mine)
    while mine % accumulate:
        accumulate += 1
    return mine // accumulate, accumulate


class Whole(torch.utils.data.Sampler):
    """Whole global batches of an epoch, in an order that depends on seed and epoch
    only; or, where the program's own sampler does not shuffle, in its order.

    What is left of the epoch below one global batch is left out, another part in
    every epoch that is shuffled. epoch is to be set before each.
    """

    def __init__(self, base: Any, samples: int, batch: int, number: int) -> None:
        self.base = None if isinstance(base, torch.utils.data.RandomSampler) else base
        self.samples, self.number, self.epoch = samples, number, 0
        self.steps = samples // batch
        self.length = self.steps * batch

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        indices: List[int] = order(self.samples, self.number, self.epoch).tolist() if self.base is None else list(self.base)
        return iter(indices[: self.length])
