"""All ranks are told the same at the same step, however their time runs."""

import ast
import glob
import os
import random
import shutil
import subprocess
import sys
import threading
import time
import unittest

from . import test_ranks
from .fixture import JobCase

from sluice import _job, _pace, _ranks

LIBRARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


class Hub:
    """Where ranks that are threads exchange numbers. It fails the test when they
    do not exchange the same things in the same order."""

    def __init__(self, size):
        self.size = size
        self.changed = threading.Condition()
        self.exchanges = []  # of each: its kind, and what every rank said

    def put(self, rank, at, kind, what):
        with self.changed:
            if len(self.exchanges) == at:
                self.exchanges.append((kind, {}))
            assert self.exchanges[at][0] == kind, (rank, at, kind, self.exchanges[at])
            self.exchanges[at][1][rank] = what
            self.changed.notify_all()

    def wait(self, at, enough):
        with self.changed:
            assert self.changed.wait_for(lambda: enough(self.exchanges[at][1]), 30), "the ranks wait for one another"
            return self.exchanges[at][1]


class Threaded(_ranks.Agreement):
    def __init__(self, hub, rank):
        super().__init__()
        self.hub, self.me, self.at = hub, rank, -1

    def rank(self):
        return self.me

    def size(self):
        return self.hub.size

    def met(self):
        return True

    def from_first(self, content):
        return self._start("bytes", content)()

    def total(self, counts):
        return self._start("sum", list(counts))()

    def begin(self, numbers, add):
        return self._start("sum" if add else "first", list(numbers))

    def _start(self, kind, what):
        self.at += 1
        at = self.at
        self.hub.put(self.me, at, kind, what)
        if kind == "sum":
            return lambda: [sum(c) for c in zip(*self.hub.wait(at, lambda said: len(said) == self.hub.size).values())]
        return lambda: self.hub.wait(at, lambda said: 0 in said)[0]


class Property(JobCase):
    def story(self, seed):
        """Ranks train at their own random pace, now and then together, save now and
        then by themselves in both ways, and are asked twice."""
        chance = random.Random(seed)
        size, steps = chance.randrange(2, 7), chance.randrange(40, 200)
        hub, barrier = Hub(size), threading.Barrier(size, timeout=30)
        together = {n for n in range(steps) if chance.random() < 0.5}
        own = {n: chance.choice([True, False]) for n in range(steps) if chance.random() < 0.05}
        waits = {n for n in range(steps) if chance.random() < 0.02}
        slow = [chance.random() * 0.002 for _ in range(size)]
        stories, errors = [[] for _ in range(size)], []

        def save(job, n, background):
            folder = job.save_dir(background)
            (folder / f"shard{job.agreement.rank()}").write_text(str(n))
            return folder.name, job.commit(n, 0.0, pause=False)

        def train(rank):
            mine = random.Random(seed * 100 + rank)
            job = _job.Job(self.environ(), agreement=Threaded(hub, rank))
            try:
                for n in range(steps):
                    time.sleep(slow[rank] * mine.random())
                    if n in together:
                        barrier.wait()
                    if job.should_checkpoint():
                        stories[rank].append((n, "asked", *save(job, n, True)))
                    elif n in own:
                        stories[rank].append((n, "own", *save(job, n, own[n])))
                    if n in waits:
                        stories[rank].append((n, "waited", job.wait()))
                stories[rank].append(job.wait())
            except BaseException as e:
                errors.append(e)
            job.watch.stop()

        ranks = [threading.Thread(target=train, args=(r,)) for r in range(size)]
        for t in ranks:
            t.start()
        for n in range(2):
            time.sleep(chance.random() * 0.05)
            self.ask(f"r{n}")
        for t in ranks:
            t.join(60)
        return stories, errors

    def test_stories(self):
        for seed in range(25):
            with self.subTest(seed=seed):
                stories, errors = self.story(seed)
                self.assertEqual(errors, [])
                for other in stories[1:]:
                    self.assertEqual(other, stories[0])
                for entry in stories[0]:
                    if isinstance(entry, tuple) and entry[1] == "asked":
                        self.assertEqual(self.manifest(entry[2])["step"], entry[0])
                shutil.rmtree(self.checkpoints, ignore_errors=True)
                if os.path.exists(self.request):
                    self.withdraw()


