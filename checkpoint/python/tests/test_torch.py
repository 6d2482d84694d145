"""sluice.torch: the same training at any size, resized or not."""

import ast
import difflib
import json
import math
import multiprocessing
import os
import random
import re
import unittest
from unittest import mock

from .fixture import JobCase, free_port

try:
    import torch
    import torch.distributed as dist
    TORCH = dist.is_available()
except ImportError:
    TORCH = False

from sluice import _shards

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples")
BATCH, EPOCHS, SAMPLES = 50, 4, 520  # 10 steps an epoch, 20 samples left over
STEPS = 40


class Shards(unittest.TestCase):
    def test_share(self):
        """Every shard once, in order, and nobody has two more than another."""
        for shards in range(1, 14):
            for size in range(1, 17):
                shares = [_shards.share(shards, rank, size) for rank in range(size)]
                self.assertEqual([s for share in shares for s in share], list(range(shards)))
                self.assertLessEqual(max(map(len, shares)) - min(map(len, shares)), 1)

    def test_bounds(self):
        for samples in (1, 7, 48, 50):
            for shards in range(1, samples + 1):
                cuts = [_shards.bounds(samples, shards, s) for s in range(shards)]
                self.assertEqual((cuts[0][0], cuts[-1][1]), (0, samples))
                self.assertTrue(all(a[1] == b[0] for a, b in zip(cuts, cuts[1:])))
                self.assertTrue(all(last > first for first, last in cuts))

    def test_seeds(self):
        """A seed is the same in every process and for ever."""
        self.assertEqual(_shards.seed_of(1, "shard", 2, 3), 40736104086579427)
        self.assertEqual(len({_shards.seed_of(a, b) for a in range(20) for b in range(20)}), 400)
        self.assertNotEqual(_shards.seed_of("a", "b"), _shards.seed_of("ab"))


if TORCH:
    import sluice.torch

    class Noisy(torch.utils.data.Dataset):
        """Samples with augmentation from two libraries' random numbers."""

        def __init__(self):
            generator = torch.Generator().manual_seed(5)
            self.inputs = torch.randn(SAMPLES, 8, generator=generator)
            self.labels = (self.inputs.sum(dim=1) > 0).long()

        def __len__(self):
            return SAMPLES

        def __getitem__(self, index):
            noise = 0.1 * torch.randn(8) + 0.1 * random.random()
            return self.inputs[index] + noise, self.labels[index]

    def build(**more):
        """A model with dropout and BatchNorm, a schedule by step, and its training."""
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16, bias=False), torch.nn.BatchNorm1d(16), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(16, 2))
        if dist.is_initialized():
            model = torch.nn.parallel.DistributedDataParallel(model)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.05, total_steps=STEPS)
        options = {"dataset": Noisy(), "batch": BATCH, "epochs": EPOCHS, "shards": 12, "seed": 3, **more}
        return sluice.torch.Elastic(model, optimizer, scheduler, **options), model, optimizer, scheduler

    def train(until, **more):
        """Train to a step, save there and return (step, loss, rate) of every step
        and the sum of all that was learned."""
        training, model, optimizer, scheduler = build(**more)
        criterion, story = torch.nn.CrossEntropyLoss(), []
        for step in training:
            optimizer.zero_grad()
            for inputs, labels in step:
                step.backward(criterion(model(inputs), labels))
            optimizer.step()
            scheduler.step()
            story.append((step.number, step.loss(), scheduler.get_last_lr()[0]))
            if step.number + 1 == until:
                training.step += 1
                training.save(pause=False)
                break
        return story, sum(float(v.double().abs().sum()) for v in training.capture()["model"].values())

    def one_rank(rank, size, port, environ, until, double, more, out):
        os.environ.update(environ, RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        from sluice import _job

        _job._job = None
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64 if double else torch.float32)
        dist.init_process_group("gloo")
        if more.pop("seeds", None):
            more["seed"] = rank
        result = train(until, **more)
        dist.barrier()
        if rank == 0:
            with open(out, "w", encoding="utf-8") as f:
                json.dump(result, f)
        os._exit(0)


