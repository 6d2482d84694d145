"""The Trainer example, with its steps noted.

$TRAINING are arguments in place of TrainingArguments', $BATCHES in place of
batches()'.
"""

import json
import os

import notes
import torch
import train_transformers
import transformers
from train_transformers import sluice


class Steps(transformers.TrainerCallback):
    """Notes the mean loss over every global batch."""

    def __init__(self):
        self.sums = []

    def on_step_end(self, args, state, control, **more):
        total = sum(self.sums) / args.world_size  # the Trainer multiplied by it, as DDP divides
        self.sums.clear()
        if args.world_size > 1:
            torch.distributed.all_reduce(total)
        if state.is_world_process_zero:
            notes.note(state.global_step - 1, total.item(), args.world_size, more["optimizer"].param_groups[0]["lr"])


def noted(trainer):
    train, steps = trainer.training_step, Steps()

    def training_step(*given, **more):
        loss = train(*given, **more)
        steps.sums.append(loss.double())
        return loss

    trainer.training_step = training_step
    trainer.callback_handler.callbacks.insert(0, steps)  # before sluice asks
    return trainer


def main():
    plain, batches, arguments = sluice.transformers.elastic, sluice.transformers.batches, train_transformers.TrainingArguments
    sluice.transformers.elastic = lambda trainer: noted(plain(trainer))
    if os.environ.get("BATCHES"):
        sluice.transformers.batches = lambda **given: batches(**json.loads(os.environ["BATCHES"]))
    more = json.loads(os.environ.get("TRAINING", "{}"))
    train_transformers.TrainingArguments = lambda **given: arguments(**{**given, **more})
    train_transformers.main()


if __name__ == "__main__":
    main()
