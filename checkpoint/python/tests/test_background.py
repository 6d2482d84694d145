"""Saving while training goes on, by one rank and by several; kill and full disk."""

import os
import resource
import signal
import subprocess
import sys
import threading
import time
import unittest
from unittest import mock

from . import test_ranks
from .fixture import JobCase
from .test_job import look_again, quiet

import sluice
from sluice import _api, _job, _write

try:
    import torch
except ImportError:
    torch = None

needs_torch = unittest.skipUnless(torch, "NOT TESTED: torch is not installed")
LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


@needs_torch
class Background(JobCase):
    def save(self, state, step=1, parts=True, **more):
        with sluice.checkpoint(step=step, background=True, **more) as folder:
            sluice.save(state, folder / "state", parts=parts)
        return folder

    def until_committed(self, folder):
        """Train on until it is."""
        for _ in range(3000):
            look_again()
            sluice.should_checkpoint()
            if (folder / "manifest.json").exists() and _job._current().flights.now is None:
                return
            time.sleep(0.005)
        self.fail("never committed")

    def held(self):
        """Make writing wait until it is let go."""
        go = threading.Event()
        real = _write.write_piece

        def slow(piece, stop):
            while not go.wait(0.005):
                if stop.is_set():
                    raise _write.Cancelled()
            return real(piece, stop)

        patch = mock.patch.object(_write, "write_piece", slow)
        patch.start()
        self.addCleanup(patch.stop)
        self.addCleanup(go.set)
        return go

    def when_gone(self, folder, go):
        """Let writing go once the folder was thrown away, or after half a minute."""

        def watch():
            ends = time.monotonic() + 30
            while folder.exists() and time.monotonic() < ends:
                time.sleep(0.005)
            go.set()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        self.addCleanup(thread.join)

    def test_state_of_its_time(self):
        """What is saved is the state at the save, whatever training does meanwhile."""
        for parts in (True, False):
            self.job()
            state = {"w": torch.zeros(400_000), "note": ["a"], "step": 7}
            folder = self.save(state, step=7, parts=parts)
            state["w"] += 1
            state["note"].append("b")
            self.until_committed(folder)
            back = sluice.load(folder / "state")
            self.assertEqual((float(back["w"].sum()), back["note"], back["step"]), (0.0, ["a"], 7))
            self.assertEqual(self.manifest(folder.name)["step"], 7)

    def test_not_committed_before_written(self):
        self.job()
        go = self.held()
        folder = self.save({"w": torch.zeros(1000)})
        for _ in range(20):
            look_again()
            self.assertFalse(sluice.should_checkpoint())
        self.assertFalse((folder / "manifest.json").exists())
        go.set()
        self.until_committed(folder)

    def test_request_meanwhile(self):
        """It is answered by a state of after the request, and not by the one that
        was on its way."""
        self.job()
        go = self.held()
        first = self.save({"w": torch.zeros(400_000)}, step=1)
        self.ask()
        look_again()
        self.assertTrue(sluice.should_checkpoint())
        self.when_gone(first, go)
        self.withdraw_when(os.path.join(self.checkpoints, "00000002", "manifest.json"))
        second = self.save({"w": torch.ones(400_000)}, step=2)
        self.assertFalse(first.exists())  # all of it was still to be written
        self.assertEqual((self.manifest(second.name)["request"], self.manifest(second.name)["step"]), ("r1", 2))

    def test_request_while_sealing(self):
        """Not even when the request is there as its manifest is written."""
        self.job()
        folder = self.save({"w": torch.zeros(1000)})
        self.ask()
        self.assertTrue(sluice.wait())
        self.assertEqual(self.manifest(folder.name)["request"], "background")
        look_again()
        self.assertTrue(sluice.should_checkpoint())

    def test_finished_one_is_kept(self):
        """Written already: then it is committed first and its files serve the next."""
        self.job()
        frozen = torch.randn(400_000)
        first = self.save({"frozen": frozen, "w": torch.zeros(400_000)})
        _job._current().flights.now.join()
        self.ask()
        look_again()
        self.assertTrue(sluice.should_checkpoint())
        with sluice.checkpoint(step=2, pause=False) as second:
            sluice.save({"frozen": frozen, "w": torch.ones(400_000)}, second / "state", parts=True)
        self.assertTrue((first / "manifest.json").exists())
        self.assertEqual(os.stat(second / "state" / "000000").st_nlink, 2)
        self.assertEqual(os.stat(second / "state" / "000001").st_nlink, 1)

    def test_buffers_are_used_again(self):
        self.job()
        _api._buffers.clear()
        state = {"w": torch.zeros(400_000)}
        for step in range(3):
            self.save(state, step=step)
            buffer = next(iter(_api._buffers["state"]._kept.values()))
            at = buffer.data_ptr() if step == 0 else at
            self.assertEqual(buffer.data_ptr(), at)
        self.assertTrue(sluice.wait())
        self.assertEqual(len(os.listdir(self.checkpoints)), 3)

    def test_full_disk(self):
        """Training goes on, it is said once, and no half checkpoint stays."""
        self.job()
        for _ in range(2):
            with quiet() as said, mock.patch("os.write", side_effect=OSError(28, "No space left on device")):
                self.save({"w": torch.zeros(1000)})
                self.assertFalse(sluice.wait())
        self.assertEqual(said.getvalue(), "")
        self.assertEqual(os.listdir(self.checkpoints), [])

    def test_program_fails(self):
        self.job()
        with self.assertRaises(KeyError):
            with sluice.checkpoint(step=1, background=True):
                raise KeyError("x")
        with quiet():
            self.assertFalse(sluice.wait())
        self.assertEqual(os.listdir(self.checkpoints), [])

    def test_outside(self):
        with mock.patch.dict(os.environ, {n: "" for n in os.environ if n.startswith("SLUICE_")}):
            _job._job = None
            folder = self.save({"w": torch.zeros(1000)})
            self.assertFalse(folder.exists())
            self.assertTrue(sluice.wait())
            _job._job = None

    def program(self, body, limit=None):
        """Run a program in the job by itself."""
        code = "import os, signal, sys, time, torch, sluice\n" + body
        before = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None
        return subprocess.run([sys.executable, "-c", code], env={**os.environ, **self.environ(), "PYTHONPATH": LIBRARY, "OMP_NUM_THREADS": "1"},
                              capture_output=True, text=True, timeout=120, preexec_fn=before)

    def test_killed(self):
        """kill -9 in the middle: the committed one stands, the half one has no manifest."""
        for after in (0.0, 0.01, 0.05):
            p = self.program(f"""
state = {{"w": torch.zeros(30_000_000)}}
with sluice.checkpoint(step=1) as folder:
    sluice.save(state, folder / "state", parts=True)
state["w"] += 1
with sluice.checkpoint(step=2, background=True) as folder:
    sluice.save(state, folder / "state", parts=True)
time.sleep({after})
os.kill(os.getpid(), signal.SIGKILL)
""")
            self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
            names = sorted(os.listdir(self.checkpoints))
            self.assertEqual(len(names) % 2, 0)
            self.assertTrue(os.path.exists(os.path.join(self.checkpoints, names[-2], "manifest.json")))
            self.assertFalse(os.path.exists(os.path.join(self.checkpoints, names[-1], "manifest.json")))

    def test_ends_meanwhile(self):
        """A program that ends does not wait for what nobody needs."""
        p = self.program("""
import sluice._write as w
real = w._write_piece
w._write_piece = lambda piece, stop: (time.sleep(1.5), real(piece, stop))[1]
with sluice.checkpoint(step=2, background=True) as folder:
    sluice.save([torch.full((400_000,), float(i)) for i in range(200)], folder / "state", parts=True)
""")
        self.assertEqual((p.returncode, p.stderr), (0, ""))

    def test_file_too_large(self):
        """A limit in the middle of a file, with torch's format and in parts, in the
        foreground and not: the program lives, and a smaller state saves."""
        p = self.program("""
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for background in (False, True):
    for parts in (False, True):
        for numbers in (3_000_000, 1000):
            try:
                with sluice.checkpoint(step=1, background=background) as folder:
                    sluice.save({"w": torch.zeros(numbers)}, folder / "state", parts=parts)
            except OSError as e:
                print(e.errno)
            sluice.wait()
            print(numbers, os.path.exists(folder / "manifest.json"))
""", limit=5_000_000)
        self.assertEqual(p.returncode, 0, p.stderr)
        lines = [line for line in p.stdout.split("\n") if " " in line]
        self.assertEqual(lines, ["3000000 False", "1000 True"] * 4, p.stderr)


