"""Loops written with Hugging Face Accelerate made elastic. Five lines change:

    import sluice.accelerate

    accelerator = Accelerator(**sluice.accelerate.elastic(global_batch=48, per_gpu_max=16))
    loader = sluice.accelerate.loader(loader)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for epoch in sluice.accelerate.epochs(accelerator, loader, 10):
        for batch in epoch:
            with accelerator.accumulate(model):
                loss = criterion(model(batch))
                accelerator.backward(loss)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()

Start the program by `sluice ranks` (or torchrun). epochs() resumes by
accelerator.load_state(), in the middle of an epoch and at another size; saves by
accelerator.save_state() when sluice asks, between two steps; and reports every
epoch.

A step trains the same samples at every number of GPUs, and the scheduler is
stepped once a step: Accelerate's split_batches, which elastic() sets. The order of
the data is a function of the seed and the epoch; what is left of an epoch below
one global batch is not trained. With pieces=N in place of per_gpu_max a step is
always cut into N pieces, and the random numbers of the model (dropout) are those
of the piece: then every size gives the same results, but for the order in which
floating-point numbers are added up. Data sets must have a length.
global_batch, pieces, seed and the number of samples are kept in the checkpoint: a run
with others ends before it trains, and says which.

Outside of sluice the same program trains in the same order and saves nothing.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Iterator, Optional

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration

import sluice

from . import _adopt, _facts, _ranks
from ._torch_streams import seed as seed_all
from ._torch_whole import Whole, share

__all__ = ["elastic", "epochs", "loader"]

FOLDER = "state"  # in a checkpoint

REPORTS = 20  # progress reports an epoch, at most one a step


class _Plan:
    """What elastic() was told."""

    def __init__(self, batch: int, per_gpu_max: Optional[int], pieces: Optional[int], number: int):
        self.batch, self.pieces, self.seed = batch, pieces, number
        self.size = _ranks.size()
        self.each, self.accumulate = share(batch, self.size, per_gpu_max, pieces)
        self.sampler: Optional[Whole] = None


_plan: Optional[_Plan] = None  # of the last elastic()


def elastic(global_batch: int, per_gpu_max: Optional[int] = None, pieces: Optional[int] = None, seed: int = 0) -> Dict[str, Any]:
    """The arguments for Accelerator(): **elastic(...).

    global_batch is the number of samples a step on all GPUs together, per_gpu_max
    the most of them that a GPU can hold at a time; pieces, in its place, cuts
    every step into that many. seed is that of the data's order. ValueError where
    the batch cannot be shared equally.
    """
    global _plan
    _plan = _Plan(global_batch, per_gpu_max, pieces, seed)
    return {"gradient_accumulation_steps": _plan.accumulate, "dataloader_config": DataLoaderConfiguration(split_batches=True)}


def _planned() -> _Plan:
    if _plan is None:
        raise RuntimeError("call sluice.accelerate.elastic() first, for the Accelerator's arguments")
    return _plan


def loader(dataloader: Any) -> Any:
    """The training data of a torch DataLoader, in an order and in batches that do
    not depend on the number of GPUs. Its batch_size is not used. It is to be given
    to accelerator.prepare(); data for validation stay as they are.
    """
    plan = _planned()
    plan.sampler = Whole(dataloader.sampler, len(dataloader.dataset), plan.batch, plan.seed)
    if not len(plan.sampler):
        raise ValueError(f"{len(dataloader.dataset)} samples are less than one step's {plan.batch}")
    workers = {"prefetch_factor": dataloader.prefetch_factor, "persistent_workers": dataloader.persistent_workers,
               "multiprocessing_context": dataloader.multiprocessing_context} if dataloader.num_workers else {}
    return torch.utils.data.DataLoader(
        dataloader.dataset, batch_size=plan.each * plan.size, sampler=plan.sampler, num_workers=dataloader.num_workers,
        collate_fn=dataloader.collate_fn, pin_memory=dataloader.pin_memory, worker_init_fn=dataloader.worker_init_fn,
        timeout=dataloader.timeout, **workers)


def epochs(accelerator: Accelerator, prepared: Any, number: int, checkpoint_every: int = 0) -> "Iterator[Epoch]":
    """The epochs that are still to be trained, up to number of them, each to be
    looped over for its batches.

    prepared is what accelerator.prepare() made of loader(). Everything else that
    is to be saved must have been prepared, or registered by
    accelerator.register_for_checkpointing(). checkpoint_every is a number of steps
    after which to save without being asked; 0 = never.
    """
    plan, sampler = _planned(), _planned().sampler
    if sampler is None:
        raise RuntimeError("the training data does not come from sluice.accelerate.loader(): it would be another at every size")
    if plan.size != accelerator.num_processes:
        raise RuntimeError(f"the program was started for {plan.size} processes, and Accelerate sees {accelerator.num_processes}: "
                           "start it by `sluice ranks` or torchrun")
    training = Training(accelerator, prepared, plan, sampler, checkpoint_every)
    training.resume()
    sluice.hello()
    for epoch in range(training.step // sampler.steps, number):
        yield Epoch(training, epoch)
        sluice.report(epoch=epoch + 1, step=training.step)
    sluice.finished()


class Training:
    """Where a training stands: step is how many it has finished."""

    def __init__(self, accelerator: Accelerator, prepared: Any, plan: _Plan, sampler: Whole, every: int):
        self.accelerator, self.prepared, self.plan, self.sampler, self.every = accelerator, prepared, plan, sampler, every
        self.step = 0

    def facts(self) -> Dict[str, Any]:
        """What stays the same for the life of a training."""
        return {"global_batch": self.plan.batch, "samples": self.sampler.samples, "seed": self.plan.seed, "pieces": self.plan.pieces}

    def resume(self) -> None:
        """Go back to the checkpoint that this run starts from. Collective. ValueError
        where it is of another training, or the ranks have different data."""
        _facts.agree(self.facts())
        saved = sluice.resume()
        if saved is None:
            return
        _facts.compare(_facts.read(saved), self.facts(), "give what it was, or submit a new job")
        self.accelerator.load_state(str(saved / FOLDER))
        self.accelerator.step = 0  # it was between two steps; how many batches a step has may differ now
        self.step = saved.step

    def done(self) -> float:
        """Epochs."""
        return self.step / self.sampler.steps

    def stepped(self) -> None:
        """A step is finished. Collective."""
        self.step += 1
        if self.plan.pieces:
            seed_all(self.plan.seed, "after", self.step)
        within = self.step % self.sampler.steps
        if within and within % max(1, self.sampler.steps // REPORTS) == 0:
            sluice.report(epoch=self.done(), step=self.step)
        due = self.every > 0 and self.step % self.every == 0
        if sluice.should_checkpoint() or due:
            self.save()

    def save(self) -> None:
        """Save what the next step depends on. Collective."""
        with sluice.checkpoint(step=self.step, epoch=self.done()) as folder, _adopt.careful():
            self.accelerator.save_state(os.path.join(str(folder), FOLDER))
            if self.accelerator.is_main_process:
                _facts.write(folder, self.facts())


class Epoch:
    """The batches of one epoch that are still to be trained. number counts from 0."""

    def __init__(self, training: Training, number: int):
        self.training, self.number = training, number

    def __iter__(self) -> Iterator[Any]:
        t = self.training
        t.sampler.epoch = self.number
        prepared = t.prepared
        behind = t.step % t.sampler.steps * t.plan.accumulate
        if behind:
            prepared = t.accelerator.skip_first_batches(prepared, behind)
        at = 0
        for batch in prepared:
            if t.plan.pieces:
                seed_all(t.plan.seed, "piece", t.step, at * t.plan.size + t.accelerator.process_index)
            at += 1
            yield batch
            if at == t.plan.accumulate:
                at = 0
                t.stepped()
