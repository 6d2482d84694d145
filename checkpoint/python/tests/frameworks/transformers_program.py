"""The Trainer example, with its steps noted."""

import os

import notes
import torch
import train_transformers
from train_transformers import sluice


def noted(trainer):
    """Have every step's loss, the mean over its global batch, noted."""
    train, sums = trainer.training_step, []

    def training_step(*given, **more):
        loss = train(*given, **more)
        sums.append(loss.double())
        return loss

    class Steps(train_transformers.sluice.transformers.TrainerCallback):
        def on_step_end(self, args, state, control, **more):
            total = sum(sums) / args.world_size  # the Trainer multiplied by it, as DDP divides
            sums.clear()
            if args.world_size > 1:
                torch.distributed.all_reduce(total)
            if state.is_world_process_zero:
                notes.note(state.global_step - 1, total.item(), args.world_size, more["optimizer"].param_groups[0]["lr"])

    trainer.training_step = training_step
    trainer.callback_handler.callbacks.insert(0, Steps())  # before sluice asks
    return trainer


if __name__ == "__main__":
    plain = sluice.transformers.elastic
    sluice.transformers.elastic = lambda trainer: noted(plain(trainer))
    if os.environ.get("PER_GPU_MAX"):
        batches = sluice.transformers.batches
        sluice.transformers.batches = lambda global_batch, pieces: batches(global_batch, per_gpu_max=int(os.environ["PER_GPU_MAX"]))
    train_transformers.main()
