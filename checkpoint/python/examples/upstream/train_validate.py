#!/usr/bin/env python3
"""A DDP training with what programs usually have: validation after each epoch, a
schedule by epoch, meters, the best model so far, and checkpoints of its own.
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

FEATURES, CLASSES = 32, 4


class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def update(self, value, count):
        self.sum += float(value) * count
        self.count += count

    def mean(self):
        both = torch.tensor([self.sum, self.count], dtype=torch.float64)
        dist.all_reduce(both)
        return float(both[0] / both[1])


def make_data(seed, samples):
    """A fixed random network labels random points: something to be learned."""
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(samples, FEATURES, generator=generator)
    teacher = torch.randn(FEATURES, CLASSES, generator=torch.Generator().manual_seed(0))
    return torch.utils.data.TensorDataset(inputs, (inputs @ teacher).argmax(dim=1))


def accuracy(found, labels):
    return (found.argmax(dim=1) == labels).float().mean()


def train(model, loader, criterion, optimizer):
    losses, right = Meter(), Meter()
    model.train()
    for inputs, labels in loader:
        optimizer.zero_grad()
        found = model(inputs)
        loss = criterion(found, labels)
        loss.backward()
        optimizer.step()
        losses.update(loss, len(labels))
        right.update(accuracy(found, labels), len(labels))
    return losses.mean(), right.mean()


def validate(model, loader, criterion):
    losses, right = Meter(), Meter()
    model.eval()
    with torch.no_grad():
        for inputs, labels in loader:
            found = model(inputs)
            losses.update(criterion(found, labels), len(labels))
            right.update(accuracy(found, labels), len(labels))
    return losses.mean(), right.mean()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--batch", type=int, default=48)
    p.add_argument("--samples", type=int, default=960)
    p.add_argument("--output", default="best.pt")
    p.add_argument("--checkpoint", default="last.pt")
    a = p.parse_args()
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}.items():
        os.environ.setdefault(name, value)  # started by hand, as one process
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(1)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(FEATURES, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, CLASSES)))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    data, held_out = make_data(1, a.samples), make_data(2, 200)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=a.batch // size, sampler=sampler)
    validation = DataLoader(held_out, batch_size=48, sampler=DistributedSampler(held_out, shuffle=False))
    first, best = 0, 0.0
    if os.path.exists(a.checkpoint):
        saved = torch.load(a.checkpoint)
        model.module.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        scheduler.load_state_dict(saved["scheduler"])
        first, best = saved["epoch"], saved["best"]
    for epoch in range(first, a.epochs):
        sampler.set_epoch(epoch)
        loss, right = train(model, loader, criterion, optimizer)
        scheduler.step()
        val_loss, val_right = validate(model, validation, criterion)
        if rank == 0:
            print(f"epoch {epoch}: loss {loss:.4f} accuracy {right:.4f}, validation {val_loss:.4f} {val_right:.4f}")
            if val_right > best:
                best = val_right
                torch.save(model.module.state_dict(), a.output)
            torch.save({"model": model.module.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict(),
                        "epoch": epoch + 1, "best": best}, a.checkpoint)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
