"""sluice.torch by epochs: validation, the best model so far, means and a schedule by
epoch are the same at any size, resized or not."""

import json
import multiprocessing
import os
import unittest

from .fixture import JobCase, free_port

try:
    import torch
    import torch.distributed as dist
    TORCH = dist.is_available()
except ImportError:
    TORCH = False

BATCH, EPOCHS, SAMPLES, HELD_OUT = 24, 5, 250, 67  # 10 steps an epoch
STEPS_PER_EPOCH = SAMPLES // BATCH

if TORCH:
    import sluice.torch

    def data(samples, seed):
        generator = torch.Generator().manual_seed(seed)
        inputs = torch.randn(samples, 8, generator=generator)
        return torch.utils.data.TensorDataset(inputs, (inputs.sum(dim=1) > 0).long())

    def build(**more):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(0.2), torch.nn.Linear(16, 2))
        if dist.is_initialized():
            model = torch.nn.parallel.DistributedDataParallel(model)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.7)
        options = {"dataset": data(SAMPLES, 5), "batch": BATCH, "epochs": EPOCHS, "shards": 6, "seed": 3, **more}
        return sluice.torch.Elastic(model, optimizer, scheduler, **options), model, optimizer, scheduler

    def train(until):
        """Train until so many steps are finished and saved, 0 = to the end; return a row
        an epoch. The row stands in training.values, as a program's own would."""
        training, model, optimizer, scheduler = build()
        criterion, held_out = torch.nn.CrossEntropyLoss(), data(HELD_OUT, 6)

        def measure(inputs, labels):
            found = model(inputs)
            return {"loss": criterion(found, labels), "accuracy": (found.argmax(dim=1) == labels).double().mean()}

        save = training.save

        def save_and_end(**options):
            save(**{**options, "pause": False})
            raise EOFError

        training.save, training.asked = save_and_end, lambda: training.step == until
        rows = training.values.setdefault("rows", [])
        try:
            for epoch in training.epochs():
                for step in training.steps():
                    optimizer.zero_grad()
                    for inputs, labels in step:
                        found = model(inputs)
                        step.backward(criterion(found, labels))
                        step.track(accuracy=(found.argmax(dim=1) == labels).double().mean())
                    optimizer.step()
                scheduler.step()
                scores = training.validate(held_out, measure)
                best = training.best(scores["accuracy"])
                rows.append([epoch, best, scheduler.get_last_lr()[0], scores["loss"], scores["accuracy"], training.means()["loss"],
                             training.means()["accuracy"]])
        except EOFError:
            pass
        return rows

    def one_rank(rank, size, port, environ, until, out):
        os.environ.update(environ, RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        from sluice import _job

        _job._job = None
        torch.set_num_threads(1)
        torch.set_default_dtype(torch.float64)
        dist.init_process_group("gloo")
        result = train(until)
        dist.barrier()
        if rank == 0:
            with open(out, "w", encoding="utf-8") as f:
                json.dump(result, f)
        os._exit(0)


@unittest.skipUnless(TORCH, "NOT TESTED: torch is not installed")
class Epochs(JobCase):
    def start(self, size, until=0, resume=""):
        port = free_port()
        out, fork = os.path.join(self.base, "out"), multiprocessing.get_context("fork")
        ranks = [fork.Process(target=one_rank, args=(r, size, port, self.environ(SLUICE_RESUME=resume), until, out)) for r in range(size)]
        for p in ranks:
            p.start()
        for p in ranks:
            p.join(120)
            p.kill()
        self.assertEqual([p.exitcode for p in ranks], [0] * size)
        with open(out, encoding="utf-8") as f:
            return json.load(f)

    def test_resized(self):
        """Saved in the middle of an epoch, at an epoch's very last step, and right
        after its first: each epoch's own work is done once, and its figures are those
        of a training that was never resized."""
        want = self.start(1)
        self.assertEqual([row[0] for row in want], list(range(EPOCHS)))
        self.assertTrue(want[0][1])
        self.assertTrue(any(row[1] for row in want[1:]) and not all(row[1] for row in want), want)
        reported = [p["metric"] for p in self.progress() if p["event"] == "progress"]
        self.assertEqual(set(reported[-1]), {"loss", "val/loss", "val/accuracy"})
        got, resume = [], ""
        for i, (size, until) in enumerate([(2, 14), (3, 20), (1, 31), (8, 0)]):
            got = self.start(size, until, resume)
            resume = os.path.join(self.checkpoints, f"{i + 1:08d}")
        self.assertEqual([row[:3] for row in got], [row[:3] for row in want])
        off = max(abs(a - b) for g, w in zip(got, want) for a, b in zip(g[3:], w[3:]))
        print(f"\nepochs at sizes 2, 3, 1, 8: largest difference {off:.2g}, bound 1e-12", flush=True)
        self.assertLessEqual(off, 1e-12)

    def test_resumed_after_the_last_step_of_an_epoch(self):
        """What follows the steps has been done when the checkpoint is committed."""
        rows = self.start(2, until=2 * STEPS_PER_EPOCH)
        self.assertEqual([row[0] for row in rows], [0, 1])
        self.job(SLUICE_RESUME=os.path.join(self.checkpoints, "00000001"))
        training, _, optimizer, _ = build()
        self.assertEqual((training.step, [row[0] for row in training.values["rows"]]), (2 * STEPS_PER_EPOCH, [0, 1]))
        self.assertAlmostEqual(optimizer.param_groups[0]["lr"], 0.2 * 0.49)
        self.assertFalse(training.best(0.0))

    def test_epochs_by_halves(self):
        self.job()
        training, *_ = build()
        with self.assertRaisesRegex(RuntimeError, "epoch 0: 7 of its 10 steps were not trained"):
            for _ in training.epochs():
                for step in training.steps():
                    for _ in step:
                        pass
                    if step.within == 2:
                        training.step += 1
                        break
        with self.assertRaisesRegex(RuntimeError, "belongs into a loop over training.epochs"):
            next(build()[0].steps())

    def test_validate(self):
        """Every sample counts once, whatever the batches; the model is as before."""
        self.job()
        training, model, *_ = build()
        held_out = data(HELD_OUT, 6)
        want = {"mean": float(held_out.tensors[0].double().mean())}
        for batch in (0, 1, 10, HELD_OUT, 1000):
            got = training.validate(held_out, lambda inputs, labels: {"mean": inputs.double().mean()}, batch=batch)
            self.assertAlmostEqual(got["mean"], want["mean"], places=12)
        self.assertTrue(model.training)
        for bad, error in ((lambda inputs, labels: 1.0, TypeError), (lambda inputs, labels: {}["x"], KeyError)):
            with self.assertRaises(error):
                training.validate(held_out, bad)
            self.assertTrue(model.training)
        with self.assertRaisesRegex(ValueError, "empty"):
            training.validate(data(0, 6), lambda inputs, labels: {})

    def test_best(self):
        self.job()
        training, *_ = build()
        self.assertEqual([training.best(v) for v in (1.0, float("nan"), 0.5, 1.0, 2.0)], [True, False, False, False, True])
        self.assertEqual([training.best(v, mode="min", name="loss") for v in (1.0, 2.0, 0.5)], [True, False, True])
        with self.assertRaisesRegex(ValueError, "max"):
            training.best(1.0, mode="highest")

    def test_tracked(self):
        self.job()
        training, *_ = build()
        with self.assertRaisesRegex(ValueError, "give another name"):
            for step in training:
                for _ in step:
                    step.track(loss=1.0)


if __name__ == "__main__":
    unittest.main()
