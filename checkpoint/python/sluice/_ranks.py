"""Who the ranks of a program are, and how they agree.

Neither torch nor mpi4py is ever imported here: a program of several ranks that has
imported one of them speaks through it, and this library speaks through the same. A
program of neither, such as one of JAX or TensorFlow, is given connections of the
library's own (_star).
"""

from __future__ import annotations

import array
import ctypes
import datetime
import os
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import _star, _threads

Later = Callable[[], List[int]]  # waits for what was begun and returns it

# How long ranks wait for one another. The slowest thing they wait for is a
# checkpoint being written; what hangs for good is for Slurm's time limit.
PATIENCE = datetime.timedelta(hours=6)
LOOK = 0.002  # seconds between two looks for a message at the program's end
REST = 1.0  # seconds at most that threads may run on after the last message


def torch_distributed() -> Optional[Any]:
    """torch.distributed when the program's ranks have met through it."""
    distributed = getattr(sys.modules.get("torch"), "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed


def mpi() -> Optional[Any]:
    """mpi4py's MPI when the program was started as several ranks of MPI."""
    found = sys.modules.get("mpi4py.MPI")
    if found is None or not found.Is_initialized() or found.Is_finalized():
        return None
    return found if found.COMM_WORLD.Get_size() > 1 else None


def rank() -> int:
    """This process's rank, 0 in a program of one process."""
    distributed = torch_distributed()
    if distributed is not None:
        return int(distributed.get_rank())
    found = mpi()
    return int(found.COMM_WORLD.Get_rank()) if found else _number("RANK", 0)


def size() -> int:
    """The number of ranks, at least 1."""
    distributed = torch_distributed()
    if distributed is not None:
        return int(distributed.get_world_size())
    found = mpi()
    return int(found.COMM_WORLD.Get_size()) if found else max(1, _number("WORLD_SIZE", 1))


def local_rank() -> int:
    """This process's place among those on its node, from 0."""
    for name in ("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"):
        if os.environ.get(name):
            return _number(name, 0)
    return 0


def _number(name: str, default: int) -> int:
    try:
        return int(os.environ.get(name, default))
    except ValueError:
        return default


class Agreement:
    """Lets rank 0 decide for all ranks, and all ranks count together.

    All calls but rank() and size() are collective. In a program of one rank they
    answer at once.
    """

    def __init__(self) -> None:
        self._line: Any = None
        self._for: Any = None  # the process group or communicator it was made for

    def rank(self) -> int:
        """This process's rank."""
        return rank()

    def size(self) -> int:
        """The number of ranks."""
        return size()

    def met(self) -> bool:
        """Whether the ranks can speak with one another; one rank alone can.

        False before the program's ranks have met, and where they use something
        this library does not know.
        """
        return size() == 1 or torch_distributed() is not None or mpi() is not None or _star.usable()

    def from_first(self, content: bytes) -> bytes:
        """Return rank 0's bytes, at most 255, on every rank."""
        line = self._ready()
        return content if line is None else line.from_first(content)

    def total(self, counts: Sequence[int]) -> List[int]:
        """Return the sums of every rank's counts, on every rank."""
        line = self._ready()
        return list(counts) if line is None else line.total(counts)

    def begin(self, numbers: Sequence[int], add: bool) -> Optional[Later]:
        """Begin to exchange numbers: with add their sums over the ranks are to come,
        without rank 0's. All ranks begin, and what they exchange next comes after.
        None where there is nothing to wait for."""
        line = self._ready()
        return None if line is None else line.begin(numbers, add)

    def settle(self, seconds: float) -> bool:
        """Wait until no message is under way, for so many seconds at most; whether
        that is so. Never raises, and waits for no rank that has died."""
        return self._line is None or self._line.settle(seconds)

    def all_well(self, well: bool) -> bool:
        """Return whether every rank said so. No rank returns before all have called it."""
        return self.total([0 if well else 1]) == [0]

    def _world(self) -> Any:
        if size() == 1:
            return None
        distributed = torch_distributed()
        if distributed is not None:
            return distributed.group.WORLD
        found = mpi()
        if found:
            return found.COMM_WORLD
        return _star if _star.usable() else None

    def _ready(self) -> Any:
        world = self._world()
        if world is not self._for:
            self._for, self._line = world, None
            if world is _star:
                self._line = _star.Star(rank(), size(), PATIENCE.total_seconds())
            elif world is not None:
                distributed = torch_distributed()
                self._line = _Torch(distributed) if distributed is not None else _Mpi(world)
        return self._line


class _Torch:
    """Messages through gloo, on the CPU, in a group of their own.

    So they wait neither for the GPU's queue nor for the program's own messages.
    Where torch was built without gloo they go through the program's group.
    """

    def __init__(self, distributed: Any) -> None:
        self._distributed = distributed
        self._group, self._device = None, "cpu"
        self._messages: "Dict[Tuple[str, int], Tuple[array.array[int], Any]]" = {}
        self._under_way: Any = None  # the last message begun; they arrive in order
        if getattr(distributed, "is_gloo_available", lambda: True)():
            self._group = distributed.new_group(backend="gloo", timeout=PATIENCE)
        elif "gloo" not in str(distributed.get_backend()).lower():
            self._device = "cuda"

    def from_first(self, content: bytes) -> bytes:
        memory, message = self._message("B", 256)
        memory[0] = len(content)
        memory[1 : 1 + len(content)] = array.array("B", content)
        sent = message.to(self._device)
        self._broadcast(sent, group=self._group)
        received = bytes(sent.tolist())
        return received[1 : 1 + received[0]]

    def total(self, counts: Sequence[int]) -> List[int]:
        return self.begin(counts, add=True)()

    def begin(self, numbers: Sequence[int], add: bool) -> Later:
        memory, message = self._message("q", len(numbers))
        memory[:] = array.array("q", numbers)
        sent = message.to(self._device)
        collective = self._distributed.all_reduce if add else self._broadcast
        work = collective(sent, group=self._group, async_op=True)

        def later() -> List[int]:
            work.wait()
            return [int(n) for n in sent.tolist()] if sent is not message else list(memory)

        if self._group is None:
            found = later()  # the program's own group, which it may take down at any time
            return lambda: found
        self._under_way = work
        return later

    def _broadcast(self, message: Any, **more: Any) -> Any:
        return self._distributed.broadcast(message, src=0, **more)

    def _message(self, kind: str, numbers: int) -> "Tuple[array.array[int], Any]":
        """Memory for so many numbers of a kind of array, and a tensor over it.

        Kept, since making tensors is what an agreement would cost most; and never
        freed, not even when the interpreter ends: gloo's thread, which may let go
        of it last, would ask for an interpreter that is no more.
        """
        if (kind, numbers) not in self._messages:
            torch = sys.modules["torch"]
            memory = array.array(kind, [0] * numbers)
            message = torch.frombuffer(memory, dtype=torch.int64 if kind == "q" else torch.uint8)
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(message))
            self._messages[kind, numbers] = memory, message
        return self._messages[kind, numbers]

    def settle(self, seconds: float) -> bool:
        """A program that ends while gloo has a message under way may be ended by
        std::terminate, with a signal in place of its exit code: a thread that lets go
        of a tensor asks for an interpreter that is no more. A message is complete
        before gloo's thread has let go of it, whether it was this library's or the
        program's own; so all threads must be at rest."""
        until = time.monotonic() + seconds
        while self._under_way is not None and not self._under_way.is_completed():
            if time.monotonic() > until:
                return False
            time.sleep(LOOK)
        _threads.rest(min(REST, seconds), LOOK)
        return True


class _Mpi:
    """Messages through a communicator of their own."""

    def __init__(self, world: Any) -> None:
        self._comm = world.Dup()

    def from_first(self, content: bytes) -> bytes:
        return bytes(self._comm.bcast(content, root=0))

    def total(self, counts: Sequence[int]) -> List[int]:
        return [sum(column) for column in zip(*self._comm.allgather(list(counts)))]

    def begin(self, numbers: Sequence[int], add: bool) -> Later:
        found = self.total(numbers) if add else list(self._comm.bcast(list(numbers), root=0))
        return lambda: found

    def settle(self, seconds: float) -> bool:
        return True
