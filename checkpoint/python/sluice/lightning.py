"""PyTorch Lightning made elastic. Three lines change:

    import sluice.lightning

    trainer = L.Trainer(max_epochs=10, **sluice.lightning.elastic(global_batch=48, per_gpu_max=16))
    trainer.fit(model, sluice.lightning.loader(loader), ckpt_path=sluice.lightning.checkpoint())

Start the program by `sluice ranks`. A step trains the same global batch at every
number of GPUs, gradients being accumulated where a GPU cannot hold its part. The
trainer saves when sluice asks, resumes in the middle of an epoch at another
size, and reports its progress.

What a step computes depends on its number only: the order of the data, the
random numbers of augmentation (each sample's own) and the learning rate. With
pieces=N in place of per_gpu_max a step is always cut into N pieces, and
dropout, BatchNorm and all other random numbers in training_step are those of
the piece: then every size gives the same results, but for the order in which
floating-point numbers are added up.

Works with lightning 2 and pytorch_lightning 2, whichever the program imported
first, with automatic optimization. Counts of batches given to the Trainer
(limit_train_batches, val_check_interval) must be fractions: the number of
batches a GPU trains differs with the size. Means that self.log(on_epoch=True)
makes begin anew where an epoch is interrupted; that is Lightning's.

Outside of sluice the same program trains in the same order and saves nothing.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from typing import Any, Dict, Iterable, Iterator, Optional

import sluice

from . import _facts, _files, _ranks
from ._lightning_batches import Loader, Plan
from ._torch_averages import Averages
from ._torch_streams import seed as seed_all

if "pytorch_lightning" in sys.modules and "lightning.pytorch" not in sys.modules:
    from pytorch_lightning.callbacks import Callback, GradientAccumulationScheduler
    from pytorch_lightning.plugins.environments import ClusterEnvironment
    from pytorch_lightning.plugins.io import TorchCheckpointIO
else:
    from lightning.pytorch.callbacks import Callback, GradientAccumulationScheduler
    from lightning.pytorch.plugins.environments import ClusterEnvironment
    from lightning.pytorch.plugins.io import TorchCheckpointIO

__all__ = ["Elastic", "Environment", "checkpoint", "elastic", "loader"]

FILE = "lightning.ckpt"
KEY = "sluice"  # in Lightning's checkpoint

_plan: Optional[Plan] = None  # of the last elastic()


def elastic(global_batch: int, per_gpu_max: Optional[int] = None, pieces: Optional[int] = None, seed: Optional[int] = None,
            checkpoint_every: int = 0, callbacks: Iterable[Any] = (), plugins: Iterable[Any] = ()) -> Dict[str, Any]:
    """The arguments for L.Trainer(): **elastic(...).

    global_batch is the number of samples a step on all GPUs together, per_gpu_max
    the most of them that a GPU can hold at a time; pieces, in its place, cuts
    every step into that many. seed is that of the data's order (default: what
    seed_everything() was given, else 0). checkpoint_every is a number of steps
    after which to save without being asked; 0 = never. callbacks and plugins are
    the program's own. ValueError where the batch cannot be shared equally.
    """
    global _plan
    _plan = Plan(global_batch, per_gpu_max, pieces, seed)
    arguments: Dict[str, Any] = {"callbacks": [*callbacks, Elastic(_plan, checkpoint_every)], "plugins": list(plugins)}
    if sluice.active() or "RANK" in os.environ:
        environment = Environment()
        arguments["plugins"].append(environment)
        arguments.update(devices=environment.local_size(), num_nodes=environment.nodes())
        _plan.meet(environment.world_size())
    return arguments


def loader(dataloader: Any) -> Loader:
    """The training data of a torch DataLoader, in an order and in batches that do
    not depend on the number of GPUs. Its batch_size is not used: see elastic(),
    which comes first. What is left of an epoch below one global batch is not
    trained. Only for training data; validation stays as it is.
    """
    if _plan is None:
        raise RuntimeError("call sluice.lightning.elastic() before sluice.lightning.loader()")
    return Loader(dataloader, _plan)


def checkpoint() -> Optional[str]:
    """The ckpt_path for trainer.fit(): None on the first run."""
    saved = sluice.resume()
    return str(saved / FILE) if saved else None


class Environment(ClusterEnvironment):
    """The ranks as `sluice ranks` (or torchrun) started them. In a job of sluice's
    without either there is one."""

    @property
    def creates_processes_externally(self) -> bool:
        return True

    @property
    def main_address(self) -> str:
        return os.environ.get("MASTER_ADDR", "127.0.0.1")

    @property
    def main_port(self) -> int:
        return _number("MASTER_PORT", 29500)

    @staticmethod
    def detect() -> bool:
        return sluice.active() and "RANK" in os.environ

    def world_size(self) -> int:
        return _number("WORLD_SIZE", 1)

    def set_world_size(self, size: int) -> None:
        pass  # is what it is

    def global_rank(self) -> int:
        return _number("RANK", 0)

    def set_global_rank(self, rank: int) -> None:
        pass

    def local_rank(self) -> int:
        return _number("LOCAL_RANK", 0)

    def node_rank(self) -> int:
        return _number("GROUP_RANK", _number("NODE_RANK", 0))

    def local_size(self) -> int:
        """Ranks on this node."""
        return _number("LOCAL_WORLD_SIZE", self.world_size())

    def nodes(self) -> int:
        """Nodes with ranks. ValueError where they have different numbers of them,
        which Lightning cannot use."""
        nodes, rest = divmod(self.world_size(), self.local_size())
        if rest or nodes != _number("SLUICE_NODES", nodes):
            split = os.environ.get("SLUICE_SPLIT") or f"{self.local_size()} of {self.world_size()} here"
            raise ValueError(f"Lightning wants the same number of GPUs on every node, and this job runs on {split}: "
                             "submit it without --allow-uneven")
        return nodes


class _Careful(TorchCheckpointIO):
    """Writes a checkpoint and remembers a full disk rather than raise it on rank 0
    alone, while the other ranks wait for it in a barrier."""

    def __init__(self) -> None:
        super().__init__()
        self.error: Optional[Exception] = None

    def save_checkpoint(self, checkpoint: Dict[str, Any], path: Any, storage_options: Any = None) -> None:
        try:
            sluice.save(checkpoint, path)
        except Exception as e:
            if not _files.is_file_system(e):
                raise
            self.error = e


class Elastic(Callback):
    """Saves when sluice asks, between two steps; resumes at another size; reports.

    elastic() makes it. A request that comes during validation is answered after
    the next step.
    """

    def __init__(self, plan: Plan, checkpoint_every: int = 0):
        self.plan, self.every = plan, checkpoint_every
        self.wanted = False  # a checkpoint, as soon as there is a moment for it
        self.between = False  # the present checkpoint is of the time between two epochs
        self.averages: Optional[Averages] = None

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        if stage != "fit":
            return
        self.plan.meet(trainer.world_size)
        _refuse(trainer, pl_module, self.plan)
        trainer.accumulate_grad_batches = self.plan.accumulate

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        if not isinstance(trainer.train_dataloader, Loader):
            raise ValueError("the training data does not come from sluice.lightning.loader(): it would be another at every size")
        if trainer.num_training_batches % self.plan.accumulate:
            raise ValueError(f"limit_train_batches={trainer.limit_train_batches} ends an epoch in the middle of a step")
        _facts.agree({"samples": self.plan.samples, "batch": self.plan.batch, "seed": self.plan.seed})
        sluice.hello()

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        if self.wanted and self.plan.step > 0 and self.plan.within == 0:
            self.between = True
            try:
                self.save(trainer)
            finally:
                self.between = False

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        plan = self.plan
        if batch_idx % plan.accumulate == 0:
            self.averages = Averages(pl_module)
        if self.averages is not None:
            self.averages.before()
        seed_all(plan.seed, "piece", plan.step, plan.piece(batch_idx))

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        plan = self.plan
        if self.averages is not None:
            self.averages.after(1 / plan.pieces)
        if (batch_idx + 1) % plan.accumulate:
            return
        if self.averages is not None:
            self.averages.share(plan.size)
        plan.stepped()
        seed_all(plan.seed, "after", plan.step)
        last = batch_idx + 1 >= trainer.num_training_batches
        if not last:
            sluice.report(epoch=plan.done, step=plan.step)
        due = self.every > 0 and plan.step % self.every == 0
        # Collective, after every step.
        self.wanted = sluice.should_checkpoint() or due or self.wanted
        # Lightning would leave out, after resuming, a validation that is to come now.
        if self.wanted and not last and not _validates(trainer, batch_idx):
            self.save(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        sluice.report(epoch=trainer.current_epoch + 1, step=self.plan.step, metric=_numbers(trainer.callback_metrics))

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        if not trainer.received_sigterm:
            sluice.finished()

    def save(self, trainer: Any) -> None:
        """Save everything the next step depends on. Collective. Training goes on
        while it is written, unless sluice waits for it."""
        self.wanted = False
        plan, strategy = self.plan, trainer.strategy
        with _ends_on_sigterm(), sluice.checkpoint(step=plan.step, epoch=plan.done, background=True) as folder:
            usual, strategy.checkpoint_io = strategy.checkpoint_io, _Careful()
            try:
                trainer.save_checkpoint(str(folder / FILE), weights_only=False)
                error = strategy.checkpoint_io.error
            finally:
                strategy.checkpoint_io = usual
            if error is not None:
                raise error

    def on_save_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Dict[str, Any]) -> None:
        checkpoint[KEY] = self.plan.state()
        if self.between:
            _between_epochs(checkpoint["loops"]["fit_loop"])

    def on_load_checkpoint(self, trainer: Any, pl_module: Any, checkpoint: Dict[str, Any]) -> None:
        state = checkpoint.get(KEY)
        if state is None:
            return  # saved before the program was elastic
        self.plan.resume(state)
        loops = checkpoint.get("loops")
        if loops is not None:
            _rescale(loops["fit_loop"]["epoch_loop.batch_progress"], state["accumulate"], self.plan.accumulate)


def _refuse(trainer: Any, pl_module: Any, plan: Plan) -> None:
    """Raise ValueError for what would mean something else at every size."""
    if not pl_module.automatic_optimization and (plan.accumulate > 1 or plan.fixed):
        raise ValueError("sluice.lightning accumulates gradients with automatic optimization only: leave out pieces, and give a "
                         f"per_gpu_max of at least {plan.batch // plan.size} on {plan.size} GPUs")
    if trainer.accumulate_grad_batches not in (1, plan.accumulate) or any(isinstance(c, GradientAccumulationScheduler) for c in trainer.callbacks):
        raise ValueError("sluice.lightning sets accumulate_grad_batches: leave it out, and GradientAccumulationScheduler too")
    for name in ("limit_train_batches", "val_check_interval"):
        value = getattr(trainer, name)
        if isinstance(value, int) and value not in (0, 1) and not trainer.fast_dev_run:
            raise ValueError(f"{name}={value} counts batches on one GPU, and their number differs with the size: give a fraction of the epoch")


def _validates(trainer: Any, batch_idx: int) -> bool:
    """Whether a validation follows this batch, within the epoch."""
    every = trainer.val_check_batch
    return bool(trainer.enable_validation and every and every != float("inf") and (batch_idx + 1) % every == 0)


def _rescale(progress: Dict[str, Any], old: int, new: int) -> None:
    """Turn counts of batches of one rank, old to a step, into such of new to a
    step. What is behind by a batch, because it was just being finished, stays so."""
    for counts in (progress["total"], progress["current"]):
        ready = counts["ready"]
        scaled = ready // old * new
        for name, value in counts.items():
            counts[name] = scaled - (ready - value)


def _between_epochs(fit_loop: Dict[str, Any]) -> None:
    """Say that one epoch is complete and none begun: Lightning has counted the
    next as ready already, and would take it for trained."""
    for counts in fit_loop["epoch_progress"].values():
        counts["ready"] = counts["started"]
    batches = fit_loop["epoch_loop.batch_progress"]
    batches["current"] = {name: 0 for name in batches["current"]}
    batches["is_last_batch"] = False


@contextlib.contextmanager
def _ends_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the process: Lightning would note it for the next batch,
    which a job that waits to be stopped never comes to."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    usual = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if usual is None else usual)  # None: not Python's, and not to be had back


def _numbers(metrics: Dict[str, Any]) -> Dict[str, float]:
    return {name: float(value) for name, value in metrics.items() if getattr(value, "numel", lambda: 1)() == 1}


def _number(name: str, default: int) -> int:
    return _ranks._number(name, default)
