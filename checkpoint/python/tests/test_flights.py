"""A checkpoint in flight, step by step, without ranks of its own: what each rank counts,
what it does when all have counted, and what stays of one that fell."""

import os
import threading
import unittest
from unittest import mock

from .fixture import JobCase

from sluice import _files, _flights, _write


class Ranks:
    """An agreement and the job around it: this rank's number, and what the others say."""

    def __init__(self, rank=0, ranks=2):
        self.agreement = self
        self.number, self.ranks = rank, ranks
        self.first_says = None  # None = what this rank says
        self.others = [0, 0, 0, 0]
        self.request, self.last = "", ""
        self.warned, self.wells, self.sealed_paths = [], [], []

    def rank(self):
        return self.number

    def size(self):
        return self.ranks

    def first(self):
        return self.number == 0

    def from_first(self, content):
        return content if self.first_says is None else self.first_says

    def total(self, counts):
        return [a + b for a, b in zip(counts, self.others)]

    def all_well(self, well):
        self.wells.append(well)
        return well

    def pending(self):
        return self.request

    def entries(self, path, sums):
        self.sealed_paths.append(path)
        return [{"path": "a"}]

    def warn(self, what, error):
        self.warned.append(str(error))


class One(JobCase):
    """A Flight by itself."""

    def flight(self):
        return _flights.Flight(self.folder, 7, {"step": 3}, {"known": "sum"})

    def test_counts(self):
        flight, go = self.flight(), threading.Event()
        self.assertEqual((flight.path, flight.sequence, flight.manifest, flight.linked), (self.folder, 7, {"step": 3}, 0))
        self.assertEqual(flight.counts(), [0, 0, 0, 0])

        def work(stop, note):
            note(4, False)
            note(2, True)
            go.wait(30)
            return {"a": "sum of a"}

        flight.start([work], 10)
        self.addCleanup(go.set)
        while flight.written < 6:
            threading.Event().wait(0.001)
        self.assertEqual((flight.counts(), flight.left(), flight.linked), ([0, 0, 0, 0], 4, 2))
        self.assertTrue(flight._thread.daemon)
        flight._note(20, False)
        self.assertEqual((flight.left(), flight.linked), (0, 2))
        flight.written = 6
        go.set()
        flight.join()
        self.assertEqual((flight.counts(), flight.left(), flight.sums), ([1, 0, 0, 0], 0, {"known": "sum", "a": "sum of a"}))
        sealed = []
        flight.seal(lambda: sealed.append(1))
        flight.seal(lambda: sealed.append(2))
        flight.join()
        self.assertEqual((sealed, flight.counts(), flight._sealing.daemon), ([1], [1, 0, 1, 0], True))

    def test_nothing_before(self):
        flight = self.flight()
        self.assertEqual((flight.total, flight.written, flight.linked, flight.left(), flight.error), (0, 0, 0, 0, None))
        flight.join()

    def test_fails(self):
        flight, did = self.flight(), []
        flight.start([lambda stop, note: did.append(1) or {}, mock.Mock(side_effect=KeyError("x")), lambda stop, note: did.append(3) or {}], 1)
        flight.join()
        self.assertEqual((did, flight.counts(), repr(flight.error)), ([1], [1, 1, 0, 0], "KeyError('x')"))
        flight = self.flight()
        flight.fail(ValueError("y"))
        self.assertEqual((flight.counts(), str(flight.error), flight.left()), ([1, 1, 0, 0], "y", 0))
        flight = self.flight()
        flight.start([], 0)
        flight.seal(mock.Mock(side_effect=OSError(28, "full")))
        flight.join()
        self.assertEqual((flight.counts(), flight.error.errno), ([1, 1, 0, 1], 28))

    def test_cancelled(self):
        flight, seen = self.flight(), []
        flight.start([lambda stop, note: seen.append(stop.wait(30)) or {}], 1)
        flight.cancel()
        flight.join()
        self.assertEqual(seen, [True])

    def test_join(self):
        """It waits for both threads, and not for itself."""
        flight, go = self.flight(), threading.Event()
        flight.start([lambda stop, note: flight.join() or {}], 1)
        flight.seal(lambda: (flight.join(), go.wait(30)))
        ended = threading.Event()
        thread = threading.Thread(target=lambda: (flight.join(), ended.set()), daemon=True)
        thread.start()
        self.assertFalse(ended.wait(0.05))
        go.set()
        self.assertTrue(ended.wait(30))
        self.assertIsNone(flight.error)
        self.assertEqual(flight.counts(), [1, 0, 1, 0])


