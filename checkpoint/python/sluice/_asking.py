"""Whether to save now: asked of rank 0 by all ranks, at the same calls."""

from __future__ import annotations

from typing import Callable, List, Optional, Tuple

from . import _flights, _pace, _ranks


class Asking:
    """The ranks' agreements; most calls only count.

    An agreement is begun at one call and its answer read at the next, so that
    no rank waits for a message in transit; where calls are a second apart it is
    taken at once. Everything here is collective. decide says, on rank 0, whether
    to save; steady is a clock that never jumps, in seconds.
    """

    def __init__(self, agreement: _ranks.Agreement, flights: _flights.Flights, decide: Callable[[], bool],
                 steady: Callable[[], float]) -> None:
        self.pace = _pace.Pace()
        self.wanted = False  # agreed, and not yet returned to the program
        self._agreement = agreement
        self._flights = flights
        self._decide = decide
        self._steady = steady
        self._coming: Optional[Tuple[_ranks.Later, Optional[_flights.Flight]]] = None

    def answer(self) -> bool:
        """The answer at a call that does more than count."""
        if self._coming is not None:
            self.arrive()
        elif not self.wanted:
            self._begin()
        return self.take()

    def take(self) -> bool:
        """What was agreed, once."""
        wanted, self.wanted = self.wanted, False
        return wanted

    def arrive(self) -> None:
        """Read the answer in transit, if there is one."""
        if self._coming is not None:
            (later, flight), self._coming = self._coming, None
            self._agreed(later(), flight)

    def _begin(self) -> None:
        flight = self._flights.now
        first = self._agreement.rank() == 0
        numbers = [int(self._decide()), self.pace.plan(self._steady())] if first else [0, 0]
        if flight is not None:
            numbers += flight.counts()
        later = self._agreement.begin(numbers, add=flight is not None)
        if later is None:
            self._agreed(numbers, flight)
            return
        self._coming = later, flight
        if self.pace.gap == 1:
            self.arrive()

    def _agreed(self, numbers: List[int], flight: Optional[_flights.Flight]) -> None:
        self.pace.agreed(numbers[1], self._steady())
        self.wanted = self.wanted or numbers[0] > 0
        if flight is not None and flight is self._flights.now:
            self._flights.advance(flight, numbers[2:])
