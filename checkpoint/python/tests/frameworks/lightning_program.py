"""The Lightning example, with its steps noted."""

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


if __name__ == "__main__":
    plain = sluice.lightning.elastic
    sluice.lightning.elastic = lambda **given: plain(callbacks=[Steps()], **given)
    train_lightning.main()
