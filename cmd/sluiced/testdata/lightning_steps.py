"""The Lightning example as it is, with every step slowed down, as if GPUs computed
it, and noted in $STEPS: step, loss, world size."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SLUICE_PYTHON"], "examples"))

import torch  # noqa: E402
import train_lightning  # noqa: E402
from train_lightning import L, sluice  # noqa: E402


class Steps(L.Callback):
    loss = 0.0

    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
        self.loss += outputs["loss"].double() / trainer.world_size
        if (batch_idx + 1) % trainer.accumulate_grad_batches:
            return
        loss, self.loss = torch.as_tensor(self.loss), 0.0
        if trainer.world_size > 1:
            torch.distributed.all_reduce(loss)
        if trainer.is_global_zero:
            with open(os.environ["STEPS"], "a") as f:
                f.write(f"{trainer.global_step} {loss.item()!r} {trainer.world_size}\n")
        time.sleep(float(os.environ["EMULATED_STEP"]))


elastic = sluice.lightning.elastic
sluice.lightning.elastic = lambda **given: elastic(callbacks=[Steps()], **given)
train_lightning.main()
