"""Leaving a trial before its end, in a process that trains one after the other."""

from __future__ import annotations

from . import _files

LOOK = 0.2  # seconds between two looks of a program that only reports


class Over(BaseException):
    """The trial is over: its block is left. No program's except Exception catches it."""


class Leave:
    """Whether the lane has said that the trial is over; never in a process of one trial."""

    def __init__(self) -> None:
        self.path = ""  # the file that names a trial that is over ...
        self.id = ""  # ... by this id
        self.within = False  # the program can leave the trial and go on with the next
        self.over = False
        self._looked = 0.0  # when report() last looked

    def look(self) -> bool:
        """Look, and return whether it is over."""
        if self.path and not self.over:
            self.over = _files.look_for(self.path).get("id") == self.id
        return self.over

    def reported(self, now: float, ranks: int) -> None:
        """The program has reported; it may do nothing else. now is of a steady clock."""
        if self.within and now - self._looked >= LOOK:
            self._looked = now
            self.look()
        self.leave(ranks)

    def leave(self, ranks: int) -> None:
        """Leave the block of a trial that is over. Of several ranks all leave where they
        wait, and none elsewhere: the others would wait for it."""
        if self.over and self.within and ranks == 1:
            raise Over()
