"""Sharded training (FSDP) at any number of GPUs.

    import sluice.fsdp

    training = sluice.fsdp.Elastic(model, optimizer, scheduler, dataset=data, batch=48, epochs=10, shards=12)
    for step in training:
        ...                                  # as with sluice.torch.Elastic

The model was given to fully_shard() before, and the optimizer made from its
parameters. Every rank writes its own part of the model and of the optimizer's
state into the checkpoint, with torch.distributed.checkpoint; on another number
of ranks each reads the parts it then has. No rank ever holds the whole.

save() and load() do so for programs with a loop of their own. FSDP's older
wrapper, FullyShardedDataParallel, and DDP work, too. Needs torch 2.6 or later.
"""

from __future__ import annotations

import contextlib
import math
import os
from typing import Any, Dict, Iterator, List, Mapping, MutableMapping, Optional, Tuple

import torch
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.filesystem import FileSystem, FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

import sluice
import sluice.torch

from . import _files, _job, _ranks, _trust, _write

__all__ = ["Elastic", "load", "save"]

PARTS = "sharded"  # folder of the checkpoint
FACTS = "state.pt"  # what is the same on every rank


def save(folder: Any, model: nn.Module, optimizer: Any) -> None:
    """Write this rank's part of the model and the optimizer into the folder that
    sluice.checkpoint() or sluice.save_dir() gave. Collective.

    Nothing is written where the folder is going to be thrown away. A full disk
    raises OSError, on every rank.
    """
    opened = _job._current().open
    if opened is None or opened.sequence == 0:
        return
    writer = FileSystemWriter(os.fspath(folder / PARTS), sync_files=False)  # _Summing flushes to disk itself
    writer.fs = _Summing(opened.sums)
    model_state, optimizer_state = get_state_dict(model, optimizer)
    try:
        dcp.save({"model": model_state, "optimizer": optimizer_state}, storage_writer=writer)
    except dcp.CheckpointException as e:
        raise _cause(e) from e


def load(saved: Any, model: nn.Module, optimizer: Any) -> None:
    """Load what save() wrote, on any number of ranks. Collective. saved is what
    sluice.resume() gave."""
    _trust.require(os.fspath(saved / PARTS), os.environ.get("SLUICE_JOB_DIR", ""))  # its index is pickled
    model_state, optimizer_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optimizer": optimizer_state}
    dcp.load(state, storage_reader=FileSystemReader(os.fspath(saved / PARTS)))
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])


class Elastic(sluice.torch.Elastic):
    """sluice.torch.Elastic for a sharded model: make it with the same arguments.

    All ranks take part in every shard of the others, since each holds a part of
    the model. So every rank computes as many shards as the one with the most, and
    those it has too many count nothing; numbers of ranks that divide shards waste
    nothing.
    """

    def _check(self) -> None:
        super()._check()
        _refuse_sums(self.model)

    def _share(self) -> List[Tuple[int, float]]:
        mine = super()._share()
        idle = (mine[-1][0], 0.0)
        return mine + [idle] * (math.ceil(self.shards / self.size) - len(mine))

    @contextlib.contextmanager
    def quiet(self, more: bool) -> Iterator[None]:
        """Add up over the ranks with the last shard only. Until then every rank
        holds the gradients of the whole model."""
        if not hasattr(self.model, "set_requires_gradient_sync"):
            with super().quiet(more):
                yield
            return
        self.model.set_requires_gradient_sync(not more)
        yield

    def save(self, pause: bool = True, background: bool = False) -> None:
        """Save everything that the next step depends on. Collective. Training
        waits until it is written: background is not heeded."""
        super().save(pause)

    def write(self, folder: Any) -> None:
        save(folder, self.model, self._parts["optimizer"])
        if self.rank == 0:
            sluice.save(self.capture(), folder / FACTS)

    def capture(self) -> Dict[str, Any]:
        """What the next step depends on beside the model and the optimizer."""
        state = sluice.torch.capture(nn.Module(), **{**self._parts, "optimizer": None}, **self._facts())
        del state["model"]
        return state

    def read(self, saved: Any) -> Dict[str, Any]:
        load(saved, self.model, self._parts["optimizer"])
        facts = sluice.load(saved / FACTS, map_location="cpu")
        for name, part in self._parts.items():
            if part is not None and name != "optimizer":
                part.load_state_dict(facts.pop(name))
        return facts


def _refuse_sums(model: nn.Module) -> None:
    """Refuse a backend that adds up where fully_shard() wants the mean, which gloo
    did up to some release after torch 2.8: gradients would grow with the number of
    ranks, unnoticed at any one size."""
    if not hasattr(model, "set_requires_gradient_sync") or _ranks.size() == 1:
        return
    device = next((p.device for p in model.parameters()), torch.device("cpu"))
    found = torch.empty(1, device=device)
    torch.distributed.reduce_scatter_tensor(found, torch.ones(_ranks.size(), device=device), op=torch.distributed.ReduceOp.AVG)
    if float(found) != 1.0:
        raise RuntimeError(f"torch {torch.__version__} with {torch.distributed.get_backend()} adds gradients up where FSDP wants their mean: "
                           "they would be other at every size. Use NCCL, or gloo of a newer torch (2.12 is known to be right)")


class _Summing(FileSystem):
    """Files that are summed while they are written, by the rank that writes them.

    torch.save would end the process when a write fails; here the error is raised
    once the file is complete.
    """

    def __init__(self, sums: MutableMapping[str, _write.Sum]) -> None:
        super().__init__()
        self._sums = sums

    @contextlib.contextmanager
    def create_stream(self, path: Any, mode: str) -> Iterator[Any]:
        if mode != "wb":
            with super().create_stream(path, mode) as stream:
                yield stream
            return
        stream = _Stream(os.path.abspath(os.fspath(path)))
        try:
            yield stream
            self._sums[stream.path] = stream.file.close()
        finally:
            stream.file.discard()

    def rename(self, path: Any, new_path: Any) -> None:
        super().rename(path, new_path)
        found = self._sums.pop(os.path.abspath(os.fspath(path)), None)
        if found is not None:
            self._sums[os.path.abspath(os.fspath(new_path))] = found


class _Stream:
    """What torch writes to."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.file = _write.Summed(path, patient=True)
        self._written = 0

    def write(self, content: Any) -> int:
        written = self.file.write(content)
        self._written += written
        return written

    def tell(self) -> int:
        return self._written

    def flush(self) -> None:
        """Nothing: create_stream() flushes to disk."""

    def close(self) -> None:
        """Nothing: create_stream() closes, and raises what went wrong."""


def _cause(failed: dcp.CheckpointException) -> BaseException:
    """The file system's error where that is all that went wrong, on whichever
    ranks; the whole exception otherwise."""
    errors: Mapping[int, Any] = failed.failures
    causes = [error[0] if isinstance(error, tuple) else error for error in errors.values()]
    found: Optional[BaseException] = next((c for c in causes if isinstance(c, OSError)), None)
    return found if found is not None and all(_files.is_file_system(c) for c in causes) else failed
