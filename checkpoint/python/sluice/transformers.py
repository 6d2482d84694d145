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

The global batch is kept in the checkpoint, for the life of a job. Without batches()
it is that of the first run, or elastic(trainer, global_batch=48); at another number of
GPUs elastic() sets per_device_train_batch_size and gradient_accumulation_steps to fit,
and says so. Where the batch cannot be shared equally, or batches() gives another than
before, the program ends before it trains and says what to write.
elastic(trainer, batch_may_change=True) trains on with the batch of the arguments.

A program that only adds callbacks=[ElasticCallback()] and resumes gives the same
results as long as the dataset is a multiple of the global batch; at a size at which
its arguments make another batch it ends before it trains.

Written and tested for transformers 5. Releases 4.4x take the samples of a GPU from the
checkpoint when they resume; elastic() sets them right, ElasticCallback() alone does not
see it. Outside of sluice the same program trains in the same order and saves as it
always did.
"""

from __future__ import annotations

import os
from typing import Any, Dict, Optional, Tuple

import torch
from transformers import TrainerCallback

import sluice

from . import _adopt, _facts, _files, _job, _ranks
from ._torch_streams import seed as seed_all
from ._torch_whole import Whole, share

__all__ = ["ElasticCallback", "batches", "checkpoint", "elastic"]

_BATCH, _SAMPLES = "global_batch", "samples"  # the facts kept in a checkpoint

REPORTS = 20  # progress reports an epoch, at most one a step

_pieces: Optional[int] = None  # of the last batches() ...
_given: Optional[int] = None  # ... and its global batch


def batches(global_batch: int, per_gpu_max: Optional[int] = None, pieces: Optional[int] = None) -> Dict[str, int]:
    """The arguments for TrainingArguments() that make a step train global_batch
    samples on the GPUs there are: **batches(...).

    per_gpu_max is the most samples that a GPU can hold at a time (default: its
    part of a step); pieces, in its place, cuts every step into that many. ValueError
    where the batch cannot be shared equally.
    """
    global _pieces, _given
    each, accumulate = share(global_batch, _ranks.size(), per_gpu_max, pieces)
    _pieces, _given = pieces, global_batch
    return {"per_device_train_batch_size": each, "gradient_accumulation_steps": accumulate}


def checkpoint() -> Optional[str]:
    """What to give to trainer.train(resume_from_checkpoint=...): None on the first
    run."""
    saved = sluice.resume()
    return str(saved) if saved else None


def elastic(trainer: Any, global_batch: Optional[int] = None, batch_may_change: bool = False) -> Any:
    """Make a Trainer elastic and return it: an ElasticCallback, an order of the
    data that fits every size, saves that survive a full disk, and the same global
    batch at every size.

    global_batch is the number of samples a step on all GPUs together; default: that of
    the checkpoint, and in the first run that of the Trainer's arguments.
    per_device_train_batch_size is then the most that a GPU can hold. ValueError where
    the batch cannot be shared equally, or is another than in the checkpoint: with
    batch_may_change it may be, and is what global_batch or the arguments say.
    """
    _keep_batch(trainer, global_batch, batch_may_change)
    callback = ElasticCallback(pieces=_pieces, seed=_seed(trainer.args), batch_may_change=batch_may_change)
    trainer.add_callback(callback)
    _fix_batch(trainer)
    _order_data(trainer, callback)
    _guard_saves(trainer, callback)
    return trainer


def _gpus(args: Any) -> int:
    return int(args.world_size * max(1, getattr(args, "n_gpu", 1)))


def _batch(args: Any) -> int:
    """Samples a step, on all GPUs together."""
    return int(args.per_device_train_batch_size * args.gradient_accumulation_steps * _gpus(args))


def _product(args: Any) -> str:
    return (f"per_device_train_batch_size {args.per_device_train_batch_size} x gradient_accumulation_steps "
            f"{args.gradient_accumulation_steps} x {_gpus(args)} GPUs")


def _keep_batch(trainer: Any, wanted: Optional[int], may_change: bool) -> None:
    """Set the Trainer's arguments to the global batch that is asked for, else to that
    of the checkpoint."""
    args, saved = trainer.args, sluice.resume()
    was = _facts.read(saved).get(_BATCH) if saved and not may_change else None
    now = wanted or (_given if _given == _batch(args) else None)  # said, not come about by the number of GPUs
    if was and now and was != now:
        raise ValueError(f"global_batch is {now} and was {was} in the checkpoint: nothing was trained. Write global_batch={was}, or "
                         f"sluice.transformers.elastic(trainer, batch_may_change=True) to train on with {now} samples a step")
    batch = was or now
    if not batch or batch == _batch(args):
        return
    before = f"{args.per_device_train_batch_size} x {args.gradient_accumulation_steps}"
    each, accumulate = _share(trainer, batch)
    args.per_device_train_batch_size, args.gradient_accumulation_steps = each, accumulate
    trainer._train_batch_size = args.train_batch_size
    if args.process_index == 0:
        print(f"sluice: the global batch {'stays' if was else 'is'} {batch} on {_gpus(args)} GPUs: per_device_train_batch_size x "
              f"gradient_accumulation_steps is {each} x {accumulate} in place of {before}", flush=True)


def _share(trainer: Any, batch: int) -> Tuple[int, int]:
    """How a batch that is not that of the Trainer's arguments is shared. ValueError
    where that cannot be."""
    args = trainer.args
    here = f"the global batch is {batch}, and that of this run would be {_batch(args)} ({_product(args)})"
    if getattr(trainer, "is_deepspeed_enabled", False):
        raise ValueError(f"{here}: DeepSpeed wants to know it before the Trainer is made. Write TrainingArguments(..., "
                         f"**sluice.transformers.batches(global_batch={batch}))")
    try:
        if _pieces and _given == batch:
            return share(batch, _gpus(args), None, _pieces)
        return share(batch, _gpus(args), args.per_device_train_batch_size, None)
    except ValueError as e:
        raise ValueError(f"{here}: {e}; or write sluice.transformers.elastic(trainer, batch_may_change=True) to train on with "
                         "what the arguments make") from None


def _fix_batch(trainer: Any) -> None:
    """Let the Trainer draw what its arguments say. Releases 4.4x draw, in a run that
    resumes, as many samples a GPU as the run that saved."""
    usual = trainer._inner_training_loop

    def loop(*given: Any, **more: Any) -> Any:
        if not given and "batch_size" in more and not trainer.args.auto_find_batch_size:
            trainer._train_batch_size = more["batch_size"] = trainer.args.train_batch_size
        return usual(*given, **more)

    trainer._inner_training_loop = loop


def _seed(args: Any) -> int:
    data_seed = getattr(args, "data_seed", None)
    return int(args.seed if data_seed is None else data_seed)


class ElasticCallback(TrainerCallback):
    """Saves when sluice asks, commits what the Trainer saves, reports.

    pieces and seed: see batches(); None leaves random numbers to the Trainer.
    batch_may_change: see elastic().
    """

    def __init__(self, pieces: Optional[int] = None, seed: int = 0, batch_may_change: bool = False):
        self.pieces, self.seed, self.batch_may_change = pieces, seed, batch_may_change
        self.sampler: Optional[Whole] = None
        self.wanted = False  # a checkpoint, as soon as the Trainer saves
        self.ours = False  # the present save is for sluice only
        self.error: Optional[BaseException] = None  # why the present save failed
        self.micro = 0  # of the present step
        self.facts: Dict[str, int] = {}  # that must stay what they were

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._check(args, more.get("train_dataloader"))
        sluice.hello()

    def _check(self, args: Any, dataloader: Any) -> None:
        """Refuse to train on with another global batch, or ranks of different data."""
        dataset = getattr(dataloader, "dataset", None)
        samples = len(dataset) if hasattr(dataset, "__len__") else 0
        _facts.agree({_SAMPLES: samples})
        self.facts = {_BATCH: _batch(args), _SAMPLES: samples}
        saved = sluice.resume()
        if saved is None:
            return
        known = _facts.read(saved)
        self._compare(args, known.get(_BATCH))
        if samples and known.get(_SAMPLES, samples) != samples and _ranks.rank() == 0:
            _job._current().warn("the data changed", f"the dataset has {samples} samples and had {known[_SAMPLES]} in the checkpoint: "
                                 "this run goes on in another order, and a resumed epoch may repeat or leave out samples")

    def _compare(self, args: Any, was: Optional[int]) -> None:
        """The global batch that was, None where the checkpoint does not say it."""
        now, first = _batch(args), _ranks.rank() == 0
        if was == now:
            return
        if was and not self.batch_may_change:
            raise ValueError(f"the global batch of this run is {now} ({_product(args)}) and was {was} in the checkpoint: nothing was trained. "
                             "Write trainer = sluice.transformers.elastic(trainer), which keeps it at every number of GPUs, or "
                             f"batch_may_change=True in elastic() or ElasticCallback() to train on with {now}")
        if was and first:
            _job._current().warn("the global batch changed", f"it is {now} ({_product(args)}) and was {was} in the checkpoint: "
                                 "the results are not those of one training, and the present epoch is resumed at another sample")
        elif first:
            _job._current().warn("the checkpoint does not say its global batch", f"this run trains {now} samples a step ({_product(args)}); "
                                 "if it was another, write sluice.transformers.elastic(trainer, global_batch=what it was)")

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
                _facts.write(into, self.facts)

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
        batch = _batch(args)
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