@unittest.skipUnless(TORCH, "NOT TESTED: torch is not installed")
class Exact(JobCase):
    def start(self, size, until=0, double=True, resume="", code=0, **more):
        """Train with so many ranks. They are forked: importing torch once is enough.
        seeds gives each a seed of its own."""
        port = free_port()
        out, fork = os.path.join(self.base, "out"), multiprocessing.get_context("fork")
        environ = self.environ(SLUICE_RESUME=resume)
        ranks = [fork.Process(target=one_rank, args=(r, size, port, environ, until, double, more, out)) for r in range(size)]
        for p in ranks:
            p.start()
        for p in ranks:
            p.join(120)
            p.kill()
        self.assertEqual([p.exitcode for p in ranks], [code] * size)
        if code:
            return None
        with open(out, encoding="utf-8") as f:
            return json.load(f)

    def walk(self, sizes, double, **more):
        """Train through the sizes, some steps at each."""
        story, resume = [], ""
        for i, size in enumerate(sizes):
            until = 0 if i == len(sizes) - 1 else (i + 1) * STEPS // len(sizes)
            part, learned = self.start(size, until, double, resume, **more)
            story += part
            resume = os.path.join(self.checkpoints, f"{i + 1:08d}")
        return story, learned

    def compare(self, got, want, bound):
        (story, learned), (reference, whole) = got, want
        self.assertEqual([s[0] for s in story], list(range(STEPS)))
        off = max(abs(a[1] - b[1]) for a, b in zip(story, reference))
        self.assertLessEqual(off, bound)
        self.assertEqual([s[2] for s in story], [s[2] for s in reference])  # the schedule: exactly
        self.assertLessEqual(abs(learned - whole) / whole, bound)
        return off

    def test_other_data(self):
        """Ranks that would draw different data end before they train."""
        self.start(2, code=1, seeds=True)

    def test_resized(self):
        """Six resizes between 1, 2, 3, 4 and 6 ranks and one of more than there are
        shards; the batch of 50 is no multiple of the 12 shards. Of float64 nothing
        is left to see; float32 is as far off as sums in another order are."""
        sizes = (1, 3, 2, 6, 4, 13, 1)
        for double, bound in ((True, 1e-12), (False, 1e-5)):
            want = self.start(1, double=double)
            off = self.compare(self.walk(sizes, double), want, bound)
            print(f"\nsizes {sizes}, {'float64' if double else 'float32'}: largest difference {off:.2g}, bound {bound:.0g}", flush=True)
            for name in os.listdir(self.checkpoints):
                os.rename(os.path.join(self.checkpoints, name), os.path.join(self.base, f"{name}-{double}"))

    def test_workers(self):
        """Processes that load data draw the same random numbers."""
        self.compare(self.start(2, workers=2), self.start(1), 1e-12)

    def test_the_test_sees(self):
        """Other shards or another seed are seen, far beyond the bounds."""
        want = self.start(1)
        for more in ({"shards": 6}, {"seed": 4}):
            story, _ = self.start(1, **more)
            self.assertGreater(max(abs(a[1] - b[1]) for a, b in zip(story, want[0])), 1e-3)