class All(JobCase):
    """What is done about it when all ranks have counted."""

    def begin(self, rank=0, ranks=2, error=None, work=(), size=10, manifest=None):
        self.job_ = Ranks(rank, ranks)
        self.flights = _flights.Flights(self.job_)
        opened = _flights.Open(os.path.join(self.folder, "00000007"), 7, True)
        os.makedirs(opened.path, exist_ok=True)
        opened.work, opened.size = list(work), size
        self.answer = self.flights.begin(opened, {"step": 3} if manifest is None else manifest, error)
        return self.flights.now

    def gone(self):
        return not os.path.exists(os.path.join(self.folder, "00000007"))

    def test_begin(self):
        flight = self.begin(work=[lambda stop, note: {"a": _write.Sum(1, "x", (1, 2))}])
        flight.join()
        self.assertEqual((self.answer, self.flights.highest, flight.total, os.listdir(flight.path)), (True, 7, 10, []))
        opened = _flights.Open(flight.path, 3, True)
        self.flights.begin(opened, {}, None)
        self.flights.now.join()
        self.assertEqual(self.flights.highest, 7)
        full = os.path.join(flight.path, "a")
        flight = self.begin(rank=1, work=[lambda stop, note: {full: _write.Sum(1, "x", (1, 2))}])
        flight.join()
        self.assertEqual((self.answer, flight.error), (True, None))
        self.assertEqual(_files.gather_sums(flight.path), {full: _write.Sum(1, "x", (1, 2))})
        flight = self.begin(error=KeyError("x"), work=[mock.Mock()])
        self.assertEqual((self.answer, flight.counts(), flight._thread), (False, [1, 1, 0, 0], None))

    def test_sealed_when_all_have_written(self):
        for rank, counts, seals in ((0, [2, 0, 0, 0], True), (0, [1, 0, 0, 0], False), (1, [2, 0, 0, 0], False)):
            flight = self.begin(rank)
            flight.join()
            self.flights.advance(flight, counts)
            self.assertIs(self.flights.now, flight)
            flight.join()
            self.assertEqual(os.path.exists(os.path.join(flight.path, "manifest.json")), seals)
            if seals:
                self.assertEqual(_files.read_manifest(flight.path), {"step": 3, "files": [{"path": "a"}]})
                os.unlink(os.path.join(flight.path, "manifest.json"))

    def test_request_at_the_seal(self):
        flight = self.begin()
        self.job_.request = "r1"
        self.flights.advance(flight, [2, 0, 0, 0])
        flight.join()
        self.assertEqual(_files.read_manifest(flight.path)["request"], "background")

    def test_lands(self):
        flight = self.begin(size=10, work=[lambda stop, note: note(4, True) or note(6, False) or {}])
        flight.join()
        self.flights.advance(flight, [2, 0, 1, 0])
        self.assertEqual((self.flights.now, self.job_.last, self.flights._unchanged, self.gone()), (None, flight.path, 0.4, False))
        flight = self.begin(size=0)
        self.flights._unchanged = 0.7
        self.flights.advance(flight, [2, 0, 1, 0])
        self.assertEqual(self.flights._unchanged, 0.0)

    def test_falls(self):
        for rank in (0, 1):
            for counts in ([2, 1, 0, 0], [2, 0, 0, 1], [2, 1, 1, 0]):
                flight = self.begin(rank, work=[lambda stop, note: stop.wait(30) and {}])
                self.flights.advance(flight, counts)
                self.assertEqual((self.flights.now, self.job_.last, self.gone(), self.job_.wells, self.job_.warned), (None, "", rank == 0, [True], []))
                self.assertFalse(flight._thread.is_alive())
        self.assertFalse(self.flights._fallen(self.begin()))

    def test_said(self):
        """An error is said; that it was given up is not."""
        for error, said in ((OSError(28, "full"), ["[Errno 28] full"]), (_write.Cancelled(), []), (None, [])):
            flight = self.begin(work=[mock.Mock(side_effect=error, return_value={})])
            flight.join()
            self.flights.advance(flight, [2, 1, 0, 0])
            self.assertEqual(self.job_.warned, said)

    def test_settle(self):
        self.job_ = Ranks()
        self.assertIs(_flights.Flights(self.job_).settle(), True)
        flight = self.begin()
        self.job_.others = [1, 0, 0, 0]
        self.assertIs(self.flights.settle(), True)
        self.assertEqual((self.flights.now, self.job_.last), (None, flight.path))
        self.assertEqual(_files.read_manifest(flight.path)["step"], 3)
        # Sealed already: not again.
        flight = self.begin()
        flight.seal(lambda: None)
        self.assertIs(self.flights.settle(), True)
        self.assertEqual((self.job_.last, self.job_.sealed_paths), (flight.path, []))
        # It failed here, or elsewhere, or its manifest did.
        for mine, others in ((KeyError("x"), [0, 0, 0, 0]), (None, [1, 1, 0, 0]), (None, [1, 0, 0, 1])):
            flight = self.begin(error=mine)
            self.job_.others = others
            self.assertIs(self.flights.settle(), False)
            self.assertEqual((self.flights.now, self.gone(), self.job_.last), (None, True, ""))

    def test_settle_without_a_manifest(self):
        for error in (OSError(28, "full"), ValueError("no number")):
            flight = self.begin()
            with mock.patch.object(_files, "write_manifest", side_effect=error):
                self.assertIs(self.flights.settle(), False)
            self.assertEqual((self.gone(), self.job_.last, self.job_.warned, flight.error), (True, "", [str(error)], error))
        # The other ranks learn it from the first, and write none.
        for says, well in ((b"+", True), (b"", False)):
            flight = self.begin(rank=1)
            flight.join()
            self.job_.first_says = says
            self.assertIs(self.flights.settle(), well)
            self.assertEqual((self.job_.last, self.job_.sealed_paths, self.gone()), (flight.path if well else "", [], False))

    def test_hurry(self):
        """What is left takes no longer than what it saves the next: it is kept."""
        for written, unchanged, hurry, says, kept in (
            (6, 0.4, True, None, True), (5, 0.4, True, None, False), (0, 0.0, True, None, False), (0, 0.0, False, None, True), (0, 1.0, True, None, True),
            (0, 1.0, True, b"", False), (0, 0.0, True, b"+", True),
        ):
            started = threading.Event()

            def work(stop, note):
                note(written, False)
                started.set()
                if stop.wait(0.1 if kept else 30):
                    raise _write.Cancelled()
                return {}

            self.begin(work=[work])
            started.wait(30)
            self.flights._unchanged, real = unchanged, self.job_.from_first
            answers = iter([says] if says is not None else [])
            self.job_.from_first = lambda content: next(answers, real(content))
            with self.subTest(written=written, unchanged=unchanged, hurry=hurry, says=says):
                self.assertIs(self.flights.settle(hurry), kept)


if __name__ == "__main__":
    unittest.main()