@needs_torch
class Several(test_ranks.Programs):
    def test_each_its_own(self):
        """Every rank's file is in one commit, with its own sum, while steps go on."""
        self.run_ranks("""
state = {"w": torch.full((300_000,), float(rank))}
with sluice.checkpoint(step=5, background=True) as folder:
    sluice.save(state, folder / f"shard{rank}", parts=True)
    (folder / f"note{rank}").write_text("x")
state["w"] += 100
there = torch.zeros(1)
while not there:  # agreed: a rank by itself may see it a step before another does
    sluice.should_checkpoint()
    time.sleep(0.002 * rank)
    there.fill_((folder / "manifest.json").exists())
    dist.all_reduce(there, dist.ReduceOp.MIN)
sluice.wait()
say(f"{rank} {float(sluice.load(folder / f'shard{rank}')['w'].mean())}")
""")
        self.assertEqual(self.story(), ["0 0.0", "1 1.0", "2 2.0"])
        files = {f["path"] for f in self.manifest("00000001")["files"]}
        self.assertEqual(len(files), 3 * (1 + 3))
        self.assertFalse([f for f in os.listdir(os.path.join(self.checkpoints, "00000001")) if f.startswith(".")])

    def test_one_fails(self):
        """On one rank only: no checkpoint, and all ranks go on together."""
        errors = self.run_ranks("""
import sluice._write as w
if rank == 2:
    def full(*_):
        raise OSError(28, "No space left on device")
    w._write_piece, real = full, w._write_piece
for attempt in range(2):
    with sluice.checkpoint(step=attempt, background=True) as folder:
        sluice.save({"w": torch.zeros(300_000)}, folder / f"shard{rank}", parts=True)
    for _ in range(30):
        sluice.should_checkpoint()
        dist.barrier()
    say(f"{rank} {attempt} {sluice.wait()} {folder.name}")
    if rank == 2:
        w._write_piece = real
""")
        self.assertIn("training goes on without it", errors[2])
        self.assertEqual(os.listdir(self.checkpoints), ["00000002"])
        self.assertEqual(self.manifest("00000002")["step"], 1)

    def test_removed_when_no_rank_writes(self):
        """A rank that fails ends the others' writing; the folder goes after their last file."""
        self.run_ranks("""
import sluice._files as files
import sluice._write as w
from sluice import _job
if rank == 0:
    def discard(path, real=files.discard):
        say("removed")
        real(path)
    files.discard = discard
def full(*_):
    raise OSError(28, "No space left on device")
def slow(piece, stop):
    stop.wait()
    time.sleep(0.5)  # what a slow disk needs for the file that is being written
    say("written")
    raise w.Cancelled()
if rank:
    w.write_piece = full if rank == 2 else slow
with sluice.checkpoint(step=1, background=True) as folder:
    sluice.save({"w": torch.zeros(300_000)}, folder / f"shard{rank}", parts=True)
while _job._current().flights.now is not None:  # all ranks learn of the end in the same call
    sluice.should_checkpoint()
    dist.barrier()
""")
        with open(os.path.join(self.folder, "story")) as f:
            story = f.read().split()
        self.assertEqual((story[0], story.index("removed")), ("written", len(story) - 1))
        self.assertEqual(os.listdir(self.checkpoints), [])

    def test_request_in_flight(self):
        self.withdraw_when(os.path.join(self.checkpoints, "00000002", "manifest.json"))
        self.run_ranks("""
import sluice._write as w
real = w.write_piece
def slow(piece, stop):
    if stop.wait(0.2):
        raise w.Cancelled()
    return real(piece, stop)
w.write_piece = slow
def save(step):
    with sluice.checkpoint(step=step, background=True) as folder:
        sluice.save({"w": torch.full((3_000_000,), float(step))}, folder / f"shard{rank}", parts=True)
save(1)
if rank == 0:
    with open(os.environ["SLUICE_REQUEST"] + ".new", "w") as f:
        f.write('{"request": "r1"}')
    os.rename(os.environ["SLUICE_REQUEST"] + ".new", os.environ["SLUICE_REQUEST"])
step = 2
while not sluice.should_checkpoint():
    dist.barrier()
    step += 1
save(step)
say(f"{step}")
""")
        self.assertEqual(len(set(self.story())), 1)
        self.assertEqual(self.manifest("00000002")["request"], "r1")
        self.assertEqual(self.manifest("00000002")["step"], int(self.story()[0]))


if __name__ == "__main__":
    unittest.main()
