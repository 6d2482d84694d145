"""BatchNorm's running averages, the same for any number of ranks: for sluice.torch."""

from __future__ import annotations

import torch
import torch.distributed
from torch import nn
from torch.nn.modules.batchnorm import _NormBase


class Averages:
    """BatchNorm's running averages: every shard starts from the step's, and the
    step ends with the mean of what the shards made of them."""

    def __init__(self, model: nn.Module):
        layers = [m for m in model.modules() if isinstance(m, _NormBase) and m.training and m.running_mean is not None]
        self.live = [b for m in layers for b in (m.running_mean, m.running_var)]
        self.counts = [m.num_batches_tracked for m in layers if m.num_batches_tracked is not None]
        self.old = [b.detach().clone() for b in self.live]
        self.old_counts = [c.clone() for c in self.counts]
        self.sums = [torch.zeros_like(b) for b in self.live]

    def before(self) -> None:
        with torch.no_grad():
            for b, old in zip(self.live + self.counts, self.old + self.old_counts):
                b.copy_(old)

    def after(self, weight: float) -> None:
        for total, b in zip(self.sums, self.live):
            total.add_(b.detach(), alpha=weight)

    def share(self, size: int) -> None:
        if not self.live:
            return
        flat = torch.cat([s.reshape(-1) for s in self.sums])
        if size > 1:
            torch.distributed.all_reduce(flat)
        with torch.no_grad():
            for b, part in zip(self.live, flat.split([b.numel() for b in self.live])):
                b.copy_(part.view_as(b))