class Timing(unittest.TestCase):
    """In virtual time: how long an answer can take, and how often ranks agree."""

    def run_pace(self, durations):
        """Seconds between agreements, and their number."""
        pace, now, last, gaps = _pace.Pace(), 0.0, 0.0, []
        for d in durations:
            if pace.left > 1:
                pace.left -= 1
            else:
                gaps.append(now - last)
                last = now
                pace.agreed(pace.plan(now), now)
            now += d
        return gaps

    def test_even(self):
        for step in (0.0005, 0.004, 0.05, 0.3, 0.9, 5.0):
            gaps = self.run_pace([step] * 20_000)
            self.assertLessEqual(max(gaps), max(_pace.EVERY + step, step) * 1.001, step)
            settled = gaps[12:]
            self.assertGreaterEqual(min(settled), min(_pace.EVERY - step, _pace.LONGEST * step) * 0.999, step)

    def test_uneven(self):
        """Steps that jitter by half, now quick, now slow, never by more than four
        times: an agreement is never further away than a few seconds."""
        chance = random.Random(3)
        durations, mean = [], 0.05
        for n in range(20_000):
            if n % 500 == 0:
                mean = chance.choice([0.025, 0.05, 0.1])
            durations.append(mean * chance.uniform(0.5, 1.5))
        self.assertLess(max(self.run_pace(durations)), 5 * _pace.EVERY)

    def test_much_slower(self):
        """From a millisecond to a second a step: late once, by a bounded number of steps."""
        gaps = self.run_pace([0.001] * 5000 + [1.0] * 2000)
        self.assertLessEqual(max(gaps), _pace.LONGEST + 1)
        self.assertEqual(sum(g > 2.1 for g in gaps), 1)

    def test_clock_stands(self):
        self.assertGreater(len(self.run_pace([0.0] * 1000)), 3)


LATE = """
import atexit
from sluice import _job, _pace
_pace.LONGEST = 2
job = _job._current()
def last():
    say(f"{rank} {job.agreement.settle(0)} {job.agreement._line._under_way is None}")
atexit.unregister(job.leave)
atexit.register(last)  # after the library's
atexit.register(job.leave)
while job.asking._coming is None:
    if rank == 0 and job.asking.pace.gap == 2 and job.asking.pace.left <= 1:
        time.sleep(1)
    sluice.should_checkpoint()
"""

HOLDS = """
import threading
from sluice import _ranks
_ranks.REST = 60
sluice.should_checkpoint()
def hold():
    until = time.monotonic() + 0.5
    while time.monotonic() < until:
        pass
    say("let go")
threading.Thread(target=hold, daemon=True).start()
"""


class Real(test_ranks.Programs):
    def test_ends_at_any_step(self):
        """A program may end while an answer is on its way, tidily or not."""
        for steps in (1, 2, 3, 4, 9, 40):
            self.run_ranks(f"""
for step in range({steps}):
    sluice.should_checkpoint()
    if {steps} == 40 and step == 30:
        with sluice.checkpoint(step=step) as folder:
            (folder / f"shard{{rank}}").write_text("x")
if {steps} % 2:
    dist.destroy_process_group()
""", size=2)

    def test_nothing_under_way_at_the_end(self):
        """A rank that is done waits for those that have yet to come to its last call:
        gloo would end it by a signal now and then. So however it ends."""
        for ending, code in (("", 0), ("sys.exit(3)", 3), ("raise ValueError()", 1), ("dist.destroy_process_group()", 0)):
            with self.subTest(ending):
                self.run_ranks(LATE + ending, size=2, codes=[code, code])
                self.assertEqual(self.story(), ["0 True False", "1 True False"])
                os.unlink(os.path.join(self.folder, "story"))

    def test_threads_at_the_end(self):
        """A rank is not over before its threads are at rest: a message is complete before
        gloo's thread has let go of it, and that must not be after the interpreter's end."""
        self.run_ranks(HOLDS, size=2)
        self.assertEqual(self.story(), ["let go"] * 2)

    def test_the_others_are_gone(self):
        """A rank ends by itself when another dies before it has come, with its own code."""
        self.run_ranks(LATE.replace("time.sleep(1)", "os.kill(os.getpid(), 9)"), size=2, codes=[-9, 0])
        self.assertEqual(self.story(), ["1 True False"])

    def test_an_error_does_not_wait(self):
        """A rank that fails ends soon, though another never comes."""
        self.run_ranks(LATE.replace("time.sleep(1)", """
        while not os.path.exists(os.environ["SLUICE_JOB_DIR"] + "/story"):
            time.sleep(0.01)
        os._exit(0)""") + "_job.FAIL = 0.1\nraise ValueError()", size=2, codes=[0, ""])
        self.assertEqual(self.story(), ["1 False False"])

    def test_parted_and_met_again(self):
        """Ranks may part and meet in another group while an answer is on its way."""
        self.run_ranks("""
from sluice import _pace
_pace.LONGEST = 2
for port in (0, 1):
    for step in range(8):
        if step == 6 and port == 1 and rank == 0:
            with open(os.environ["SLUICE_REQUEST"] + ".new", "w") as f:
                f.write('{"request": "r1"}')
            os.rename(os.environ["SLUICE_REQUEST"] + ".new", os.environ["SLUICE_REQUEST"])
        sluice.should_checkpoint()
    while sluice._job._current().asking._coming is None:
        sluice.should_checkpoint()
    if port == 0:
        dist.barrier()
        dist.destroy_process_group()
        dist.init_process_group("gloo", init_method="file://" + os.environ["SLUICE_JOB_DIR"] + "/meet", rank=rank, world_size=size)
for step in range(10**6):
    if sluice.should_checkpoint():
        break
say(f"{step}")
""", size=2)
        self.assertEqual(len(set(self.story())), 1, self.story())
        self.assertEqual(len(self.story()), 2)

    def test_before_the_ranks_have_met(self):
        """No rank is told anything alone: it would save alone."""
        self.ask()
        program = "import sluice\nprint([sluice.should_checkpoint() for _ in range(3)])"
        env = {**os.environ, **self.environ(), "RANK": "0", "WORLD_SIZE": "2", "PYTHONPATH": LIBRARY}
        p = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60)
        self.assertEqual(p.stdout, "[False, False, False]\n")
        self.assertEqual(p.stderr.count("cannot agree"), 1)


