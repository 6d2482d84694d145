"""A training state taken apart: its tensors' memory, and everything else pickled.

Saved as a folder of pieces, a state is written and read by several threads, and
pieces that have not changed since the last checkpoint need not be written again.
torch is needed by then and imported only here.
"""

from __future__ import annotations

import ctypes
import dataclasses
import io
import json
import os
import pickle
import threading
from typing import Any, Dict, List, Optional, Tuple

from . import _threads, _trust, _write

PIECE = 64 << 20  # bytes of the largest piece
OWN = 1 << 20  # bytes from which a tensor begins a piece of its own
MOST = 20_000  # pieces of a state; larger ones get larger pieces
INDEX = "index.json"
REST = "state.pickle"
VERSION = 1


@dataclasses.dataclass
class Snapshot:
    """A state at one moment: tensors' memory in host, the rest pickled."""

    rest: bytes
    host: List[Any]  # a uint8 tensor on the CPU for every storage
    devices: List[str]  # where each was

    def nbytes(self) -> int:
        """Bytes in all."""
        return len(self.rest) + sum(int(h.numel()) for h in self.host)

    def state(self) -> Any:
        """The state again, its tensors on the CPU and in the snapshot's memory."""
        return _Unpickler(self.rest, self.host).load()


class Buffers:
    """Host memory that is kept between saves: what copying costs is mostly
    getting the memory. In pinned memory copying from a GPU is fastest."""

    def __init__(self) -> None:
        self._kept: Dict[int, Any] = {}

    def get(self, index: int, size: int, pinned: bool) -> Any:
        """The index-th buffer, of that many bytes."""
        import torch

        kept = self._kept.get(index)
        if kept is None or kept.numel() != size or kept.is_pinned() != pinned:
            self._kept.pop(index, None)
            kept = self._kept[index] = _allocate(torch, size, pinned)
        return kept


def _allocate(torch: Any, size: int, pinned: bool) -> Any:
    if pinned:
        try:
            return torch.empty(size, dtype=torch.uint8, pin_memory=True)
        except RuntimeError:
            pass  # a limit on locked memory: any memory will do
    return torch.empty(size, dtype=torch.uint8)


def take(state: Any, buffers: Buffers, copy: bool) -> Snapshot:
    """Take state apart. With copy all tensors are copied, so that training may go
    on; without, those on the CPU stay where they are and must not change."""
    import torch

    stream = io.BytesIO()
    pickler = _Pickler(stream)
    pickler.dump(state)
    host, queued = [], False
    for index, storage in enumerate(pickler.storages):
        on_gpu = storage.is_cuda
        if not copy and not on_gpu:
            host.append(storage)
            continue
        buffer = buffers.get(index, storage.numel(), on_gpu)
        buffer.copy_(storage, non_blocking=on_gpu)
        queued = queued or on_gpu
        host.append(buffer)
    if queued:
        torch.cuda.synchronize()
    return Snapshot(stream.getvalue(), host, [str(s.device) for s in pickler.storages])


def _bytes_of(torch: Any, tensor: Any) -> Any:
    """All of the tensor's storage as a flat uint8 tensor over the same memory."""
    storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage().untyped()
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)


class _Pickler(pickle.Pickler):
    """Leaves the memory of plain tensors out. Tensors that share memory share it
    after loading, too, and what was one tensor in two places is one. Unusual ones (sparse, quantised, subclasses) are pickled
    as ever."""

    def __init__(self, stream: io.BytesIO) -> None:
        import torch

        super().__init__(stream, protocol=4)
        self._torch = torch
        self.storages: List[Any] = []
        self._index: Dict[Tuple[str, int, int], int] = {}
        self._seen: Dict[int, Tuple[int, Any]] = {}  # number and tensor by id

    def persistent_id(self, thing: Any) -> Any:
        torch = self._torch
        if type(thing) not in (torch.Tensor, torch.nn.Parameter) or not self._plain(thing):
            return None
        tensor = thing.detach()
        memory = _bytes_of(torch, tensor)
        key = (str(memory.device), memory.data_ptr(), memory.numel())
        index = self._index.get(key) if memory.numel() else None
        if index is None:
            index = self._index[key] = len(self.storages)
            self.storages.append(memory)
        number, _ = self._seen.setdefault(id(thing), (len(self._seen), thing))
        return (index, str(tensor.dtype), tensor.storage_offset(), tuple(tensor.size()), tuple(tensor.stride()),
                bool(thing.requires_grad), type(thing) is torch.nn.Parameter, dict(thing.__dict__), number)

    def _plain(self, t: Any) -> bool:
        return (t.layout is self._torch.strided and t.device.type in ("cpu", "cuda")
                and not (t.is_quantized or t.is_conj() or t.is_neg()))


