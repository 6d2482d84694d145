"""The Accelerate example, with its steps noted. $ELASTIC are arguments in place of
the example's for elastic()."""

import json
import os

import notes
import torch
import train_accelerate
from train_accelerate import sluice


class Noting(sluice.accelerate.Training):
    """Notes the mean loss over every global batch."""

    sums = []

    def stepped(self):
        total = torch.stack(self.sums).mean()
        self.sums.clear()
        if self.plan.size > 1:
            total = self.accelerator.reduce(total, "mean")
        if self.accelerator.is_main_process:
            rate = self.accelerator._schedulers[0].scheduler.get_last_lr()[0]
            notes.note(self.step, total.item(), self.plan.size, rate)
        super().stepped()


if __name__ == "__main__":
    plain = train_accelerate.nn.functional.cross_entropy

    def cross_entropy(*given):
        loss = plain(*given)
        Noting.sums.append(loss.detach().double())
        return loss

    if os.environ.get("ELASTIC"):
        elastic = sluice.accelerate.elastic
        sluice.accelerate.elastic = lambda **given: elastic(**{**given, **json.loads(os.environ["ELASTIC"])})
    train_accelerate.nn.functional.cross_entropy = cross_entropy
    sluice.accelerate.Training = Noting
    train_accelerate.main()
