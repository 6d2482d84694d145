"""The Hugging Face Trainer made elastic. Four lines change:

    import sluice.transformers

    args = TrainingArguments(..., **sluice.transformers.batches(global_batch=48, per_gpu_max=16))
    trainer = sluice.transformers.elastic(Trainer(model=model, args=args, ...))
    trainer.train(resume_from_checkpoint=sluice.transformers.checkpoint())

Start the program by `sluice ranks` (or torchrun). The Trainer saves when sluice
asks, between two steps; what else it saves counts as a checkpoint of the job, too;
it resumes at another size, in the middle of an epoch, and reports its progress.

A step trains the same samples at every number of GPUs, gradients being
accumulated where a GPU cannot hold its part. The order of the data is a function
of the Trainer's seed and the epoch; what is left of an epoch below one global
batch is not trained. With pieces=N in place of per_gpu_max a step is always cut
into N pieces, and the random numbers of the model (dropout) are those of the
piece: then every size gives the same results, but for the order in which
floating-point numbers are added up. Random numbers of a collator (masking) and of
the dataset are drawn in the order in which a rank fetches, which differs with the
size; so do datasets that cannot be indexed.

With the Trainer's own arguments this is also true of a program that only adds
callbacks=[ElasticCallback()] and resumes, as long as the dataset is a multiple of
the global batch and per_device_train_batch_size * gradient_accumulation_steps *
GPUs stays the same: see batches().

Written for transformers 5; nothing here is known to be missing in 4.4x. Outside
of sluice the same program trains in the same order and saves as it always did.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Optional

import torch
from transformers import TrainerCallback

import sluice

from . import _adopt, _files, _ranks
from ._torch_streams import seed as seed_all
from ._torch_whole import Whole, share

__all__ = ["ElasticCallback", "batches", "checkpoint", "elastic"]

REPORTS = 20  # progress reports an epoch, at most one a step

_pieces: Optional[int] = None  # of the last batches()


def batches(global_batch: int, per_gpu_max: Optional[int] = None, pieces: Optional[int] = None) -> Dict[str, int]:
    """The arguments for TrainingArguments() that make a step train global_batch
    samples on the GPUs there are: **batches(...).

    per_gpu_max is the most samples that a GPU can hold at a time (default: its
    part of a step); pieces, in its place, cuts every step into that many. ValueError
    where the batch cannot be shared equally.
    """
    global _pieces
    each, accumulate = share(global_batch, _ranks.size(), per_gpu_max, pieces)
    _pieces = pieces
    return {"per_device_train_batch_size": each, "gradient_accumulation_steps": accumulate}


def checkpoint() -> Optional[str]:
    """What to give to trainer.train(resume_from_checkpoint=...): None on the first
    run."""
    saved = sluice.resume()
    return str(saved) if saved else None


def elastic(trainer: Any) -> Any:
    """Make a Trainer elastic and return it: an ElasticCallback, an order of the
    data that fits every size, and saves that survive a full disk."""
    callback = ElasticCallback(pieces=_pieces, seed=_seed(trainer.args))
    trainer.add_callback(callback)
    _order_data(trainer, callback)
    _guard_saves(trainer, callback)
    return trainer


def _seed(args: Any) -> int:
    data_seed = getattr(args, "data_seed", None)
    return int(args.seed if data_seed is None else data_seed)


class ElasticCallback(TrainerCallback):
    """Saves when sluice asks, commits what the Trainer saves, reports.

    pieces and seed: see batches(); None leaves random numbers to the Trainer.
    """

    def __init__(self, pieces: Optional[int] = None, seed: int = 0):
        self.pieces, self.seed = pieces, seed
        self.sampler: Optional[Whole] = None
        self.wanted = False  # a checkpoint, as soon as the Trainer saves
        self.ours = False  # the present save is for sluice only
        self.error: Optional[BaseException] = None  # why the present save failed
        self.micro = 0  # of the present step

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        sluice.hello()

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if self.sampler is not None:
            self.sampler.epoch = state.global_step // max(1, self.sampler.steps)

    def on_step_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.micro = 0
        self._piece(state)

    def on_substep_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.micro += 1
        self._piece(state)

    def _piece(self, state: Any) -> None:
        """The random numbers of a piece of the batch are its own."""
        if self.pieces:
            seed_all(self.seed, "piece", state.global_step, self.micro * _ranks.size() + _ranks.rank())

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> Any:
        if self.pieces:
            seed_all(self.seed, "after", state.global_step)
        steps = max(1, int(state.max_steps / max(1, state.num_train_epochs)))
        if state.global_step % max(1, steps // REPORTS) == 0 or state.global_step >= state.max_steps:
            sluice.report(epoch=state.epoch, step=state.global_step)
        self.wanted = sluice.should_checkpoint() or self.wanted  # collective, after every step
        if self.wanted:
            self.ours = not control.should_save
            control.should_save = True
        return control

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **more: Any) -> None:
        numbers = {k: float(v) for k, v in (logs or {}).items() if isinstance(v, (int, float))}
        loss = {k: v for k, v in numbers.items() if k in ("loss", "eval_loss")}
        if loss:
            sluice.report(epoch=state.epoch or 0.0, step=state.global_step, metric=loss)

    def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        folder = os.path.join(args.output_dir, f"checkpoint-{state.global_step}")
        ours, error = self.ours, self.error
        self.wanted, self.ours, self.error = False, False, None
        if not sluice.active() or state.is_hyper_param_search:
            return
        _barrier()  # every rank has written its part
        with sluice.checkpoint(step=state.global_step, epoch=state.epoch or 0.0) as into:
            if error is not None:
                raise error
            if sluice.rank() == 0:
                keep = not ours or args.push_to_hub or state.best_model_checkpoint == folder
                _adopt.take(folder, str(into), keep)

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if state.global_step >= state.max_steps:
            sluice.finished()


def _barrier() -> None:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.barrier()


def _order_data(trainer: Any, callback: ElasticCallback) -> None:
    """Put a Whole in place of the Trainer's sampler."""
    usual = trainer._get_train_sampler

    def sampler(*given: Any, **more: Any) -> Any:
        base, args = usual(*given, **more), trainer.args
        batch = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
        samples = len(trainer.train_dataset) if hasattr(trainer.train_dataset, "__len__") else 0
        if base is None or isinstance(getattr(base, "batch_size", None), int) and hasattr(base, "batches") or samples < batch:
            return base
        callback.sampler = Whole(base, samples, batch, _seed(args))
        return callback.sampler

    trainer._get_train_sampler = sampler


def _guard_saves(trainer: Any, callback: ElasticCallback) -> None:
    """A save for sluice that fails for the file system's reasons is no reason to
    stop training."""
    usual = trainer._save_checkpoint

    def save(*given: Any, **more: Any) -> None:
        if not callback.ours:
            usual(*given, **more)
            return
        with _adopt.careful():
            try:
                usual(*given, **more)
            except Exception as e:
                if not _files.is_file_system(e):
                    raise
                callback.error = e

    trainer._save_checkpoint = save
