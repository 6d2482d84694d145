"""How a step's global batch is cut up over ranks and micro-batches: for sluice.lightning.

torch is needed here, Lightning is not.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

import torch
from torch.utils.data import DataLoader, IterableDataset, RandomSampler, Sampler, SequentialSampler

from . import _ranks
from ._torch_streams import Seeded, order

FIXED = ("batch", "seed", "samples")  # for the life of a training; pieces too, where fixed


class Plan:
    """What every rank computes in a step, and how far the training is.

    batch is the number of samples a step on all ranks together. It is cut into
    pieces of equal size, micro samples each, of which every rank computes
    accumulate, its neighbours in the batch. step counts the finished steps of
    the whole training, within those of epoch, which is the present one.
    """

    def __init__(self, batch: int, per_gpu_max: Optional[int], pieces: Optional[int], seed: Optional[int]):
        if batch < 1 or (per_gpu_max is not None and per_gpu_max < 1) or (pieces is not None and pieces < 1):
            raise ValueError("global_batch, per_gpu_max and pieces: at least 1")
        if per_gpu_max is not None and pieces is not None:
            raise ValueError("per_gpu_max or pieces: one of the two says how the batch is cut up")
        self.batch, self.per_gpu_max, self.fixed = batch, per_gpu_max, pieces
        self.seed = int(os.environ.get("PL_GLOBAL_SEED") or 0) if seed is None else seed
        self.size, self.pieces, self.samples = 0, 0, 0  # not known yet
        self.step = self.epoch = self.within = 0
        self.skip = 0  # steps of the epoch that earlier runs trained

    def meet(self, size: int) -> None:
        """Cut the batch up for that many ranks, or raise ValueError."""
        if size == self.size:
            return
        pieces = self.fixed or self._pieces(size)
        if pieces % size or self.batch % pieces:
            raise ValueError(f"a global batch of {self.batch} in {pieces} equal pieces cannot be shared equally by {size} GPUs: "
                             f"submit with --gpu-sizes={','.join(map(str, self.sizes()))}, or choose other numbers")
        self.size, self.pieces = size, pieces

    def _pieces(self, size: int) -> int:
        """The fewest pieces that a GPU can hold."""
        most = self.per_gpu_max or self.batch
        fit = (n for n in range(size, self.batch + 1, size) if self.batch % n == 0 and self.batch // n <= most)
        return next(fit, size)  # size: refused above, with the reason

    def sizes(self) -> List[int]:
        """The numbers of ranks the batch can be shared by."""
        return [n for n in range(1, min(self.batch, 4096) + 1) if (self.fixed or self.batch) % n == 0]

    @property
    def accumulate(self) -> int:
        return self.pieces // self.size

    @property
    def micro(self) -> int:
        return self.batch // self.pieces

    @property
    def steps_per_epoch(self) -> int:
        return self.samples // self.batch

    @property
    def done(self) -> float:
        """Finished epochs, fractional."""
        return self.epoch + self.within / max(1, self.steps_per_epoch)

    def piece(self, index: int) -> int:
        """Which piece of its step this rank's batch of that index in the epoch is."""
        return _ranks.rank() * self.accumulate + index % self.accumulate

    def stepped(self) -> None:
        self.step += 1
        self.within += 1

    def begin_epoch(self, epoch: int) -> None:
        """The epoch that is read next; the same again changes nothing."""
        if epoch != self.epoch:
            self.epoch, self.within, self.skip = epoch, 0, 0

    def state(self) -> Dict[str, Any]:
        """What a checkpoint says of the plan."""
        facts = {name: getattr(self, name) for name in FIXED}
        return {**facts, "pieces": self.fixed, "accumulate": self.accumulate, "step": self.step, "epoch": self.epoch, "within": self.within}

    def resume(self, state: Dict[str, Any]) -> None:
        """Go on from a checkpoint's plan. ValueError if it was for another training."""
        now = {**{name: getattr(self, name) for name in FIXED}, "pieces": self.fixed}
        for name, value in now.items():
            if name == "samples" and not value:
                continue  # the data is looked at later, and compared then
            if state[name] != value:
                raise ValueError(f"{name} is {value} and was {state[name]} in the checkpoint: the results would not be those of "
                                 "one training; give what it was, or submit a new job")
        self.samples = state["samples"]
        self.step, self.epoch, self.within = state["step"], state["epoch"], state["within"]
        self.skip = self.within


class Batches(Sampler):
    """This rank's batches of the present epoch, from the first untrained step on:
    lists of (epoch, index)."""

    def __init__(self, plan: Plan, samples: int, shuffle: bool):
        self.plan, self.samples, self.shuffle = plan, samples, shuffle

    def set_epoch(self, epoch: int) -> None:
        """Lightning says so before every epoch."""
        self.plan.begin_epoch(epoch)

    def __len__(self) -> int:
        """Batches in a whole epoch, whatever is left of the present one."""
        return self.samples // self.plan.batch * self.plan.accumulate

    def __iter__(self) -> Iterator[List[Tuple[int, int]]]:
        plan, epoch = self.plan, self.plan.epoch
        indices = order(self.samples, plan.seed, epoch) if self.shuffle else torch.arange(self.samples)
        first = _ranks.rank() * plan.accumulate
        for step in range(plan.skip, self.samples // plan.batch):
            for piece in range(first, first + plan.accumulate):
                start = step * plan.batch + piece * plan.micro
                yield [(epoch, index) for index in indices[start : start + plan.micro].tolist()]


class Loader:
    """A DataLoader's data in the order of a plan. Lightning takes any iterable.

    It is stateful in Lightning's sense: it goes on in the middle of an epoch.
    """

    def __init__(self, like: DataLoader, plan: Plan):
        if isinstance(like.dataset, IterableDataset):
            raise ValueError("sluice.lightning.loader() wants a dataset with a length and indices, not an IterableDataset")
        if not isinstance(like.sampler, (RandomSampler, SequentialSampler)):
            raise ValueError(f"sluice.lightning.loader() orders the data itself, by shuffle=True or False: {type(like.sampler).__name__} "
                             "would be another order at every size")
        self.like, self.plan, self.dataset = like, plan, like.dataset
        self.sampler = Batches(plan, len(like.dataset), isinstance(like.sampler, RandomSampler))
        self._inner: Optional[DataLoader] = None

    def _ready(self) -> None:
        self.plan.meet(_ranks.size())
        samples = len(self.dataset)
        if samples < self.plan.batch:
            raise ValueError(f"the dataset has {samples} samples, less than a global batch of {self.plan.batch}")
        if self.plan.samples not in (0, samples):
            raise ValueError(f"the dataset has {samples} samples and had {self.plan.samples} in the checkpoint: submit a new job")
        self.plan.samples = samples

    def __len__(self) -> int:
        self._ready()
        return len(self.sampler)

    def __iter__(self) -> Iterator[Any]:
        self._ready()
        if self._inner is None:
            self._inner = DataLoader(Seeded(self.dataset, self.plan.seed), batch_sampler=self.sampler,
                                     generator=torch.Generator(), **_settings(self.like))
        return iter(self._inner)

    def state_dict(self) -> Dict[str, Any]:
        return self.plan.state()

    def load_state_dict(self, state: Dict[str, Any]) -> None:
        self.plan.resume(state)


def _settings(like: DataLoader) -> Dict[str, Any]:
    """What of a DataLoader does not concern the order."""
    names = ["num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "multiprocessing_context"]
    if like.num_workers:
        names += ["prefetch_factor", "persistent_workers"]
    return {name: getattr(like, name) for name in names}
