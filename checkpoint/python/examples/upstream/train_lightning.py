#!/usr/bin/env python3
"""A PyTorch Lightning training, complete: a small network with dropout and
BatchNorm learns data that it makes itself.

This is the program that ../train_lightning.py was made elastic from.
"""

import argparse

import lightning as L
import torch
from torch import nn

FEATURES, CLASSES = 32, 4


class Classifier(L.LightningModule):
    def __init__(self, learning_rate):
        super().__init__()
        self.learning_rate = learning_rate
        self.net = nn.Sequential(nn.Linear(FEATURES, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, CLASSES))

    def training_step(self, batch, batch_idx):
        inputs, labels = batch
        loss = nn.functional.cross_entropy(self.net(inputs), labels)
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        inputs, labels = batch
        self.log("accuracy", (self.net(inputs).argmax(dim=1) == labels).float().mean(), sync_dist=True)

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=self.learning_rate, momentum=0.9)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=self.trainer.estimated_stepping_batches)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}


def make_data(seed, samples):
    """A fixed random network labels random points: something to be learned."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(samples, FEATURES, generator=generator)
    teacher = torch.randn(FEATURES, CLASSES, generator=generator)
    return torch.utils.data.TensorDataset(inputs, (inputs @ teacher).argmax(dim=1))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--samples", type=int, default=960)
    p.add_argument("--batch", type=int, default=48)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--learning-rate", type=float, default=0.05)
    a = p.parse_args()
    L.seed_everything(a.seed)
    data = torch.utils.data.random_split(make_data(a.seed, a.samples + 96), [a.samples, 96])
    training = torch.utils.data.DataLoader(data[0], batch_size=a.batch, shuffle=True)
    validation = torch.utils.data.DataLoader(data[1], batch_size=96)
    trainer = L.Trainer(max_epochs=a.epochs, logger=False, enable_progress_bar=False)
    trainer.fit(Classifier(a.learning_rate), training, validation)
    print(f"finished after step {trainer.global_step}: accuracy {trainer.callback_metrics['accuracy']:.4f}")


if __name__ == "__main__":
    main()
