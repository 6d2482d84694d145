"""The Lightning example, with its steps noted. $TRAINER holds more arguments for
the Trainer, $WORKERS is the number of loader workers, $ELASTIC arguments in place
of the example's for elastic(); $FULL_DISK makes every save fail. $FEWER is a rank that has
one sample less than the others."""

import errno
import json
import os

import notes
import torch
import train_lightning
from train_lightning import L, sluice


class Steps(L.Callback):
    """Notes the mean loss over every global batch."""

    def __init__(self):
        self.sum = 0.0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        # Lightning has divided the loss by the number of batches in the step.
        self.sum += outputs["loss"].double()
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        total, self.sum = torch.as_tensor(self.sum) / trainer.world_size, 0.0
        if trainer.world_size > 1:
            torch.distributed.all_reduce(total)
        if trainer.is_global_zero:
            notes.note(trainer.global_step - 1, total.item(), trainer.world_size, trainer.optimizers[0].param_groups[0]["lr"])

    def on_train_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            averages = pl_module.net[1]
            print(f"averages {averages.running_mean.abs().sum() + averages.running_var.sum():.4f}", flush=True)

    def on_validation_end(self, trainer, pl_module):
        if trainer.is_global_zero and not trainer.sanity_checking:
            print(f"validated after step {trainer.global_step}", flush=True)


def full(state, path):
    raise OSError(errno.ENOSPC, "No space left on device")


def main():
    elastic, loader, trainer = sluice.lightning.elastic, sluice.lightning.loader, L.Trainer
    given = json.loads(os.environ.get("ELASTIC", "{}"))

    def with_workers(dataloader):
        if os.environ.get("FEWER") == os.environ.get("RANK", "0"):
            data = dataloader.dataset
            dataloader = torch.utils.data.DataLoader(torch.utils.data.Subset(data, range(len(data) - 1)), shuffle=True)
        dataloader.num_workers = int(os.environ.get("WORKERS", 0))
        return loader(dataloader)

    sluice.lightning.elastic = lambda **usual: elastic(callbacks=[Steps()], **(given or usual))
    sluice.lightning.loader = with_workers
    L.Trainer = lambda **usual: trainer(**{**usual, **json.loads(os.environ.get("TRAINER", "{}"))})
    if "FULL_DISK" in os.environ:
        sluice.save = full
    train_lightning.main()


if __name__ == "__main__":
    main()