MPI = """
import os, time
from mpi4py import MPI
import sluice
comm = MPI.COMM_WORLD
w = sluice.world()
assert (w.rank, w.size) == (comm.Get_rank(), comm.Get_size())
for step in range(10**6):
    comm.Barrier()
    if step == 50 and w.rank == 0:
        with open(os.environ["SLUICE_REQUEST"] + ".new", "w") as f:
            f.write('{"request": "r1"}')
        os.rename(os.environ["SLUICE_REQUEST"] + ".new", os.environ["SLUICE_REQUEST"])
    if sluice.should_checkpoint():
        with sluice.checkpoint(step=step, pause=False) as folder:
            (folder / f"shard{w.rank}").write_text("x")
        break
assert len(set(comm.allgather(step))) == 1
"""


@unittest.skipUnless(shutil.which("mpirun") and subprocess.run([sys.executable, "-c", "import mpi4py"], capture_output=True).returncode == 0,
                     "NOT TESTED: mpi4py or mpirun is not installed")
class Mpi(JobCase):
    def test_agree(self):
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "3", sys.executable, "-c", MPI]
        env = {**os.environ, **self.environ(), "PYTHONPATH": LIBRARY}
        p = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
        self.assertEqual(p.returncode, 0, p.stderr)
        manifest = self.manifest("00000001")
        self.assertEqual((manifest["request"], manifest["gpus"], len(manifest["files"])), ("r1", 3, 3))


class Code(unittest.TestCase):
    def test_old_enough(self):
        """Python 3.9 can read all of it."""
        for name in glob.glob(os.path.join(LIBRARY, "sluice", "*.py")):
            with open(name, encoding="utf-8") as f:
                ast.parse(f.read(), name, feature_version=(3, 9))

    def test_same_without_sluice(self):
        """A program prints the same in a job and outside, and outside leaves nothing."""
        program = """
import random, sluice
random.seed(1)
total, saved = 0.0, sluice.resume()
for step in range(50):
    total += random.random()
    if sluice.should_checkpoint() or step % 20 == 19:
        with sluice.checkpoint(step=step, metric={"total": total}, background=True) as folder:
            (folder / "state").write_text(str(total))
    sluice.report(epoch=step / 50, step=step)
sluice.wait()
sluice.finished()
print(total, sluice.world().size, sluice.accumulation_steps(48, 8), saved)
"""
        case = JobCase()
        case.setUp()
        self.addCleanup(case.doCleanups)
        outputs = []
        clean = {n: v for n, v in os.environ.items() if not n.startswith("SLUICE_")}
        for more in ({}, case.environ()):
            scratch = os.path.join(case.base, "tmp")
            os.makedirs(scratch, exist_ok=True)
            p = subprocess.run([sys.executable, "-c", program], env={**clean, **more, "PYTHONPATH": LIBRARY, "TMPDIR": scratch},
                               capture_output=True, text=True, timeout=60, cwd=scratch)
            outputs.append((p.returncode, p.stdout, p.stderr))
            self.assertEqual(os.listdir(scratch), [])
        self.assertEqual(outputs[0], outputs[1])
        self.assertEqual(outputs[0][0], 0)


if __name__ == "__main__":
    unittest.main()
