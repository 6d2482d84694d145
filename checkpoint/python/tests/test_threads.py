"""Threads, and when they are at rest."""

import os
import tempfile
import threading
import unittest
from unittest import mock

from sluice import _threads


class Rest(unittest.TestCase):
    def test_none_runs(self):
        """This thread looks, so it runs, and it alone does not count."""
        waiting = threading.Event()
        other = threading.Thread(target=waiting.wait, daemon=True)
        other.start()
        self.addCleanup(waiting.set)
        self.assertIs(_threads.rest(60, 0.001), True)

    def test_one_runs(self):
        """For the time it is given, and no longer than that."""
        end = threading.Event()

        def run():
            while not end.is_set():
                pass
        other = threading.Thread(target=run, daemon=True)
        other.start()
        self.assertIs(_threads.rest(0.05, 0.001), False)
        end.set()
        other.join()

    def test_twice_in_a_row(self):
        """A thread that waits for the interpreter has it between two looks."""
        with mock.patch.object(_threads, "_running", side_effect=[True, False, True, False, False]) as looks:
            self.assertIs(_threads.rest(60, 0), True)
        self.assertEqual(looks.call_count, 5)

    def test_states(self):
        """As proc(5) writes them; a thread's name may hold anything."""
        me = threading.get_native_id()
        for state, runs in (("R", True), ("D", True), ("S", False), ("I", False), ("Z", False), ("t", False)):
            with self.subTest(state), tempfile.TemporaryDirectory() as tasks, mock.patch.object(_threads, "TASKS", tasks):
                for thread, line in ((me, f"{me} (python3) R 1"), (me + 1, f"{me + 1} (a) R (b) {state} 1 2")):
                    os.mkdir(os.path.join(tasks, str(thread)))
                    with open(os.path.join(tasks, str(thread), "stat"), "w") as f:
                        f.write(line)
                os.mkdir(os.path.join(tasks, str(me + 2)))  # it has ended
                self.assertIs(_threads._running(), runs)

    def test_nothing_says(self):
        with mock.patch.object(_threads, "TASKS", "/nonexistent"):
            self.assertIs(_threads.rest(60, 0), True)


if __name__ == "__main__":
    unittest.main()
