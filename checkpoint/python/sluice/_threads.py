"""A few threads at a time, none of which keeps a program from ending.

Those of concurrent.futures do: the interpreter waits for all they have to do.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from typing import Any, Callable, List, Optional, Sequence

TASKS = "/proc/self/task"


def each(things: Sequence[Any], threads: int, do: Callable[[Any], None]) -> None:
    """Do something with every thing. The first error stops what has not begun and
    is raised when no thread works any more."""
    left = list(reversed(things))
    errors: List[BaseException] = []

    def work() -> None:
        while not errors:
            try:
                thing = left.pop()
            except IndexError:
                return
            try:
                do(thing)
            except BaseException as e:
                errors.append(e)

    running = [threading.Thread(target=work, name="sluice-file", daemon=True) for _ in range(min(threads, len(left)))]
    for t in running:
        t.start()
    for t in running:
        t.join()
    if errors:
        raise errors[0]


def rest(seconds: float, look: float) -> bool:
    """Wait until no other thread of this process runs or wants to, for so many seconds
    at most; whether that is so. look is the time between two looks, in seconds.

    Threads that Python did not start count as well. One that waits for the
    interpreter has it between two looks; so two looks in a row must find all at rest.
    """
    until, quiet = time.monotonic() + seconds, 0
    while quiet < 2:
        if time.monotonic() > until:
            return False
        time.sleep(look)
        quiet = 0 if _running() else quiet + 1
    return True


def _running() -> bool:
    """Whether the kernel calls any other thread running or waiting for a disk. Where it
    does not say, none does."""
    try:
        threads = os.listdir(TASKS)
    except OSError:
        return False
    for thread in threads:
        try:
            with open(os.path.join(TASKS, thread, "stat"), "rb") as f:
                state = f.read().rpartition(b") ")[2][:1]
        except OSError:
            continue  # it has ended
        if state in (b"R", b"D") and int(thread) != threading.get_native_id():
            return True
    return False


class Beside:
    """One thread that does one thing after another beside its owner."""

    def __init__(self) -> None:
        self._todo: queue.SimpleQueue[Optional[Callable[[], None]]] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="sluice-sum", daemon=True).start()

    def begin(self, do: Callable[[], None]) -> None:
        """Begin it. It must not raise."""
        self._todo.put(do)

    def wait(self) -> None:
        """Wait until what was begun is done."""
        self._done.get()

    def stop(self) -> None:
        """End the thread."""
        self._todo.put(None)

    def _run(self) -> None:
        while True:
            do = self._todo.get()
            if do is None:
                return
            do()
            self._done.put(None)
