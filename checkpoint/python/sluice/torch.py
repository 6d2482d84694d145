"""The same results at every world size, for plain PyTorch and DDP programs.

    import sluice.torch

    training = sluice.torch.Elastic(model, optimizer, scheduler, dataset=data, batch=48, epochs=10, shards=12)
    for step in training:
        optimizer.zero_grad()
        for inputs, labels in step:
            loss = criterion(model(inputs), labels)
            step.backward(loss)
        optimizer.step()
        scheduler.step()

Every step's global batch is cut into a fixed number of shards, each with its own
random numbers (as EasyScale does, SC'23). The ranks there are share the shards
out, one after the other, and DDP adds up once a step. So the order of the data,
augmentation, dropout, the learning rate and the number of steps do not depend on
the number of ranks; only the order in which floating-point numbers are added up
does. BatchNorm's running averages are the mean over the shards.

Elastic resumes by itself, saves when asked and reports every epoch. A program with
work at the end of an epoch loops over epochs and steps:

    for epoch in training.epochs():
        for step in training.steps():
            ...                               # as above, without the scheduler
        scheduler.step()
        scores = training.validate(held_out, measure)
        if training.best(scores["accuracy"]) and training.rank == 0:
            torch.save(model.state_dict(), "best.pt")

What is asked for at an epoch's last step is saved after that work, so it is never
lost and never done twice. Its parts are here for programs with a loop of their own:
order(), shard_of(), rng(), capture() and restore().

Outside of a sluice job the same program gives the same results and saves
nothing.
"""

from __future__ import annotations

import contextlib
import math
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch
import torch.distributed
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import sluice

from . import _facts
from . import _torch_measures as measures
from ._shards import bounds, share
from ._torch_averages import Averages
from ._torch_streams import Seeded, ShardSampler, order, rng, seed, shard_of

__all__ = ["Elastic", "Step", "capture", "order", "restore", "rng", "seed", "shard_of"]

STATE = "state.pt"
_FIXED = ("shards", "batch", "seed", "samples")  # for the life of a training
_OWN = "sluice"  # the part of a state that the program has no name for


def capture(model: nn.Module, optimizer: Any = None, scheduler: Any = None, scaler: Any = None,
            **more: Any) -> Dict[str, Any]:
    """Everything a step depends on, as one dict for sluice.save(). A model in DDP
    is saved without its wrapping. more are plain values (step=7) or objects with
    a state_dict() (ema=ema)."""
    state: Dict[str, Any] = {"model": _bare(model).state_dict()}
    parts = {"optimizer": optimizer, "scheduler": scheduler, "scaler": scaler, **more}
    for name, part in parts.items():
        if part is not None:
            state[name] = part.state_dict() if hasattr(part, "state_dict") else part
    return state


def restore(path: Any, model: nn.Module, optimizer: Any = None, scheduler: Any = None, scaler: Any = None,
            **more: Any) -> Dict[str, Any]:
    """Load what capture() gave and sluice.save() wrote, on any number of ranks and
    any device; return the plain values. more are the objects given to capture().

    The job's own file was verified by its checksum; see sluice.load() for others. A
    part that was not saved raises KeyError.
    """
    # CPU: a GPU of the saving run need not exist here. The parts copy to theirs.
    state = sluice.load(path, map_location="cpu")
    _bare(model).load_state_dict(state.pop("model"))
    for name, part in {"optimizer": optimizer, "scheduler": scheduler, "scaler": scaler, **more}.items():
        if part is not None:
            part.load_state_dict(state.pop(name))
    return state


def _bare(model: nn.Module) -> nn.Module:
    return model.module if isinstance(model, DistributedDataParallel) else model