class _Unpickler(pickle.Unpickler):
    def __init__(self, rest: bytes, storages: List[Any], careful: bool = False) -> None:
        import torch

        super().__init__(io.BytesIO(rest))
        self._careful = careful
        self._torch = torch
        self._storages = storages
        self._made: Dict[int, Any] = {}  # tensors by number

    def find_class(self, module: str, name: str) -> Any:
        if self._careful and not _trust.plain(module, name) and not (
                module == "torch" and isinstance(getattr(self._torch, name, None), self._torch.dtype)):
            raise pickle.UnpicklingError(f"{module}.{name} is no plain value")
        return super().find_class(module, name)

    def persistent_load(self, saved: Any) -> Any:
        torch = self._torch
        index, dtype, offset, size, stride, requires_grad, parameter, more, *number = saved
        if number and number[0] in self._made:
            return self._made[number[0]]
        memory = self._storages[index]
        storage = memory.untyped_storage() if hasattr(memory, "untyped_storage") else memory.storage().untyped()
        kind = getattr(torch, dtype.rpartition(".")[2])
        tensor = torch.empty(0, dtype=kind, device=memory.device).set_(storage, offset, size, stride)
        if parameter:
            tensor = torch.nn.Parameter(tensor, requires_grad)
        else:
            tensor.requires_grad_(requires_grad)
        for name, value in more.items():
            setattr(tensor, name, value)
        if number:  # older checkpoints have none
            self._made[number[0]] = tensor
        return tensor


def view(memory: Any) -> memoryview:
    """The bytes of a flat uint8 tensor on the CPU, which has to outlive it."""
    size = int(memory.numel())
    if size == 0:
        return memoryview(b"")
    return memoryview((ctypes.c_char * size).from_address(memory.data_ptr())).cast("B")


Part = Tuple[int, int, int]  # piece, offset in it, length


def divide(sizes: List[int]) -> Tuple[List[List[Part]], int]:
    """Divide storages among pieces; return every storage's parts and the number
    of pieces. A large one has pieces of its own, so that its change changes no
    other's."""
    most = max(PIECE, -(-sum(sizes) // MOST))
    parts: List[List[Part]] = [[] for _ in sizes]
    pieces, small, used = 0, -1, 0
    for index, size in enumerate(sizes):
        if 0 < size < OWN:
            if small < 0 or used + size > most:
                small, used, pieces = pieces, 0, pieces + 1
            parts[index].append((small, used, size))
            used += size
            continue
        for start in range(0, size, most):
            parts[index].append((pieces, 0, min(most, size - start)))
            pieces += 1
    return parts, pieces


def piece_name(number: int) -> str:
    """The file of a piece."""
    return f"{number:06d}"


def write(snapshot: Snapshot, path: str, earlier: Optional[_write.Earlier], relative: str, threads: int,
          stop: Optional[threading.Event] = None, note: Any = lambda size, linked: None) -> Dict[str, _write.Sum]:
    """Write the snapshot as the folder path, which must not exist; return its
    files' sums by path. relative is path's name below its checkpoint: what
    earlier has there with the same content is linked, not written."""
    os.mkdir(path, 0o700)
    parts, count = divide([int(h.numel()) for h in snapshot.host])
    contents: List[List[memoryview]] = [[] for _ in range(count)]
    for memory, its in zip(snapshot.host, parts):
        whole, at = view(memory), 0
        for number, _, length in its:
            contents[number].append(whole[at : at + length])
            at += length
    files = {piece_name(n): c for n, c in enumerate(contents)}
    index = {"version": VERSION, "storages": [{"device": d, "parts": its} for d, its in zip(snapshot.devices, parts)]}
    files[REST] = [memoryview(snapshot.rest)]
    files[INDEX] = [memoryview(json.dumps(index).encode())]
    pieces = [_piece(path, name, content, earlier, relative) for name, content in files.items()]
    return _write.write_pieces(pieces, threads, stop, note)


def _piece(path: str, name: str, content: List[memoryview], earlier: Optional[_write.Earlier], relative: str) -> _write.Piece:
    full, size = os.path.join(path, name), sum(c.nbytes for c in content)
    if earlier is not None and size >= _write.PEEK:
        had = earlier.files.get(f"{relative}/{name}")
        if had is not None and had[0] == size:
            return _write.Piece(full, content, os.path.join(earlier.path, relative, name), had[1])
    return _write.Piece(full, content)


def read(path: str, device: Optional[str], careful: bool = False) -> Any:
    """Read what write() wrote, its tensors onto device, or to where they were; when
    careful, nothing but tensors and plain values."""
    import torch

    with open(os.path.join(path, INDEX), "rb") as f:
        index = json.load(f)
    if index.get("version") != VERSION:
        raise ValueError(f"{path} was written by a later version of sluice ({index.get('version')}, this one reads {VERSION})")
    storages = [torch.empty(sum(p[2] for p in s["parts"]), dtype=torch.uint8) for s in index["storages"]]
    reading = []
    for memory, saved in zip(storages, index["storages"]):
        whole, at = view(memory), 0
        for number, offset, length in saved["parts"]:
            reading.append((os.path.join(path, piece_name(int(number))), offset, whole[at : at + length]))
            at += length
    _threads.each(reading, _write.threads_for(training=False), lambda r: _read_into(*r))
    placed = [m.to(device or s["device"]) for m, s in zip(storages, index["storages"])]
    with open(os.path.join(path, REST), "rb") as f:
        return _Unpickler(f.read(), placed, careful).load()


def _read_into(file: str, offset: int, memory: memoryview) -> None:
    with open(file, "rb", buffering=0) as f:
        f.seek(offset)
        while memory.nbytes:
            got = f.readinto(memory)
            if not got:
                raise EOFError(f"{file} ends too early: the checkpoint is damaged")
            memory = memory[got:]
