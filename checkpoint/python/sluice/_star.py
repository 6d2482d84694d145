"""Messages between the ranks of a program without torch.distributed and without MPI.

`sluice ranks` names an address of rank 0's node to all ranks (SLUICE_AGREE). Rank 0
listens there, every other rank connects once, and every exchange goes through rank 0.
A connection is greeted with the name of the job's folder, which its user alone knows.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
import time
from typing import Callable, Dict, List, Sequence

MEET = 120.0  # seconds in which all ranks MUST come to their first exchange
GREET = 5.0  # seconds for a connection to say who it is
LONGEST = 1 << 20  # bytes of a message
_LENGTH = struct.Struct("!I")


def usable() -> bool:
    """Whether the ranks can speak so: they were told where, and the program has
    imported neither torch nor mpi4py, through which it may be about to speak itself."""
    return bool(os.environ.get("SLUICE_AGREE")) and "torch" not in sys.modules and "mpi4py.MPI" not in sys.modules


class Star:
    """Connections of all ranks with rank 0. Made by all ranks at the same call."""

    def __init__(self, rank: int, size: int, patience: float) -> None:
        self._rank, self._size, self._patience = rank, size, patience
        self._others: Dict[int, socket.socket] = {}
        host, _, port = os.environ["SLUICE_AGREE"].rpartition(":")
        self._host, self._port = host.strip("[]"), int(port)
        self._word = "sluice %s %s " % (os.path.basename(os.environ.get("SLUICE_JOB_DIR", "").rstrip("/")), os.environ.get("SLUICE_RESTARTS", "0"))
        if rank == 0:
            self._host_all()
        else:
            self._others[0] = self._join()

    def from_first(self, content: bytes) -> bytes:
        if self._rank != 0:
            return _receive(self._others[0])
        for conn in self._others.values():
            _send(conn, content)
        return content

    def total(self, counts: Sequence[int]) -> List[int]:
        return self.begin(counts, add=True)()

    def begin(self, numbers: Sequence[int], add: bool) -> Callable[[], List[int]]:
        numbers = list(numbers)
        if self._rank == 0:
            if not add:
                self.from_first(_pack(numbers))
                return lambda: numbers
            return lambda: self._sum(numbers)
        if add:
            _send(self._others[0], _pack(numbers))
        return lambda: _unpack(_receive(self._others[0]))

    def settle(self, seconds: float) -> bool:
        return True

    def _sum(self, numbers: List[int]) -> List[int]:
        columns = [numbers] + [_unpack(_receive(conn)) for _, conn in sorted(self._others.items())]
        found = [sum(column) for column in zip(*columns)]
        self.from_first(_pack(found))
        return found

    def _host_all(self) -> None:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        with socket.create_server(("", self._port), family=family, backlog=self._size) as listener:
            until = time.monotonic() + MEET
            while len(self._others) < self._size - 1:
                listener.settimeout(max(0.01, until - time.monotonic()))
                try:
                    conn, _ = listener.accept()
                except (socket.timeout, TimeoutError):
                    missing = sorted(set(range(1, self._size)) - set(self._others))
                    raise TimeoutError(f"sluice: rank(s) {missing} did not come within {MEET:.0f} s: the calls of the library are collective, "
                                       "every rank makes them in the same order") from None
                self._greeted(conn)

    def _greeted(self, conn: socket.socket) -> None:
        """Keep a connection that says who it is; close any other."""
        conn.settimeout(GREET)
        try:
            word, number = _receive(conn, 512).decode("ascii").rsplit(" ", 1)
            if word + " " == self._word and 0 < int(number) < self._size and int(number) not in self._others:
                self._others[int(number)] = self._ready(conn)
                return
        except (OSError, ValueError, EOFError):
            pass
        conn.close()

    def _join(self) -> socket.socket:
        until = time.monotonic() + MEET
        while True:
            try:
                conn = socket.create_connection((self._host, self._port), timeout=GREET)
                _send(conn, (self._word + str(self._rank)).encode("ascii"))
                return self._ready(conn)
            except OSError as e:
                if time.monotonic() > until:
                    raise TimeoutError(f"sluice: rank {self._rank} cannot reach rank 0 at {self._host}:{self._port}: {e}") from e
                time.sleep(0.05)

    def _ready(self, conn: socket.socket) -> socket.socket:
        conn.settimeout(self._patience)
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return conn


def _pack(numbers: Sequence[int]) -> bytes:
    return struct.pack("!%dq" % len(numbers), *numbers)


def _unpack(content: bytes) -> List[int]:
    return list(struct.unpack("!%dq" % (len(content) // 8), content))


def _send(conn: socket.socket, content: bytes) -> None:
    conn.sendall(_LENGTH.pack(len(content)) + content)


def _receive(conn: socket.socket, longest: int = LONGEST) -> bytes:
    size = _LENGTH.unpack(_exactly(conn, _LENGTH.size))[0]
    if size > longest:
        raise ValueError(f"a message of {size} bytes")
    return _exactly(conn, size)


def _exactly(conn: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = conn.recv(size - len(found))
        if not more:
            raise EOFError("sluice: another rank ended while this one waited for its answer")
        found += more
    return found