class Step:
    """One step of the optimizer: loop over it for this rank's shards, all of them.

    number counts from 0 over the whole training, within in its epoch; ends_epoch
    is true of an epoch's last. weight is the present shard's part of the global
    batch times the number of ranks: what its mean loss is to be multiplied with.
    """

    def __init__(self, training: "Elastic", batches: Iterator[Any]):
        self._training, self._batches = training, batches
        self.number = training.step
        self.epoch, self.within = divmod(self.number, training.steps_per_epoch)
        self.ends_epoch = self.within == training.steps_per_epoch - 1
        self.weight = 0.0
        self._loss: Optional[torch.Tensor] = None
        self._shared: Optional[float] = None
        self._left = len(training.mine)

    def __iter__(self) -> Iterator[Any]:
        t = self._training
        averages = Averages(t.model)
        for shard, part in t.mine:
            batch = next(self._batches)
            self._left -= 1
            self.weight = part * t.size
            averages.before()
            seed(t.seed, "shard", self.number, shard)
            with t.quiet(self._left > 0):
                yield batch
            averages.after(part)
        averages.share(t.size)
        seed(t.seed, "after", self.number)

    def backward(self, loss: torch.Tensor, scaler: Any = None) -> None:
        """loss.backward() for a mean over the shard's samples, so that the
        gradient is that of the mean over the global batch."""
        part = loss * self.weight
        (part if scaler is None else scaler.scale(part)).backward()
        part = part.detach() / self._training.size
        self._loss = part if self._loss is None else self._loss + part
        self._track("loss", loss)

    def track(self, **means: Any) -> None:
        """Count numbers in the epoch's means: each is a mean over the present shard's
        samples, such as accuracy=(predicted == labels).float().mean(). Call it once for
        each shard. Tensors are not waited for. "loss" is counted by backward()."""
        for name, value in means.items():
            if name == "loss":
                raise ValueError('the mean "loss" is that of step.backward(); give another name')
            self._track(name, value)

    def _track(self, name: str, value: Any) -> None:
        self._training._means.add(name, value, self.weight / self._training.size, self._left == 0)

    def loss(self) -> float:
        """The mean loss over the global batch, of the shards given to backward().
        Collective, and asked once a step at most."""
        if self._shared is None:
            if self._loss is None:
                raise RuntimeError("no loss was given to step.backward()")
            total = self._loss.clone()
            if self._training.size > 1:
                torch.distributed.all_reduce(total)
            self._shared = float(total)
        return self._shared

    def finish(self) -> None:
        """Refuse a step by halves: the gradients would be wrong, and other ranks
        would wait."""
        if self._left:
            raise RuntimeError(f"step {self.number}: {self._left} of this rank's {len(self._training.mine)} shards were not "
                               "trained: loop over the whole step, as in: for inputs, labels in step")