@unittest.skipUnless(TORCH, "NOT TESTED: torch is not installed")
class Parts(JobCase):
    def test_order(self):
        a, b = sluice.torch.order(100, 1, 2), sluice.torch.order(100, 1, 2)
        self.assertEqual(sorted(a.tolist()), list(range(100)))
        self.assertTrue(torch.equal(a, b))
        self.assertFalse(torch.equal(a, sluice.torch.order(100, 1, 3)))
        self.assertEqual([i for s in range(3) for i in sluice.torch.shard_of(range(10), 3, s)], list(range(10)))

    def test_rng(self):
        """The block's numbers are the key's; outside nothing happened."""
        try:
            import numpy
        except ImportError:
            numpy = None
        draw = lambda: (torch.rand(1).item(), random.random(), numpy and numpy.random.rand())  # noqa: E731
        torch.manual_seed(1), random.seed(1), numpy and numpy.random.seed(1)
        want = [draw(), draw()]
        torch.manual_seed(1), random.seed(1), numpy and numpy.random.seed(1)
        got, inside = [draw()], []
        for _ in range(2):
            with self.assertRaises(KeyError), sluice.torch.rng(7, 1, 2):
                inside.append(draw())
                raise KeyError
        got.append(draw())
        self.assertEqual(got, want)
        self.assertEqual(inside[0], inside[1])

    def test_rng_of_all_gpus(self):
        """A process may drive several: the others' numbers are the key's, too."""
        with mock.patch.multiple(torch.cuda, is_initialized=lambda: True, get_rng_state_all=lambda: ["a", "b"], manual_seed_all=mock.DEFAULT,
                                 set_rng_state_all=mock.DEFAULT) as cuda:
            with sluice.torch.rng(7):
                pass
        cuda["manual_seed_all"].assert_called_once()
        cuda["set_rng_state_all"].assert_called_once_with(["a", "b"])

    def test_halves(self):
        self.job()
        training, *_ = build()
        with self.assertRaisesRegex(RuntimeError, "step 0: 11 of this rank's 12 shards"):
            for step in training:
                for _ in step:
                    break

    def test_refused(self):
        self.job()
        for bad in ({"batch": 0}, {"batch": SAMPLES + 1}, {"shards": BATCH + 1}, {"shards": -1}):
            with self.assertRaises(ValueError):
                build(**bad)
        training, *_ = build()
        training.save(pause=False)
        self.job(SLUICE_RESUME=os.path.join(self.checkpoints, "00000001"))
        for other in ({"batch": 40}, {"seed": 4}, {"shards": 6}):
            with self.assertRaisesRegex(ValueError, "give what it was, or submit a new job"):
                build(**other)
        self.assertEqual(build(shards=0)[0].shards, 12)

    def test_capture(self):
        """Everything that has a state, and plain values; a part never saved is told."""
        model = torch.nn.Linear(2, 2)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        path = os.path.join(self.base, "state.pt")
        sluice.save(sluice.torch.capture(model, optimizer, step=7), path)
        other = torch.nn.Linear(2, 2)
        momentum = torch.optim.SGD(other.parameters(), lr=0.5, momentum=0.9)
        self.assertEqual(sluice.torch.restore(path, other, momentum), {"step": 7})
        self.assertTrue(torch.equal(other.weight, model.weight))
        self.assertEqual(momentum.param_groups[0]["lr"], 1.0)
        with self.assertRaises(KeyError):
            sluice.torch.restore(path, other, momentum, scheduler=torch.optim.lr_scheduler.StepLR(momentum, 1))

    def test_outside_of_a_job(self):
        """The same program by itself: the same results, and nothing saved."""
        self.job(SLUICE_JOB_DIR="")
        story, _ = train(until=0)
        self.assertEqual(len(story), STEPS)
        self.assertTrue(all(math.isfinite(s[1]) for s in story))
        self.assertFalse(os.path.exists(self.checkpoints))


def plain(line):
    """A line without its remark and its indentation, which is no change of the line."""
    return line.split("  #")[0].strip()


class Lines(unittest.TestCase):
    """How many lines an example differs in from its upstream form: those that
    were added or changed, without comments, docstrings and the lines that follow a
    test's orders."""

    MOST = {"train_ddp.py": 5, "train_mpi.py": 11}

    def code(self, *name):
        with open(os.path.join(EXAMPLES, *name), encoding="utf-8") as f:
            text = f.read()
        text = text.replace(ast.get_docstring(ast.parse(text), clean=False), "")
        return [line for line in text.splitlines() if not re.search(r"\borders\b|demonstration", line)]

    def test_count(self):
        for name, most in self.MOST.items():
            mine, upstream = self.code(name), self.code("upstream", name)
            diff = list(difflib.ndiff([plain(line) for line in upstream], [plain(line) for line in mine]))
            added = [line[2:] for line in diff if line.startswith("+ ")]
            gone = [line[2:] for line in diff if line.startswith("- ")]
            marked = [line for line in mine if "# [elastic]" in line]
            print(f"\n{name}: {len(added)} lines added or changed, {len(gone)} of upstream's gone", flush=True)
            self.assertEqual(len(added), len(marked), (added, marked))
            self.assertLessEqual(len(added), most)


if __name__ == "__main__":
    unittest.main()
