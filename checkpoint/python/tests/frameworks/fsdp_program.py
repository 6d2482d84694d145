"""The FSDP example, with its steps noted."""

import errno
import os

import notes
import sluice._files
import train_fsdp
from train_fsdp import dist, sluice


def _again(full, relative):
    raise ValueError(f"{relative} is read again to sum it")


class Noted(sluice.fsdp.Elastic):
    def between(self, step):
        loss = step.loss()
        if self.rank == 0:
            notes.note(step.number, loss, self.size, self._parts["optimizer"].param_groups[0]["lr"])
        super().between(step)


def _full(self, content):
    self.error = OSError(errno.ENOSPC, "No space left on device")
    return len(content)


if __name__ == "__main__":
    sluice.fsdp.Elastic = Noted
    sluice._files._sum = _again
    if os.environ.get("FULL_DISK") == os.environ["RANK"]:
        sluice.fsdp._write.Summed.write = _full
    if "ADDS_UP" in os.environ:
        mean = dist.reduce_scatter_tensor
        dist.reduce_scatter_tensor = lambda out, given, op: mean(out, given, op=dist.ReduceOp.SUM)
    train_fsdp.main()