class Elastic:
    """A training whose results do not depend on the number of ranks.

    Loop over it for its steps, see the module's first lines. Make it on every
    rank, after torch.distributed and DDP where there are several.

    dataset has a length and indices; collate, workers and pin_memory are DataLoader's
    collate_fn, num_workers and pin_memory. batch is the number of samples a step on all ranks
    together; what is left of an epoch below one batch is not used. shards is into
    how many parts the batch is cut: as many as the most ranks there may be is
    good, a number with many divisors is better. It stays what it was at the first
    start, as do batch and seed. Default: the most GPUs the job may get, else the
    number of ranks now. checkpoint_every is a number of steps after which to save
    without being asked; 0 = never; with background it is written while training
    goes on, from a copy in host memory. scaler is a GradScaler; stateful are objects
    with a state_dict() to save and load with the rest.

    step is the number of finished steps: in the body of the loop the present one is
    not counted yet, so that it equals the step's number. epoch is the number of
    finished epochs, with the fraction of the present one. values is a dict of the
    program's own (numbers, text, lists and dicts of these) that is saved and loaded
    with the rest.
    """

    def __init__(self, model: nn.Module, optimizer: Any, scheduler: Any = None, *, dataset: Any, batch: int,
                 epochs: int, shards: int = 0, seed: int = 0, scaler: Any = None, checkpoint_every: int = 0,
                 background: bool = False, workers: int = 0, collate: Optional[Callable[..., Any]] = None,
                 pin_memory: bool = False, **stateful: Any):
        world = sluice.world()
        self.rank, self.size = world.rank, world.size
        self.model, self.dataset = model, dataset
        self.batch, self.seed = batch, seed
        self.shards = shards or min(batch, world.largest or world.size)
        self.samples = len(dataset)
        self.steps_per_epoch = self.samples // max(1, batch)
        self.total = epochs * self.steps_per_epoch
        self.checkpoint_every, self.background = checkpoint_every, background
        self.workers, self.collate, self.pin_memory = workers, collate, pin_memory
        self.step = 0
        self.values: Dict[str, Any] = {}
        self._means = measures.Means(self.rank, self.size)
        self._best: Dict[str, float] = {}
        self._scores: Dict[str, float] = {}  # of the epoch's last validate(), to be reported
        self._by_epoch = False  # epochs() is under way
        self._batches: Optional[Iterator[Any]] = None
        self._parts: Dict[str, Any] = {"optimizer": optimizer, "scheduler": scheduler, "scaler": scaler, **stateful}
        _facts.agree({"samples": self.samples, "batch": batch, "seed": seed, "epochs": epochs})
        self._check()
        self.resumed = self._resume(chosen=bool(shards))
        self.mine = self._share()

    def _check(self) -> None:
        if self.batch < 1 or self.steps_per_epoch < 1:
            raise ValueError(f"batch {self.batch}: at least 1 and at most the dataset's {self.samples} samples")
        if not 1 <= self.shards <= self.batch:
            raise ValueError(f"shards {self.shards}: at least 1 and at most the batch's {self.batch} samples")

    def _share(self) -> List[Tuple[int, float]]:
        """This rank's shards, each with its part of the global batch."""
        mine = []
        for shard in share(self.shards, self.rank, self.size):
            first, last = bounds(self.batch, self.shards, shard)
            mine.append((shard, (last - first) / self.batch))
        # More ranks than shards: this one takes part in the sum with nothing.
        return mine or [(0, 0.0)]

    @property
    def epoch(self) -> float:
        return self.step / self.steps_per_epoch

    def __iter__(self) -> Iterator[Step]:
        while self.step < self.total:
            yield from self._trained()
        self._done()

    def epochs(self) -> Iterator[int]:
        """The epochs that are left, counted from 0: loop over steps() in each, to its
        end. What the body does after the steps belongs to the epoch: it is done before
        anything asked for is saved."""
        self._by_epoch = True
        while self.step < self.total:
            epoch = self.step // self.steps_per_epoch
            yield epoch
            left = (epoch + 1) * self.steps_per_epoch - self.step
            if left > 0:
                raise RuntimeError(f"epoch {epoch}: {left} of its {self.steps_per_epoch} steps were not trained: loop over "
                                   "training.steps() to the end, or leave both loops")
            self._close_epoch()
            self._save_when_due()
        self._done()

    def steps(self) -> Iterator[Step]:
        """The steps that are left of the present epoch, inside of a loop over epochs()."""
        if not self._by_epoch:
            raise RuntimeError("training.steps() belongs into a loop over training.epochs(); without one, loop over the training itself")
        last = (self.step // self.steps_per_epoch + 1) * self.steps_per_epoch
        while self.step < last:
            yield from self._trained()

    def _trained(self) -> Iterator[Step]:
        """One step, and what comes after it."""
        if self._batches is None:
            self._batches = iter(torch.utils.data.DataLoader(
                Seeded(self.dataset, self.seed), batch_sampler=ShardSampler(self), num_workers=self.workers,
                collate_fn=self.collate, pin_memory=self.pin_memory, generator=torch.Generator()))
        step = Step(self, self._batches)
        if step.within == 0:
            self._means.clear()
        seed(self.seed, "before", self.step)
        yield step
        step.finish()
        self.step += 1
        self.between(step)

    def between(self, step: Step) -> None:
        """What happens after every step: report, and save when it is time."""
        if step.ends_epoch and step._loss is not None:
            self._scores["loss"] = step.loss()
        if step.ends_epoch and self._by_epoch:
            return  # epochs() does the rest once the body of its loop is through
        if step.ends_epoch:
            self._close_epoch()
        self._save_when_due()

    def _close_epoch(self) -> None:
        sluice.report(epoch=self.step // self.steps_per_epoch, step=self.step, metric=self._scores or None)
        self._scores = {}

    def _save_when_due(self) -> None:
        if self.step >= self.total:
            return
        due = self.checkpoint_every > 0 and self.step % self.checkpoint_every == 0
        asked = self.asked()
        if asked or due:
            self.save(background=self.background and not asked)

    def _done(self) -> None:
        sluice.wait()
        sluice.finished()

    def means(self) -> Dict[str, float]:
        """The means over the present epoch so far, of "loss" and of what was given to
        step.track(), over all ranks. Collective: call it on every rank."""
        return self._means.share()

    def validate(self, dataset: Any, measure: measures.Measure, batch: int = 0) -> Dict[str, float]:
        """Means over a whole data set, shared out over the ranks. Collective.

        measure is called with each batch (inputs, labels) and returns a dict of means
        over its samples. The model is in eval mode, without gradients. batch is the
        number of samples in each call; default: as many as in a shard of a step. The
        result is reported with the epoch, each name with "val/" before it.
        """
        scores = measures.validate(self.model, dataset, measure, batch or max(1, self.batch // self.shards), self.rank, self.size,
                                   self.workers, self.collate)
        self._scores.update({f"val/{name}": value for name, value in scores.items()})
        return scores

    def best(self, value: Any, mode: str = "max", name: str = "best") -> bool:
        """Whether value is the best so far; it is remembered over resizes. mode is "max"
        or "min"; name tells several bests apart. Not a number is never the best."""
        if mode not in ("max", "min"):
            raise ValueError(f'mode {mode!r}: "max" or "min"')
        value = float(value)
        old = self._best.get(name)
        if math.isnan(value) or (old is not None and (value <= old if mode == "max" else value >= old)):
            return False
        self._best[name] = value
        return True

    def asked(self) -> bool:
        """Whether to save now. Collective."""
        return sluice.should_checkpoint()

    def save(self, pause: bool = True, background: bool = False) -> None:
        """Save everything that the next step depends on. Collective; see
        sluice.checkpoint()."""
        self._means.share()  # on every rank: rank 0 saves the sums of all
        with sluice.checkpoint(step=self.step, epoch=self.epoch, pause=pause, background=background) as folder:
            self.write(folder)

    def write(self, folder: Any) -> None:
        """Write the files of a checkpoint. Called on every rank."""
        if self.rank == 0:
            sluice.save(self.capture(), folder / STATE)

    def read(self, saved: Any) -> Dict[str, Any]:
        """Load what write() wrote; return the plain values. Called on every rank."""
        return restore(saved / STATE, self.model, **self._parts)

    def quiet(self, more: bool) -> Any:
        """Around a shard; more of this rank's are to come in the step. DDP adds up
        with the last only."""
        return self.model.no_sync() if more and hasattr(self.model, "no_sync") else contextlib.nullcontext()

    def capture(self) -> Dict[str, Any]:
        """All that the next step depends on, the same on every rank."""
        return capture(self.model, **self._parts, **self._facts())

    def _facts(self) -> Dict[str, Any]:
        facts = {name: getattr(self, name) for name in ("step",) + _FIXED}
        return {**facts, _OWN: {"values": self.values, "best": self._best, "means": self._means.state(), "scores": self._scores}}

    def _resume(self, chosen: bool) -> Any:
        saved = sluice.resume()
        if saved is None:
            return None
        facts = self.read(saved)
        if not chosen:
            self.shards = facts["shards"]
        for name in _FIXED:
            if facts[name] != getattr(self, name):
                raise ValueError(f"{name} is {getattr(self, name)}, and was {facts[name]} in {saved}: the results would not be "
                                 "those of one training; give what it was, or submit a new job")
        self.step = facts["step"]
        own = facts.get(_OWN)  # a checkpoint of an earlier release has none
        if own is not None:
            self.values, self._best, self._scores = own["values"], own["best"], own["scores"]
            self._means.restore(own["means"])
        return saved
