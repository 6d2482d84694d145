"""The Trainer example, with its steps noted.

$TRAINING are arguments in place of TrainingArguments', $BATCHES in place of
batches()'; with $PLAIN batches() is not called, and the model has no dropout. $ELASTIC
are arguments for elastic(); with $CALLBACK an ElasticCallback is added in its place.
$OLDER are the samples a GPU that releases 4.4x take from the checkpoint. $FEWER is a
rank that has one sample less than the others.
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
    chosen = json.loads(os.environ.get("ELASTIC", "{}"))

    def elastic(trainer):
        if not os.environ.get("CALLBACK"):
            trainer = noted(plain(trainer, **chosen))
            if os.environ.get("OLDER"):
                trainer._train_batch_size = int(os.environ["OLDER"])
            return trainer
        trainer.add_callback(sluice.transformers.ElasticCallback(**chosen))
        return noted(trainer)

    sluice.transformers.elastic = elastic
    if os.environ.get("BATCHES"):
        sluice.transformers.batches = lambda **given: batches(**json.loads(os.environ["BATCHES"]))
    if os.environ.get("PLAIN"):
        sluice.transformers.batches = lambda **given: {}
        config = train_transformers.GPT2Config
        train_transformers.GPT2Config = lambda **given: config(**given, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0)
    if os.environ.get("FEWER") == os.environ.get("RANK", "0"):
        counting = train_transformers.Counting
        train_transformers.Counting = lambda seed, samples: counting(seed, samples - 1)
    more = json.loads(os.environ.get("TRAINING", "{}"))
    train_transformers.TrainingArguments = lambda **given: arguments(**{**given, **more})
    train_transformers.main()


if __name__ == "__main__":
    main()
