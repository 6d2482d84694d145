"""What a training measures beside its loss, the same at any number of ranks: for
sluice.torch. Means over an epoch, the best value so far, and a validation that is
shared out over the ranks."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence

import torch
import torch.distributed
from torch import nn

Measure = Callable[..., Mapping[str, Any]]


class Means:
    """Means over the samples of an epoch so far, by name.

    Each rank sums up its own shards, weighted with their part of the global batch,
    and nothing is sent until share(). After share() rank 0 holds the sum of all
    ranks and the others hold zero, so that sums are neither lost nor counted twice.
    """

    def __init__(self, rank: int, size: int):
        self._rank, self._size = rank, size
        self._sums: Dict[str, torch.Tensor] = {}
        self._steps: Dict[str, int] = {}

    def clear(self) -> None:
        self._sums, self._steps = {}, {}

    def add(self, name: str, value: Any, part: float, ends_step: bool) -> None:
        """Count the mean over a shard whose part of the global batch is part."""
        value = torch.as_tensor(value).detach()
        value = value.to(torch.float32 if value.device.type == "mps" else torch.float64) * part  # MPS has no float64
        self._sums[name] = self._sums[name].to(value.device) + value if name in self._sums else value
        self._steps[name] = self._steps.get(name, 0) + (1 if ends_step else 0)

    def share(self) -> Dict[str, float]:
        """The means over all ranks. Collective."""
        names = sorted(self._sums)
        if not names:
            return {}
        flat = torch.stack([self._sums[name].reshape(()).cpu() for name in names])
        flat = all_sum(flat, self._size, next(iter(self._sums.values())).device)
        self._sums = {name: total if self._rank == 0 else torch.zeros_like(total) for name, total in zip(names, flat)}
        return {name: float(total) / max(1, self._steps[name]) for name, total in zip(names, flat)}

    def state(self) -> Dict[str, Any]:
        """What restore() takes. share() MUST come before on every rank."""
        return {name: (float(total), self._steps[name]) for name, total in self._sums.items()}

    def restore(self, state: Mapping[str, Sequence[Any]]) -> None:
        self.clear()
        for name, (total, steps) in state.items():
            self._sums[name] = torch.tensor(total if self._rank == 0 else 0.0, dtype=torch.float64)
            self._steps[name] = steps


def all_sum(values: torch.Tensor, size: int, device: Any) -> torch.Tensor:
    """The sum over all ranks. Collective; values is on the CPU, device is where the
    ranks can add up (NCCL takes nothing that is on the CPU)."""
    if size == 1:
        return values
    there = values.to(_meeting_place(device))
    torch.distributed.all_reduce(there)
    return there.cpu()


def _meeting_place(device: Any) -> Any:
    if torch.device(device).type != "cpu" or torch.distributed.get_backend() != "nccl":
        return device
    return torch.device("cuda", torch.cuda.current_device())


def device_of(model: nn.Module) -> torch.device:
    return next((p.device for p in model.parameters()), torch.device("cpu"))


class _Share(torch.utils.data.Sampler):
    """The batches of a data set that are a rank's: every size-th."""

    def __init__(self, samples: int, batch: int, rank: int, size: int):
        self._cuts = [(first, min(first + batch, samples)) for first in range(0, samples, batch)][rank::size]

    def __len__(self) -> int:
        return len(self._cuts)

    def __iter__(self) -> Iterator[List[int]]:
        for first, last in self._cuts:
            yield list(range(first, last))


def validate(model: nn.Module, dataset: Any, measure: Measure, batch: int, rank: int, size: int, workers: int = 0,
             collate: Optional[Callable[..., Any]] = None) -> Dict[str, float]:
    """The means of measure(*batch) over a whole data set. Collective: each rank takes
    its share of the batches. The batches are the same at every number of ranks.

    The model is in eval mode meanwhile, without gradients, and afterwards as before.
    """
    samples = len(dataset)
    if samples < 1:
        raise ValueError("the data set to validate on is empty")
    loader = torch.utils.data.DataLoader(dataset, batch_sampler=_Share(samples, batch, rank, size), num_workers=workers,
                                         collate_fn=collate, generator=torch.Generator())
    sums: Dict[str, float] = {}
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            for content, (first, last) in zip(loader, loader.batch_sampler._cuts):  # type: ignore[union-attr]
                for name, value in _measured(measure, content).items():
                    sums[name] = sums.get(name, 0.0) + float(value) * (last - first)
    finally:
        model.train(training)
    return _gather(sums, samples, size, device_of(model))


def _measured(measure: Measure, content: Any) -> Mapping[str, Any]:
    found = measure(*content) if isinstance(content, (tuple, list)) else measure(content)
    if not isinstance(found, Mapping):
        raise TypeError(f"measure returned a {type(found).__name__}: return a dict of means over the samples it was given, "
                        'such as {"loss": loss, "accuracy": accuracy}')
    return found


def _gather(sums: Dict[str, float], samples: int, size: int, device: Any) -> Dict[str, float]:
    """Means of all ranks' sums. A rank without a batch of its own learns the names
    from the others."""
    if size > 1:
        every: List[Any] = [None] * size
        torch.distributed.all_gather_object(every, sums)
    else:
        every = [sums]
    names = {name: None for found in every for name in found}
    return {name: sum(found.get(name, 0.0) for found in every) / samples for name in names}
