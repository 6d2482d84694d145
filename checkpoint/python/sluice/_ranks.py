"""Who the ranks of a program are, and how they agree.

torch is never imported here: a program of several ranks has imported it.
"""

import os
import sys


def _torch_distributed():
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed


def rank():
    """This process's rank, 0 in a program of one process."""
    distributed = _torch_distributed()
    return distributed.get_rank() if distributed else _number("RANK", 0)


def size():
    """The number of ranks."""
    distributed = _torch_distributed()
    return distributed.get_world_size() if distributed else max(1, _number("WORLD_SIZE", 1))


def local_rank():
    return _number("LOCAL_RANK", 0)


def _number(name, default):
    try:
        return int(os.environ.get(name, default))
    except ValueError:
        return default


class Agreement:
    """Lets rank 0 decide for all ranks, and all ranks report a failure to all.

    The messages go through gloo, on the CPU, so that asking does not wait for
    the GPU's queue. Where torch was built without gloo they go through the
    program's own backend. All calls are collective.
    """

    def __init__(self):
        self._group = None
        self._device = "cpu"
        self._for = None

    def _ready(self):
        """Return torch.distributed, or None in a program of one rank."""
        distributed = _torch_distributed()
        if distributed is None or distributed.get_world_size() == 1:
            return None
        world = distributed.group.WORLD
        if self._for is not world:
            self._prepare(distributed)
            self._for = world
        return distributed

    def _prepare(self, distributed):
        self._group, self._device = None, "cpu"
        if "gloo" in str(distributed.get_backend()).lower():
            return
        if getattr(distributed, "is_gloo_available", lambda: True)():
            self._group = distributed.new_group(backend="gloo")
        else:
            self._device = "cuda"

    def from_first(self, content):
        """Return rank 0's bytes, at most 255, on every rank."""
        distributed = self._ready()
        if distributed is None:
            return content
        torch = sys.modules["torch"]
        message = torch.zeros(256, dtype=torch.uint8)
        if distributed.get_rank() == 0:
            message[0] = len(content)
            if content:
                message[1 : 1 + len(content)] = torch.tensor(list(content), dtype=torch.uint8)
        message = message.to(self._device)
        distributed.broadcast(message, src=0, group=self._group)
        received = message.cpu().tolist()
        return bytes(received[1 : 1 + received[0]])

    def all_well(self, well):
        """Return whether every rank said so."""
        distributed = self._ready()
        if distributed is None:
            return well
        torch = sys.modules["torch"]
        troubles = torch.tensor([0 if well else 1], dtype=torch.int32, device=self._device)
        distributed.all_reduce(troubles, group=self._group)
        return int(troubles.item()) == 0
